// What a run trains: the whole model, or adapters beside frozen weights. A run may state its task
//   pretrain, sft   all weights
//   lora            adapters of the plan's rank, or of rank 16
//   qlora           the same beside weights of four bits (base=nf4)
// and otherwise its plan says it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/run.h"

namespace foretrain {

TrainingTask task_of(const Plan& plan);
TrainingTask task_of(const Run& run);

// Fills in what the task asks of a plan that is silent, and says so in `assumed`; refuses a plan that says
// something else. `plan.lora` is kRankNotStated where nobody states it, and is settled afterwards.
inline constexpr std::int64_t kRankNotStated = -1;
Result<void> apply_task(std::optional<TrainingTask> task, Plan& plan, std::vector<std::string>& assumed);

// Of a plan with adapters or with states off the GPU: whether model, stack and plan go together.
Result<void> check_fine_tuning(Run& run);

// What all CPUs of a node reach together, where a cluster does not state it. Assumed: CPU-Adam of ZeRO-Offload
// updates 10e9 parameters in about 2.6 s on two sockets of 128 GB/s each (arXiv 2101.06840, table 4), 0.4 of
// their peak at 28 bytes each; two sockets of today's servers have 410 to 614.
inline constexpr double kUsualCpuMemoryGbytes = 200;
BytesPerSecond cpu_memory_of(const Cluster& cluster);  // a node's

}  // namespace foretrain
