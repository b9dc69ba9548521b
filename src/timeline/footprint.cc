#include "timeline/footprint.h"

#include <algorithm>

namespace foretrain {

void Footprint::measure(const PipelineWork& work, const Orders& orders) {
  const std::size_t nodes = work.chunks.size();
  for (auto* counts : {&now_, &before_, &most_}) counts->assign(nodes, 0);
  ranks_.assign(static_cast<std::size_t>(work.ranks()), {});
  backwards_.assign(nodes, {});
  const Placement placement{work.schedule, work.ranks(), work.chunks_per_rank};
  for (std::int64_t r = 0; r < work.ranks(); ++r) measure_rank(work, orders, placement, r);
}

namespace {

bool equal_chunks(const PipelineWork& work, const Placement& placement, std::int64_t rank) {
  const ChunkLoad& first = work.chunks[static_cast<std::size_t>(rank)];
  for (std::int64_t c = 1; c < placement.chunks; ++c) {
    const ChunkLoad& load = work.chunks[static_cast<std::size_t>(placement.node(rank, c))];
    if (load.held != first.held || load.forward_extra != first.forward_extra ||
        load.backward_extra != first.backward_extra)
      return false;
  }
  return true;
}

}  // namespace

// The closed form of schedule_interleaved.cc: when the most are held, a forward has just begun to hold the
// last of them, and a backward comes next.
void Footprint::hold_equal_chunks(const PipelineWork& work, const Placement& placement, std::int64_t r) {
  const std::int64_t p = placement.ranks, v = placement.chunks, m = work.micro_batches_per_chunk();
  const ChunkLoad& load = work.chunks[static_cast<std::size_t>(r)];
  RankFootprint& rank = ranks_[static_cast<std::size_t>(r)];
  rank.in_flight = std::min(m * v, 2 * (p - 1 - r) + (v - 1) * p + 1);
  rank.peak =
      static_cast<double>(rank.in_flight) * load.held + std::max(load.forward_extra, load.backward_extra);
  for (std::int64_t c = 0; c < v; ++c) {
    const auto n = static_cast<std::size_t>(placement.node(r, c));
    most_[n] = std::min(m, rank.in_flight);
    backwards_[n].whole = m;
  }
}

void Footprint::measure_rank(const PipelineWork& work, const Orders& orders, const Placement& placement,
                             std::int64_t r) {
  if (work.schedule == ScheduleKind::kInterleaved && equal_chunks(work, placement, r)) {
    hold_equal_chunks(work, placement, r);
    return;
  }
  RankFootprint& rank = ranks_[static_cast<std::size_t>(r)];
  double held = 0.0, peak = 0.0;
  std::int64_t flying = 0;
  const auto node_of = [&](std::int64_t chunk) { return static_cast<std::size_t>(placement.node(r, chunk)); };
  const auto go_through = [&](std::span<const OrderedPass> passes) {
    for (const OrderedPass& pass : passes) {
      const std::size_t n = node_of(pass.chunk);
      const ChunkLoad& load = work.chunks[n];
      if (pass.kind == PassKind::kForward) {
        held += load.held.value;
        peak = std::max(peak, held + load.forward_extra.value);
        most_[n] = std::max(most_[n], ++now_[n]);
        rank.in_flight = std::max(rank.in_flight, ++flying);
      } else if (pass.kind == PassKind::kWeight) {
        peak = std::max(peak, held + load.weight_extra.value);
        held -= load.held_for_weight.value;
      } else {
        peak = std::max(peak, held + load.backward_extra.value);
        held -= load.held.value;
        if (pass.kind == PassKind::kInput) held += load.held_for_weight.value;
        peak = std::max(peak, held);
        --now_[n], --flying;
      }
    }
  };
  for (const Orders::Phase& phase : orders.phases(r)) {
    const auto passes = orders.passes(phase);
    for (const OrderedPass& pass : passes) {
      ChunkCounts& counts = backwards_[node_of(pass.chunk)];
      if (pass.kind == PassKind::kBackward) counts.whole += phase.repeats;
      if (pass.kind == PassKind::kInput) counts.split += phase.repeats;
    }
    if (phase.repeats > 2) {
      const double held_before = held;
      const std::int64_t flying_before = flying, skipped = phase.repeats - 2;
      for (std::int64_t c = 0; c < work.chunks_per_rank; ++c) before_[node_of(c)] = now_[node_of(c)];
      go_through(passes);
      held += static_cast<double>(skipped) * (held - held_before);
      flying += skipped * (flying - flying_before);
      for (std::int64_t c = 0; c < work.chunks_per_rank; ++c)
        now_[node_of(c)] += skipped * (now_[node_of(c)] - before_[node_of(c)]);
      go_through(passes);
    } else {
      for (std::int64_t i = 0; i < phase.repeats; ++i) go_through(passes);
    }
  }
  rank.peak = Bytes(peak);
}

}  // namespace foretrain
