// How the steps of one run differ. A few hundred steps are drawn from a cluster's jitter (spec/cluster.h):
// passes and messages of every pipeline rank vary, and are simulated anew; stalls come at random and each
// holds up the step.
//
//   stalls in a step of length T on n nodes: Poisson with mean n T rate, each exponential. 128 nodes with 6.5
//   stalls an hour of 1 s, T = 7.1 s: 1.64 a step on average, so one step in five has none and half lose
//   over 1.2 s.
//
// Messages, gradient reductions, the exchange of embeddings and the gather of weights vary; collectives
// inside passes (tensor parallel, ZeRO 2 and 3) vary with the passes only.
//
// A pipeline rank stands for `replicas` GPUs that wait for each other: it is as slow as the slowest of them.
// Same seed, same steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spec/cluster.h"
#include "timeline/timeline.h"

namespace foretrain {

inline constexpr int kDrawnSteps = 400;  // fewer, 25 at least, where steps are long

struct StepDistribution {
  Seconds fastest;  // of those drawn
  Seconds median;
  Seconds p90;
  Seconds mean;  // with as many stalls as are expected: what a whole training takes, a step
};

// `work` as simulated for the undisturbed step of length `step`.
StepDistribution drawn_steps(const PipelineWork& work, Seconds step, const Jitter& jitter, std::int64_t nodes,
                             std::int64_t replicas, Timeline& timeline);

}  // namespace foretrain
