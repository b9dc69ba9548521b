// Reads a run and checks it. RUN.yaml holds
//   model, cluster, gpus, seq, global_batch, documents, stack, profile, task, plan: {...}
#pragma once

#include <cstdint>
#include <string>

#include "spec/catalog.h"
#include "spec/run.h"

namespace foretrain {

// What a request adds to or overrides in a run file; empty or 0: not given. Errors name these fields.
struct RunOptions {
  std::string model;
  std::string cluster;
  std::string stack;
  std::string plan;
  std::string profile;
  std::string documents;
  std::string task;
  std::int64_t gpus = 0;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
};

// Reads a run (node may be null: the options alone), fills in what follows from the rest (dp, seq) and checks
// it with check_run.
Result<Run> parse_run(const Node* node, const RunOptions& options, const Catalog& catalog);

}  // namespace foretrain
