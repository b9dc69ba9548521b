// A run over the values of one or two keys, as people and scripts read it:
//
//   inter_gbps    step  80 % interval   memory    fits    MFU  tokens/s/GPU  most of it
//          100  9.84 s  8.9 to 11.5 s  61.2 GiB  > 99 %  31 %           120  backward 40 %; gradient_reduce 22 %
//          200  8.10 s  ...
//          300  cannot run: ...
//
// Two keys make matrices, the first down and the second across. Points stand row by row: of two keys the last changes
// first.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predict/prediction.h"
#include "report/chart.h"
#include "report/training.h"
#include "spec/run.h"

namespace foretrain {

class JsonWriter;

struct OverAxis {
  std::string key;
  std::vector<std::string> words;  // what the key is set to, in order
  bool numbers = false;            // all of them
};

// What is kept of a point's prediction.
struct OverFigures {
  std::string plan;  // as text
  std::int64_t gpus = 0, seq = 0, global_batch = 0;
  Estimate step;
  Seconds typical;
  double tokens_per_s_per_gpu = 0;
  double mfu = 0;
  Bytes needed, usable, peak;
  bool fits = false;
  double fit_probability = 0;
  std::array<Seconds, kStepCauseCount> breakdown{};
  std::optional<Training> whole;

  StepCause most() const;  // takes the largest share of the step
  // Of all that is not the model's own forward and backward, the largest; none where nothing takes a thousandth.
  std::optional<StepCause> most_beside() const;
  double share(StepCause cause) const;
};

struct OverPoint {
  std::string refused;  // why it cannot run; empty: `figures` are there
  OverFigures figures;

  bool runs() const { return refused.empty(); }
};

struct OverAnswer {
  Run base;                    // the first that runs
  std::vector<OverAxis> axes;  // one or two
  std::vector<OverPoint> points;
  std::vector<std::string> assumed;
  std::vector<std::string> notes;  // on what figures rest
  bool example = false;

  std::size_t columns() const { return axes.size() == 2 ? axes[1].words.size() : 1; }
  const OverPoint& at(std::size_t row, std::size_t column) const { return points[row * columns() + column]; }
  std::string place(std::size_t point) const;  // "inter_gbps=100,seq=4096"
};

OverFigures figures_of(const Run& run, const Prediction& prediction, const std::optional<Training>& whole);

// "backward 40 %; gradient_reduce 22 %": what takes most, and most beside the model's own forward and backward.
std::string causes_text(const OverFigures& figures);

std::string over_text(const OverAnswer& answer);
// Of one key each step and its interval on one scale; of two keys throughput as shades.
std::string over_chart(const OverAnswer& answer, const ChartStyle& style);
std::string over_csv(const OverAnswer& answer);
// Of a point, for other tables: cells after those that say where it is, and keys of an object.
std::string figures_csv_head();
std::string figures_csv(const OverPoint& point);
void put_figures(JsonWriter& writer, const OverFigures& figures);
std::string over_json(const OverAnswer& answer);
std::string over_html(const OverAnswer& answer);
// For other pages: of one key a curve and where the time goes, of two the throughput as shades; and the style of these.
enum class CurveOf : unsigned char { kStep, kRate };
std::string over_pictures(const OverAnswer& answer, CurveOf what = CurveOf::kStep);
std::string over_heat(const OverAnswer& answer);
extern const std::string_view kOverStyle;

}  // namespace foretrain
