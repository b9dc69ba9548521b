#include "timeline/footprint.h"

#include <algorithm>

namespace foretrain {
namespace {

// Above what is held.
Bytes extra(const ChunkLoad& load, const HeldTable::Moment& moment) {
  if (moment.at_end) return moment.kind == PassKind::kInput ? Bytes(0) : load.backward_end;
  if (moment.kind == PassKind::kForward) return load.forward_extra;
  return moment.kind == PassKind::kWeight ? load.weight_extra : load.backward_extra;
}

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

void Footprint::begin(const PipelineWork& work) {
  const std::size_t pieces = work.chunks.size();
  for (auto* counts : {&now_, &before_, &most_, &waiting_, &waiting_before_, &at_peak_, &waiting_at_peak_})
    counts->assign(pieces, 0);
  ranks_.assign(static_cast<std::size_t>(work.ranks()), {});
  backwards_.assign(pieces, {});
}

void Footprint::measure(const PipelineWork& work, const Orders& orders) {
  begin(work);
  const Pipeline pipeline = work.pipeline();
  for (std::int64_t r = 0; r < work.ranks(); ++r)
    if (!hold_equal_chunks(work, pipeline, r)) walk_through(work, orders, pipeline, r);
}

void Footprint::measure(const PipelineWork& work, OrderBook& book) {
  begin(work);
  const Pipeline pipeline = work.pipeline();
  for (std::int64_t r = 0; r < work.ranks(); ++r) {
    if (hold_equal_chunks(work, pipeline, r)) continue;
    if (!hold_by_table(work, book.held(r), pipeline, r)) walk_through(work, book.orders(), pipeline, r);
  }
}

// Whether the table can tell: where a chunk holds nothing, moments with more of it hold no more, and the first of them
// may be one that is not in the table.
bool Footprint::hold_by_table(const PipelineWork& work, const HeldTable& table, const Pipeline& pipeline,
                              std::int64_t r) {
  const std::size_t chunks = table.most().size(), width = table.width();
  loads_.resize(chunks);
  held_.resize(2 * chunks);
  for (std::size_t c = 0; c < chunks; ++c) {
    loads_[c] = &work.chunks[static_cast<std::size_t>(pipeline.piece(r, static_cast<std::int64_t>(c)))];
    held_[c] = loads_[c]->held.value;
    held_[chunks + c] = loads_[c]->held_for_weight.value;
  }
  for (std::size_t i = 0; i < width; ++i)
    if (!(held_[i] > 0)) return false;

  double peak = -1.0;
  std::size_t first = 0;
  const auto moments = table.moments();
  const std::int32_t* counts = table.counts(0).data();
  for (std::size_t i = 0; i < moments.size(); ++i, counts += width) {
    double bytes = 0.0;
    for (std::size_t k = 0; k < width; ++k) bytes += static_cast<double>(counts[k]) * held_[k];
    bytes += extra(*loads_[moments[i].chunk], moments[i]).value;
    if (bytes > peak) peak = bytes, first = i;
  }
  RankFootprint& rank = ranks_[static_cast<std::size_t>(r)];
  rank.peak = Bytes(std::max(peak, 0.0));
  rank.in_flight = table.in_flight();
  const HeldTable::Moment& moment = moments[first];
  rank.moment = {moment.kind, pipeline.piece(r, moment.chunk), moment.at_end};
  const auto at_peak = table.counts(first);
  for (std::size_t c = 0; c < chunks; ++c) {
    const auto n = static_cast<std::size_t>(pipeline.piece(r, static_cast<std::int64_t>(c)));
    most_[n] = table.most()[c];
    backwards_[n] = table.backwards()[c];
    at_peak_[n] = at_peak[c];
    waiting_at_peak_[n] = width > chunks ? at_peak[chunks + c] : 0;
  }
  return true;
}

// Where all chunks of a rank of interleaved hold the same, the closed form of schedule_interleaved.cc: when the most are held, a forward has just begun to hold the
// last of them, and a backward comes next.
bool Footprint::hold_equal_chunks(const PipelineWork& work, const Pipeline& pipeline, std::int64_t r) {
  if (work.schedule != ScheduleKind::kInterleaved || !equal_chunks(work, pipeline, r)) return false;
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
  return true;
}

// Goes through a rank's passes in their order, and keeps the most that they hold.
class Footprint::Walk {
 public:
  Walk(Footprint& out, const PipelineWork& work, const Pipeline& pipeline, std::int64_t rank)
      : out_(out),
        work_(work),
        pipeline_(pipeline),
        number_(rank),
        rank_(out.ranks_[static_cast<std::size_t>(rank)]) {}

