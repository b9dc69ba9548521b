#include "predict/clocks.h"

#include <algorithm>

namespace foretrain {

void settle_clocks(const Gpu& gpu, const PowerModel* power, Evaluation& e) {
  if (power == nullptr) return;
  const double highest = std::min(gpu.clock_max_mhz / power->reference_mhz, 1.0);
  const Placement& placement = e.placement;
  const bool split = splits_backward(placement.kind);
  const auto micro_batch_of = [&](std::size_t rank) {
    Seconds sum;
    for (std::int64_t c = 0; c < placement.chunks; ++c) {
      const auto n = e.node(rank, c);
      sum += e.chunks[n].cost->forward.duration + e.chunks[n].cost->backward.duration;
    }
    return sum;
  };
  Seconds slowest;
  for (std::size_t r = 0; r < e.stages.size(); ++r) slowest = std::max(slowest, micro_batch_of(r));
  const double pipeline = static_cast<double>(e.micro_batches) +
                          static_cast<double>(e.stages.size() - 1) / static_cast<double>(placement.chunks);
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    StageParts& part = e.stages[r];
    PowerLoad load;
    bool as_before = r > 0 && part.optimizer == e.stages[r - 1].optimizer;
    for (std::int64_t c = 0; c < placement.chunks; ++c) {
      const auto n = e.node(r, c);
      const ChunkCost& cost = *e.chunks[n].cost;
      const double times = static_cast<double>(e.per_chunk);
      add(load, cost.forward, times);
      if (split) {
        add(load, cost.input, times);
        add(load, cost.weight, times);
      } else {
        add(load, cost.backward, times);
      }
      if (r > 0) as_before = as_before && e.chunks[e.node(r - 1, c)].cost == &cost;
    }
    if (as_before) {  // inner ranks of equal chunks
      part.stretch = e.stages[r - 1].stretch;
      continue;
    }
    add(load, *part.optimizer, 1);
    load.idle +=
        std::max(slowest * pipeline - micro_batch_of(r) * static_cast<double>(e.micro_batches), Seconds(0));
    part.stretch = 1 / settled_clock(load, *power, gpu.power_cap_w, highest);
  }
}

}  // namespace foretrain
