// A run: a model, a cluster, a plan and a stack together with the batch. job/parse_run.h reads one,
// job/run_check.h checks it.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/cluster.h"
#include "spec/documents.h"
#include "spec/model.h"
#include "spec/plan.h"
#include "spec/stack.h"

namespace foretrain {

// Passes a step, of each data rank, in a plan whose dp is known.
inline std::int64_t micro_batches_of(const Plan& plan, std::int64_t global_batch) {
  return global_batch / (plan.dp * plan.micro_batch);
}

// What a training stops for: as many seconds after every so many steps.
struct Pause {
  std::string what;
  std::int64_t every = 0;  // steps
  Seconds length;

  bool operator==(const Pause&) const = default;
};

// What they take of a training of so many steps.
inline Seconds paused(const std::vector<Pause>& pauses, double steps) {
  Seconds sum;
  for (const Pause& pause : pauses)
    sum += pause.length * std::floor(steps / static_cast<double>(pause.every));
  return sum;
}

struct Run {
  Model model;
  Cluster cluster;
  Stack stack;
  Plan plan;
  std::int64_t gpus = 0;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
  Documents documents;               // of packed sequences; none stated: each sequence is one
  std::optional<TrainingTask> task;  // as stated; absent: what the plan comes to (job/fine_tuning.h)
  std::string profile;        // where operators' seconds come from; empty: the GPU's own, if there is one
  std::vector<Pause> pauses;  // of a whole training: checkpoints, evaluations
  std::vector<std::string> assumed;  // what nobody stated, in words that the output repeats

  std::int64_t micro_batches() const { return micro_batches_of(plan, global_batch); }
  bool operator==(const Run&) const = default;
};

}  // namespace foretrain
