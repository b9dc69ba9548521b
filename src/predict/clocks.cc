#include "predict/clocks.h"

#include <algorithm>

namespace foretrain {
namespace {

// Inner ranks of equal chunks do the same as those before them.
bool does_as_the_rank_before(const Timed& e, std::size_t rank) {
  if (rank == 0 || e.paces[rank].optimizer != e.paces[rank - 1].optimizer) return false;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
    const std::size_t n = e.piece(rank, c), before = e.piece(rank - 1, c);
    if (e.chunks[n] != e.chunks[before] || e.counts[n] != e.counts[before]) return false;
  }
  return true;
}

}  // namespace

void settle_clocks(const Gpu& gpu, const PowerModel* power, Timed& e) {
  if (power == nullptr) return;
  const double highest = std::min(gpu.clock_max_mhz / power->reference_mhz, 1.0);
  const auto passes_of = [&](std::size_t rank) {
    Seconds sum;
    e.for_each_pass(rank, [&](const Segment& pass, double times) { sum += pass.duration * times; });
    return sum;
  };
  Seconds slowest;
  for (std::size_t r = 0; r < e.stages.size(); ++r) slowest = std::max(slowest, passes_of(r));
  // To fill and drain the pipeline takes as long as one micro-batch's passes of a chunk on all other ranks.
  const double filling = static_cast<double>(e.stages.size() - 1) /
                         static_cast<double>(e.job.pipeline.chunks_per_stage * e.job.micro_batches);
  // What the mean card would run at, had it so much more room above.
  const double slowest_of_cards = slowest_card(static_cast<double>(e.job.mesh.gpus()));
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    StagePace& pace = e.paces[r];
    if (does_as_the_rank_before(e, r)) {
      pace.stretch = e.paces[r - 1].stretch;
      continue;
    }
    PowerLoad load;
    e.for_each_pass(r, [&](const Segment& pass, double times) { add(load, pass, times); });
    add(load, *pace.optimizer, 1);
    load.idle += std::max(slowest * (1 + filling) - passes_of(r), Seconds(0));
    const double mean = settled_clock(load, *power, gpu.power_cap_w, highest / slowest_of_cards);
    pace.stretch = 1 / (mean * slowest_of_cards);
  }
}

}  // namespace foretrain
