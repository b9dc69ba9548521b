#include "predict/host_update.h"

#include <algorithm>

#include "job/fine_tuning.h"

namespace foretrain {

Seconds offloaded_update(const Cluster& cluster, const Job& job, std::int64_t owned, Seconds backward) {
  const auto elements = static_cast<double>(owned);
  const auto gpus = static_cast<double>(std::min(job.mesh.gpus(), cluster.gpus_per_node));
  const Seconds down = Bytes(elements * bytes_of(job.choices.precision)) / host_rate(cluster);
  const Seconds step = Bytes(elements * kCpuAdamBytes * gpus) / cpu_memory_of(cluster);
  const Seconds up = Bytes(elements * bytes_of(job.choices.trained_dtype)) / host_rate(cluster);
  return std::max(Seconds(0), down - backward) + step + up;
}

Seconds paged_update(const Cluster& cluster, Bytes off_the_gpu) {
  return off_the_gpu * 2.0 / host_rate(cluster);
}

}  // namespace foretrain
