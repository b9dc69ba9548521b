#include "timeline/footprint.h"

#include <algorithm>

namespace foretrain {

void Footprint::measure(const PipelineWork& work, const Orders& orders) {
  const std::size_t pieces = work.chunks.size();
  for (auto* counts : {&now_, &before_, &most_, &waiting_, &waiting_before_, &at_peak_, &waiting_at_peak_})
    counts->assign(pieces, 0);
  ranks_.assign(static_cast<std::size_t>(work.ranks()), {});
  backwards_.assign(pieces, {});
  const Pipeline pipeline = work.pipeline();
  for (std::int64_t r = 0; r < work.ranks(); ++r) measure_rank(work, orders, pipeline, r);
}

namespace {

bool equal_chunks(const PipelineWork& work, const Pipeline& pipeline, std::int64_t rank) {
  const ChunkLoad& first = work.chunks[static_cast<std::size_t>(rank)];
  for (std::int64_t c = 1; c < pipeline.chunks_per_stage; ++c) {
    const ChunkLoad& load = work.chunks[static_cast<std::size_t>(pipeline.piece(rank, c))];
    if (load.held != first.held || load.forward_extra != first.forward_extra ||
        load.backward_extra != first.backward_extra || load.backward_end != first.backward_end)
      return false;
  }
  return true;
}

}  // namespace

// The closed form of schedule_interleaved.cc: when the most are held, a forward has just begun to hold the
// last of them, and a backward comes next.
void Footprint::hold_equal_chunks(const PipelineWork& work, const Pipeline& pipeline, std::int64_t r) {
  const std::int64_t p = pipeline.stages, v = pipeline.chunks_per_stage, m = work.micro_batches_per_chunk();
  const ChunkLoad& load = work.chunks[static_cast<std::size_t>(r)];
  RankFootprint& rank = ranks_[static_cast<std::size_t>(r)];
  rank.in_flight = std::min(m * v, 2 * (p - 1 - r) + (v - 1) * p + 1);
  const Bytes held = static_cast<double>(rank.in_flight) * load.held;
  const bool forward = load.forward_extra >= load.backward_extra;
  std::int64_t at_peak = rank.in_flight;
  rank.peak = held + std::max(load.forward_extra, load.backward_extra);
  // Equal chunks: which of them it is says nothing.
  const std::int64_t last = pipeline.piece(r, v - 1);
  rank.moment = {forward ? PassKind::kForward : PassKind::kBackward, last};
  if (const Bytes end = held - load.held + load.backward_end; end > rank.peak) {
    rank.peak = end;
    rank.moment = {PassKind::kBackward, last, true};
    --at_peak;
  }
  for (std::int64_t c = 0; c < v; ++c) {
    const auto n = static_cast<std::size_t>(pipeline.piece(r, c));
    most_[n] = std::min(m, rank.in_flight);
    at_peak_[n] = at_peak / v + (c < at_peak % v ? 1 : 0);
    backwards_[n].whole = m;
  }
}

void Footprint::measure_rank(const PipelineWork& work, const Orders& orders, const Pipeline& pipeline,
                             std::int64_t r) {
  if (work.schedule == ScheduleKind::kInterleaved && equal_chunks(work, pipeline, r)) {
    hold_equal_chunks(work, pipeline, r);
    return;
  }
  RankFootprint& rank = ranks_[static_cast<std::size_t>(r)];
  double held = 0.0, peak = -1.0;
  std::int64_t flying = 0;
  const auto piece_of = [&](std::int64_t chunk) {
    return static_cast<std::size_t>(pipeline.piece(r, chunk));
  };
  const auto reach = [&](double bytes, const PeakMoment& moment) {
    if (bytes <= peak) return;
    peak = bytes;
    rank.moment = moment;
    for (std::int64_t c = 0; c < work.chunks_per_rank; ++c) {
      at_peak_[piece_of(c)] = now_[piece_of(c)];
      waiting_at_peak_[piece_of(c)] = waiting_[piece_of(c)];
    }
  };
  const auto go_through = [&](std::span<const OrderedPass> passes) {
    for (const OrderedPass& pass : passes) {
      const std::size_t n = piece_of(pass.chunk);
      const ChunkLoad& load = work.chunks[n];
      const auto piece = static_cast<std::int64_t>(n);
      if (pass.kind == PassKind::kForward) {
        held += load.held.value;
        most_[n] = std::max(most_[n], ++now_[n]);
        rank.in_flight = std::max(rank.in_flight, ++flying);
        reach(held + load.forward_extra.value, {pass.kind, piece});
      } else if (pass.kind == PassKind::kWeight) {
        reach(held + load.weight_extra.value, {pass.kind, piece});
        held -= load.held_for_weight.value;
        --waiting_[n];
        reach(held + load.backward_end.value, {pass.kind, piece, true});
      } else {
        reach(held + load.backward_extra.value, {pass.kind, piece});
        held -= load.held.value;
        --now_[n], --flying;
        if (pass.kind == PassKind::kInput) {
          held += load.held_for_weight.value;
          ++waiting_[n];
          reach(held, {pass.kind, piece, true});
        } else {
          reach(held + load.backward_end.value, {pass.kind, piece, true});
        }
      }
    }
  };
  for (const Orders::Phase& phase : orders.phases(r)) {
    const auto passes = orders.passes(phase);
    for (const OrderedPass& pass : passes) {
      ChunkCounts& counts = backwards_[piece_of(pass.chunk)];
      if (pass.kind == PassKind::kBackward) counts.whole += phase.repeats;
      if (pass.kind == PassKind::kInput) counts.split += phase.repeats;
    }
    if (phase.repeats > 2) {
      const double held_before = held;
      const std::int64_t flying_before = flying, skipped = phase.repeats - 2;
      for (std::int64_t c = 0; c < work.chunks_per_rank; ++c) {
        before_[piece_of(c)] = now_[piece_of(c)];
        waiting_before_[piece_of(c)] = waiting_[piece_of(c)];
      }
      go_through(passes);
      held += static_cast<double>(skipped) * (held - held_before);
      flying += skipped * (flying - flying_before);
      for (std::int64_t c = 0; c < work.chunks_per_rank; ++c) {
        now_[piece_of(c)] += skipped * (now_[piece_of(c)] - before_[piece_of(c)]);
        waiting_[piece_of(c)] += skipped * (waiting_[piece_of(c)] - waiting_before_[piece_of(c)]);
      }
      go_through(passes);
    } else {
      for (std::int64_t i = 0; i < phase.repeats; ++i) go_through(passes);
    }
  }
  rank.peak = Bytes(std::max(peak, 0.0));
}

}  // namespace foretrain