  void go_through(std::span<const OrderedPass> passes) {
    for (const OrderedPass& pass : passes) {
      const std::size_t n = piece(pass.chunk);
      if (pass.kind == PassKind::kForward)
        forward(n);
      else if (pass.kind == PassKind::kWeight)
        weight(n);
      else
        backward(n, pass.kind);
    }
  }

  // Only the first and the last of the repeats: what a repeat adds is known once the first is over.
  void go_through_ends(std::span<const OrderedPass> passes, std::int64_t repeats) {
    const double held_before = held_;
    const std::int64_t flying_before = flying_, skipped = repeats - 2;
    for (std::int64_t c = 0; c < work_.chunks_per_rank; ++c) {
      const std::size_t n = piece(c);
      out_.before_[n] = out_.now_[n];
      out_.waiting_before_[n] = out_.waiting_[n];
    }
    go_through(passes);
    held_ += static_cast<double>(skipped) * (held_ - held_before);
    flying_ += skipped * (flying_ - flying_before);
    for (std::int64_t c = 0; c < work_.chunks_per_rank; ++c) {
      const std::size_t n = piece(c);
      out_.now_[n] += skipped * (out_.now_[n] - out_.before_[n]);
      out_.waiting_[n] += skipped * (out_.waiting_[n] - out_.waiting_before_[n]);
    }
    go_through(passes);
  }

  void count_backwards(std::span<const OrderedPass> passes, std::int64_t repeats) {
    for (const OrderedPass& pass : passes) {
      ChunkCounts& counts = out_.backwards_[piece(pass.chunk)];
      if (pass.kind == PassKind::kBackward) counts.whole += repeats;
      if (pass.kind == PassKind::kInput) counts.split += repeats;
    }
  }

  Bytes peak() const { return Bytes(std::max(peak_, 0.0)); }

 private:
  std::size_t piece(std::int64_t chunk) const {
    return static_cast<std::size_t>(pipeline_.piece(number_, chunk));
  }

  void forward(std::size_t n) {
    const ChunkLoad& load = work_.chunks[n];
    held_ += load.held.value;
    out_.most_[n] = std::max(out_.most_[n], ++out_.now_[n]);
    rank_.in_flight = std::max(rank_.in_flight, ++flying_);
    reach(held_ + load.forward_extra.value, PassKind::kForward, n);
  }

  void weight(std::size_t n) {
    const ChunkLoad& load = work_.chunks[n];
    reach(held_ + load.weight_extra.value, PassKind::kWeight, n);
    held_ -= load.held_for_weight.value;
    --out_.waiting_[n];
    reach(held_ + load.backward_end.value, PassKind::kWeight, n, true);
  }

  // Whole, or to inputs alone.
  void backward(std::size_t n, PassKind kind) {
    const ChunkLoad& load = work_.chunks[n];
    reach(held_ + load.backward_extra.value, kind, n);
    held_ -= load.held.value;
    --out_.now_[n], --flying_;
    if (kind == PassKind::kInput) {
      held_ += load.held_for_weight.value;
      ++out_.waiting_[n];
      reach(held_, kind, n, true);
    } else {
      reach(held_ + load.backward_end.value, kind, n, true);
    }
  }

  void reach(double bytes, PassKind kind, std::size_t n, bool at_end = false) {
    if (bytes <= peak_) return;
    peak_ = bytes;
    rank_.moment = {kind, static_cast<std::int64_t>(n), at_end};
    for (std::int64_t c = 0; c < work_.chunks_per_rank; ++c) {
      const std::size_t held = piece(c);
      out_.at_peak_[held] = out_.now_[held];
      out_.waiting_at_peak_[held] = out_.waiting_[held];
    }
  }

  Footprint& out_;
  const PipelineWork& work_;
  const Pipeline& pipeline_;
  std::int64_t number_;
  RankFootprint& rank_;
  double held_ = 0.0, peak_ = -1.0;
  std::int64_t flying_ = 0;
};

void Footprint::walk_through(const PipelineWork& work, const Orders& orders, const Pipeline& pipeline,
                             std::int64_t r) {
  Walk walk(*this, work, pipeline, r);
  for (const Orders::Phase& phase : orders.phases(r)) {
    const auto passes = orders.passes(phase);
    walk.count_backwards(passes, phase.repeats);
    if (phase.repeats > 2) {
      walk.go_through_ends(passes, phase.repeats);
    } else {
      for (std::int64_t i = 0; i < phase.repeats; ++i) walk.go_through(passes);
    }
  }
  ranks_[static_cast<std::size_t>(r)].peak = walk.peak();
}

}  // namespace foretrain
