#include "samples/rank_logs.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

// What a run's arguments say of it whichever rank prints them.
constexpr std::string_view kCommon[] = {"num_layers",
                                        "hidden_size",
                                        "seq_length",
                                        "global_batch_size",
                                        "micro_batch_size",
                                        "world_size",
                                        "tensor_model_parallel_size",
                                        "pipeline_model_parallel_size",
                                        "model_name"};

// Seconds of a step, or of a token or sample where the log tells rates.
double slowness(const SteadySteps& steady) {
  if (steady.seconds > 0) return steady.seconds;
  if (steady.tokens > 0) return 1 / steady.tokens;
  return steady.samples > 0 ? 1 / steady.samples : 0;
}

}  // namespace

bool is_same_run(const TrainingLog& a, const TrainingLog& b) {
  if (a.format != b.format || a.total_steps != b.total_steps || a.global_batch != b.global_batch)
    return false;
  if (a.first_step > b.last_step || b.first_step > a.last_step) return false;
  return std::all_of(std::begin(kCommon), std::end(kCommon), [&](std::string_view key) {
    const auto one = a.run.find(key), other = b.run.find(key);
    return one == a.run.end() || other == b.run.end() || one->second == other->second;
  });
}

TrainingLog joined_ranks(std::vector<TrainingLog> logs) {
  CHECK_THAT(!logs.empty());
  const auto most = std::max_element(
      logs.begin(), logs.end(), [](const TrainingLog& a, const TrainingLog& b) { return a.steps < b.steps; });
  TrainingLog joined = *most;
  joined.ranks = logs.size();
  joined.fastest = joined.slowest = slowness(joined.steady);
  joined.slowest_file = joined.file;
  for (const TrainingLog& log : logs) {
    const double own = slowness(log.steady);
    joined.fastest = std::min(joined.fastest, own);
    if (own > joined.slowest) joined.slowest = own, joined.slowest_file = log.file;
    if (log.memory_gib > joined.memory_gib)
      joined.memory_gib = log.memory_gib, joined.memory_counter = log.memory_counter;
    joined.run.insert(log.run.begin(), log.run.end());
  }
  return joined;
}

}  // namespace foretrain
