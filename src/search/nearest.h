// What would make a plan fit: the nearest plans that do. Plans are told apart by the keys that differ: sp,
// recompute, zero, micro_batch, tp, pp. Those with the fewest changed keys come first, and of these the
// fastest; of recompute=full so few layers as are enough, where the stack can run some of them again. What the
// training computes (batch, sequence, formats, optimizer) is left as it is. Only where these are too few, plans follow that train otherwise: with states of eight bits, with an optimizer in the host's memory,
// adapters alone (LoRA), adapters beside weights of four bits (QLoRA). What a plan puts in the host's memory must fit
// there, where the cluster states how large it is.
#pragma once

#include <memory>
#include <vector>

#include "predict/evaluator.h"
#include "spec/run.h"

namespace foretrain {

// The first so many, none where no change of up to three keys is enough. `run` is checked.
std::vector<FittingPlan> nearest_fitting(const Run& run, Evaluator& evaluator, std::size_t most = 3);

// A run's prediction and, where its plan does not fit, the nearest that do (Prediction::would_fit).
Prediction predict_or_nearest(const Run& run, std::shared_ptr<const CostSource> costs = nullptr,
                              StepTrace* trace = nullptr);
Prediction predict_or_nearest(const Run& run, Evaluator& evaluator, StepTrace* trace = nullptr);

}  // namespace foretrain
