// What a measured row says and what we predict for it, side by side.
//
// Where a row does not say whether it recomputed or sharded its optimizer, the cheapest choice that fits is
// taken (a run that was published ran, and nobody recomputes for nothing), and the interval is widened.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/estimate.h"
#include "cost/profile_store.h"
#include "predict/evaluator.h"
#include "spec/catalog.h"
#include "validate/row_run.h"

namespace foretrain {

// Which of a row's times the prediction is held against: the median with the typical step, or the fastest
// (notes fastest_s) with the undisturbed step.
enum class Against : unsigned char { kMedian, kFastest };
inline constexpr std::array<std::string_view, 2> kAgainstNames = {"median", "fastest"};

// A part of a step on one GPU, as CUDA events in the training loop see it.
struct PartScore {
  Seconds measured, predicted;

  double error() const { return (predicted - measured) / measured; }
};

struct RowScore {
  std::string id, source, gpu, stack, cluster;
  std::string group;                  // rows of nearly one configuration (row_state.h)
  std::vector<std::string> features;  // what it is about (row_feature.h)
  std::string sweep;                  // plans for one model, GPUs and batch (ranking.h); empty: not told
  bool broken = false;                // by its own figures: set apart
  std::string skipped;                // the reason; then nothing below is set
  std::optional<Seconds> measured;    // absent: the run failed for memory
  Against against = Against::kMedian;
  Estimate predicted;     // seconds
  Uncertainty uncertain;  // what its interval rests on
  double widened = 1;     // of its deviations, where facts are guessed
  // All forwards, all backwards, the optimizer's step; where the row's notes have them.
  std::array<std::optional<PartScore>, 3> parts;
  std::optional<Bytes> measured_memory;
  Bytes predicted_memory;  // by the counter that the row used
  double fit_probability = 0;
  double needed_share = 0;  // of the usable memory, on the worst stage
  std::int64_t params = 0;
  std::vector<std::string> assumed;
  std::shared_ptr<const Run> run;  // as it was predicted

  // (predicted - measured) / measured
  std::optional<double> error() const;
  std::optional<double> memory_error() const;
  bool covered() const;  // measured lies within the 80 % interval
};

class RowScorer {
 public:
  // Without a store of profiles all costs are analytic. `profile` is taken for rows of its GPU; the others,
  // and all where it is empty, go by the profile of their GPU.
  RowScorer(const Catalog& catalog, Against against, const ProfileStore* store = nullptr,
            std::string profile = {})
      : store_(store), profile_(std::move(profile)), runner_(catalog), against_(against) {}

  Result<RowScore> score(const MeasuredRow& row);

 private:
  // Neighbours in a table share model, cluster and stack, so a few evaluators serve most rows.
  struct Kept {
    Model model;
    Cluster cluster;
    Stack stack;
    std::int64_t seq;
    Documents documents;
    std::unique_ptr<Evaluator> evaluator;
  };
  Result<Evaluator*> evaluator_for(const Run& run);

  const ProfileStore* store_;
  std::string profile_;
  RowRunner runner_;
  Against against_;
  std::deque<Kept> kept_;
};

// Once `stop` is set nobody waits for them any more: no further row is scored, and there is no answer.
Result<std::vector<RowScore>> score_rows(const std::vector<MeasuredRow>& rows, const Catalog& catalog,
                                         Against against, const ProfileStore* store = nullptr,
                                         const std::string& profile = {},
                                         const std::atomic<bool>* stop = nullptr);

}  // namespace foretrain
