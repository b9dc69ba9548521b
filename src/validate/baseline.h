// The figures of an earlier state of the program, kept to be held against those of now: which sources did a change
// make better, and which worse? A baseline is what `validate` prints in JSON, or the part of it that baseline_json()
// keeps: summary figures of sources, never a row.
//
// A source is worse where its mean absolute error of time or memory (of healthy rows), or a share of its verdicts that
// are wrong (runs that failed and were said to fit, runs that ran and were doubted), grew by more than half a
// point. How many rows its 80 % interval holds is told beside them and judges nothing: of few rows one moves it by many
// points.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "validate/summary.h"

namespace foretrain {

// What is kept of a source's summary.
struct SourceFigures {
  GroupSummary healthy;
  FitSummary fits;  // without its reliability
};

// How rows are alike: by a figure of the run that was predicted for them, and by all of these at once (alike_name).
enum class AlikeBy : unsigned char { kAll, kGpu, kStack, kFeature };
inline constexpr std::array<std::string_view, 4> kAlikeByNames = {"alike", "gpu", "stack", "feature"};

// "h100-80gb-sxm, megatron, dense low-precision"
std::string alike_name(const Run& run);
// The names under which a run's like are found.
std::vector<std::string> alike_names(const Run& run, AlikeBy by);

struct Baseline {
  std::map<std::string, SourceFigures> sources;
  GroupSummary by_source;  // each source once
  // Of healthy rows, by name; none in a baseline of before these were kept.
  std::array<std::map<std::string, GroupSummary>, kAlikeByNames.size()> alike;
  GroupSummary all;
};

// The figures of the published runs, which travel inside the program: tests/accuracy/baseline.json.
Result<Baseline> published_baseline();

Baseline baseline_of(const std::vector<RowScore>& rows);
std::string baseline_json(const Baseline& baseline);
Result<Baseline> read_baseline(const Source& json);

inline constexpr double kHalfPoint = 0.005;

// A figure of which less is better, as a fraction; NaN where there was or is none.
struct Change {
  double before = kNoFigure, now = kNoFigure;

  double by() const { return now - before; }
  bool worse() const { return by() > kHalfPoint; }
  bool better() const { return by() < -kHalfPoint; }
};

struct SourceDrift {
  std::string source;
  std::optional<SourceFigures> before, now;  // none: it is new, or gone
  Change time, memory, missed, doubted;      // missed: failed runs said to fit; doubted: of those that ran

  bool same_rows() const;  // as many as before, so that the figures compare
  bool worse() const { return time.worse() || memory.worse() || missed.worse() || doubted.worse(); }
  bool better() const { return time.better() || memory.better() || missed.better() || doubted.better(); }
};

struct Drift {
  std::vector<SourceDrift> sources;  // by name
  Change mean_of_sources;            // of the time
};
Drift drift_of(const Baseline& before, const Baseline& now);

}  // namespace foretrain
