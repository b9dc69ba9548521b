// What is searched for: the best plan for this model, cluster, stack and batch, on one of these GPU counts.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run.h"

namespace foretrain {

struct Problem {
  Model model;
  Cluster cluster;
  Stack stack;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
  std::vector<std::int64_t> gpus;                         // ascending
  std::vector<std::vector<std::int64_t>> given_splits{};  // layers_per_stage that constraints name
  Documents documents{};
  std::vector<Pause> pauses{};  // of the whole training
  Plan given{};  // what every plan has of keys that are no dimension (lora, base, capacity_factor ...)

  bool operator==(const Problem&) const = default;
};

// A plan on a number of GPUs.
struct Candidate {
  std::int64_t gpus = 0;
  Plan plan;

  bool operator==(const Candidate&) const = default;
};

// Everything of a run but its plan, to be filled in.
Run run_without_plan(const Problem& problem);

}  // namespace foretrain
