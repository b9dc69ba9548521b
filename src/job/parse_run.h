// Reads a run and checks it. RUN.yaml holds
//   model, cluster, gpus, seq, global_batch, documents, stack, profile, task, plan: {...}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "spec/catalog.h"
#include "spec/run.h"

namespace foretrain {

// What a request adds to or overrides in a run file; empty or 0: not given. Errors name these fields.
struct RunOptions {
  std::string model;
  std::string cluster;
  std::string stack;
  std::string plan;
  std::string plan_over;  // keys of a plan, over those of `plan`
  std::string profile;
  std::string documents;
  std::string task;
  std::int64_t gpus = 0;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
  std::int64_t global_batch_tokens = 0;  // or so, as a file says it by 4Mtok
};

// "4Mtok", "4096ktok": the tokens of a batch; none where the word counts nothing so.
std::optional<std::int64_t> batch_tokens(std::string_view word);
// The sequences that they are, a whole number of them.
Result<std::int64_t> sequences_of(std::int64_t tokens, std::int64_t seq);

// Of a whole training, as a run's file states them: pauses: {checkpoint: {every: 1000, seconds: 40}}.
Result<std::vector<Pause>> parse_pauses(const Node& node);

// Whether it is a map of a run's keys and no others.
Result<void> check_run_keys(const Node& node);

// Reads a run (node may be null: the options alone), fills in what follows from the rest (dp, seq) and checks
// it with check_run.
Result<Run> parse_run(const Node* node, const RunOptions& options, const Catalog& catalog);

// The same in two: model, cluster and stack alone, which other words of the run leave as they are; and all the rest.
Result<Run> parse_specs(const Node* node, const RunOptions& options, const Catalog& catalog);
Result<Run> parse_run(const Node* node, const RunOptions& options, Run specs);

// All of it but the check, for who has other plans in mind than the one that is stated: check_run() must take them.
Result<Run> read_run(const Node* node, const RunOptions& options, const Catalog& catalog);

}  // namespace foretrain
