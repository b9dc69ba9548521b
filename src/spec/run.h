// A run: a model, a cluster, a plan and a stack together with the batch, checked once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/cluster.h"
#include "spec/model.h"
#include "spec/plan.h"
#include "spec/stack.h"

namespace foretrain {

struct Run {
  Model model;
  Cluster cluster;
  Stack stack;
  Plan plan;
  std::int64_t gpus = 0;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
  std::string profile;  // where operators' seconds come from; empty: the GPU's own, if there is one
  std::vector<std::string> assumed;  // what nobody stated, in words that the output repeats

  std::int64_t micro_batches() const { return global_batch / (plan.dp * plan.micro_batch); }
  bool operator==(const Run&) const = default;
};

// What a plan asks for that the program does not model yet, in few words ("cp > 1", "precision fp8").
std::optional<std::string> not_modelled(const Plan& plan);

// Whether selective recomputation runs anything again; where not, it is the same as none.
bool repeats_selectively(const Model& model, const Stack& stack, const Plan& plan);

// Every rule that binds model, plan and cluster together: divisibility, sizes, features not modelled yet.
// Derives plan.dp where it is 0, and adds to `assumed` what the run rests on without saying so.
Result<void> check_run(Run& run);

}  // namespace foretrain
