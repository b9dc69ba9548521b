// A run as a framework is to launch it, with nothing left open: what a plan leaves to its stack has been decided (job makes it
// of a run).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/model.h"
#include "spec/plan.h"

namespace foretrain {

struct LaunchRun {
  Model model;  // its dropout stated
  Plan plan;    // every choice that means something here, dp and the recipe's name among them
  Plan own;     // the same where the plan had left it to the stack
  ScheduleKind schedule = ScheduleKind::k1f1b;
  std::vector<std::int64_t> layers;  // of each chunk, in the model's order
  std::int64_t replicas = 1;         // copies of what ZeRO divides
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
  std::string stack;
  std::string preset;     // the model among the presets; empty: none of them
  std::string hub;        // and on the hub of models
  std::string documents;  // that sequences are packed of, in words; empty: none
  // Kernels of several streams are launched in order: what tensor parallelism wants of GPUs before Blackwell.
  bool one_connection = true;

  std::int64_t nodes() const { return (gpus + gpus_per_node - 1) / gpus_per_node; }
  std::int64_t processes() const { return gpus < gpus_per_node ? gpus : gpus_per_node; }
  std::int64_t micro_batches() const { return global_batch / (plan.dp * plan.micro_batch); }
};

}  // namespace foretrain
