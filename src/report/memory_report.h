// Will it fit, and what a GPU's memory consists of.
//   memory      needs 14.4 GiB of 79.2 GiB usable: fits (over 99 % sure); nvidia-smi would show 14.9 GiB
//
//   memory of a GPU by stage (GiB; allocated and reserved are torch's counters, total is nvidia-smi's)
//     stage  parameters  in flight  weights  gradients  optimizer  activations  allocated  reserved  total
//     1          1.32 B          4     2.47       2.47       1.85         6.28      13.06     13.38  14.88
//
//   activations of stage 1 at its peak, in a backward (GiB)
//     linear 3.00, layernorm 1.10, the pass at work 2.10
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"
#include "report/step_view.h"

namespace foretrain {

// "fits (over 99 % sure)", "may not fit (64 % that it does)", "does not fit (over 99 % sure)"
std::string fit_words(const Prediction& p);
std::string fit_line(const Prediction& p);

// What a stage's memory consists of, as nvidia-smi counts: sums to its total.
struct MemoryPart {
  std::string_view key;   // in JSON
  std::string_view name;  // in words
  Bytes bytes;
};
std::vector<MemoryPart> memory_parts(const StagePrediction& stage);

// "in a backward", "in the optimizer's step"
std::string_view peak_words(const StagePrediction& stage);

std::string memory_text(const Prediction& p);
// The nearest plans that fit, where there are any: what changes, the step, how sure it is.
std::string would_fit_text(const Run& run, const Prediction& p);
// What a plan changes: "zero=1,micro_batch=2".
std::string changes(const Plan& from, const Plan& to);
// What else a change does to the training: "trains adapters alone"; empty where it stays the same.
std::string_view training_change(const Plan& from, const Plan& to);

// The allocated bytes of a rank over the step as a picture, with the usable memory as a line.
std::string memory_track_svg(const StepView& view, const Prediction& p, std::int64_t rank);

}  // namespace foretrain
