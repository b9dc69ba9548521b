// The floors of one split (floors.h): its ranks one by one.
#include <algorithm>

#include "predict/floors.h"
#include "timeline/schedule.h"

namespace foretrain {

void Floors::take_chunks(const Job& job, const LayerSplit& split, std::int64_t rank) {
  if (!split.stages.empty()) return deal_layers(job, split.stages[static_cast<std::size_t>(rank)]);
  chunks_.clear();
  for (std::int64_t c = 0; c < job.pipeline.chunks_per_stage; ++c) {
    const auto piece = static_cast<std::size_t>(job.pipeline.piece(rank, c));
    chunks_.push_back(split.chunks[piece % split.chunks.size()]);
  }
}

// Evenly over a rank's chunks.
void Floors::deal_layers(const Job& job, std::int64_t layers) {
  const std::int64_t count = job.pipeline.chunks_per_stage;
  chunks_.clear();
  for (std::int64_t c = 0; c < count; ++c)
    chunks_.emplace_back(layers / count + (c < layers % count ? 1 : 0), false, false);
}

double Floors::seconds_of(const Job& job, const Parts& parts, std::int64_t rank, std::size_t c) const {
  const std::int64_t again = job.choices.recompute == Recompute::kFull ? job.choices.recompute_layers : 0;
  const Chunk& chunk = chunks_[c];
  const std::int64_t n = job.pipeline.piece(rank, static_cast<std::int64_t>(c)), layers = chunk.all_layers();
  double sum = parts.more * static_cast<double>(std::min(again, layers)) + (layers > 0 ? parts.waits : 0);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const auto [kind, left] = kinds_[k];
    sum += parts.layers[k] * (left ? chunk.plain[kind] : chunk.layers[kind] - chunk.plain[kind]);
  }
  if (job.pipeline.first(n)) sum += parts.ends[0];
  if (job.pipeline.last(n) && parts.end_count > 1) sum += parts.ends[1];
  return sum;
}

Floors::Stage& Floors::stage_of(const Job& job, const LayerSplit& split, std::int64_t rank) {
  Stage* stage = &stage_;
  if (!split.stages.empty()) {
    const auto most = static_cast<std::size_t>(setting_.model.layers()) + 1;
    const std::size_t at = static_cast<std::size_t>(rank) * most +
                           static_cast<std::size_t>(split.stages[static_cast<std::size_t>(rank)]);
    if (at >= stages_.size()) stages_.resize(static_cast<std::size_t>(job.pipeline.stages) * most);
    stage = &stages_[at];
    if (stage->part == part_) return *stage;
  }
  *stage = {};
  take_chunks(job, split, rank);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    stage->own += seconds_of(job, at_reference_, rank, c);
    if (at_clock_.less > 0) stage->slowed += seconds_of(job, at_clock_, rank, c);
  }
  const bool splits = splits_backward(job.pipeline.schedule);
  stage->down = seconds_of(job, splits ? forwards_ : at_reference_, rank, 0);
  stage->part = part_;
  return *stage;
}

// Each rank by itself has all its passes to run, but for dualpipe after the first micro-batch has come down to it; and
// where backwards are whole, the last gradient has to go up. At a clock each second of a rank has `less` of the step taken
// from it, and each micro-batch that comes down from a rank above a share of that.
Seconds Floors::split_seconds(const Job& job, const LayerSplit& split) {
  const Pipeline& pipeline = job.pipeline;
  const double each = static_cast<double>(pipeline.through_each(job.micro_batches));
  const bool in_turns = runs_in_turns(pipeline.schedule), both_ways = runs_both_ways(pipeline.schedule);
  const bool slows = at_clock_.less > 0;
  double step = 0, above = 0, above_slowed = 0;
  for (std::int64_t r = 0; r < pipeline.stages; ++r) {
    const Stage& stage = stage_of(job, split, r);
    step = std::max(step, above + stage.own * each);
    if (slows) {
      const double less = at_clock_.less * (1 + (in_turns ? static_cast<double>(r) / each : 0));
      step = std::max(step, ((in_turns ? above_slowed : above) + stage.slowed * each) / (1 + less));
      above_slowed += stage.slowed;
    }
    if (!both_ways) above += stage.down;
  }
  return Seconds(step * kBelowRounding);
}

// A rank's states, and what it holds at its peak.
double Floors::stage_bytes(const Job& job, std::int64_t rank, bool of_any_kind) {
  const Pipeline& pipeline = job.pipeline;
  const std::int64_t again = job.choices.recompute == Recompute::kFull ? job.choices.recompute_layers : 0;
  pieces_.assign(chunks_.size(), {});
  double state = 0;
  Held least = held_.layers[0];
  for (std::size_t k = 1; k < kinds_.size(); ++k) {
    least.state = std::min(least.state, held_.layers[k].state);
    least.held = std::min(least.held, held_.layers[k].held);
    least.for_weight = std::min(least.for_weight, held_.layers[k].for_weight);
  }
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    const std::int64_t n = pipeline.piece(rank, static_cast<std::int64_t>(c));
    const Chunk& chunk = chunks_[c];
    const auto layers = static_cast<double>(chunk.all_layers());
    Held& piece = pieces_[c];
    const auto add = [&](const Held& unit, double times) {
      state += unit.state * times;
      piece.held += unit.held * times;
      piece.for_weight += unit.for_weight * times;
    };
    if (of_any_kind) add(least, layers);
    for (std::size_t k = 0; k < kinds_.size() && !of_any_kind; ++k) {
      const auto [kind, left] = kinds_[k];
      add(held_.layers[k], left ? chunk.plain[kind] : chunk.layers[kind] - chunk.plain[kind]);
    }
    if (pipeline.first(n)) add(held_.ends[0], 1);
    if (pipeline.last(n) && pipeline.pieces() > 1) add(held_.ends[1], 1);
    piece.held = std::max(0.0, piece.held - held_.less * std::min(static_cast<double>(again), layers));
  }
  return state + held_at_peak(job, rank);
}

// Of its pieces, at one of the moments of its order that may be the peak.
double Floors::held_at_peak(const Job& job, std::int64_t rank) {
  const Pipeline& pipeline = job.pipeline;
  const std::size_t count = pieces_.size();
  orders_.open(pipeline.schedule,
               {pipeline.stages, pipeline.chunks_per_stage, pipeline.through_each(job.micro_batches)});
  const HeldTable& table = orders_.held(rank);
  double peak = 0;
  for (std::size_t i = 0; i < table.moments().size(); ++i) {
    const auto counts = table.counts(i);
    double bytes = 0;
    for (std::size_t c = 0; c < count; ++c) {
      bytes += counts[c] * pieces_[c].held;
      if (counts.size() > count) bytes += counts[count + c] * pieces_[c].for_weight;
    }
    const HeldTable::Moment& moment = table.moments()[i];
    const bool last = pipeline.last(pipeline.piece(rank, moment.chunk));
    if (!moment.at_end && (last || chunks_[moment.chunk].all_layers() > 0)) {
      if (moment.kind == PassKind::kForward) bytes += held_.forward_extra[last];
      if (moment.kind == PassKind::kBackward || moment.kind == PassKind::kInput)
        bytes += held_.backward_extra[last];
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

Bytes Floors::split_bytes(const Job& job, const LayerSplit& split, Bytes limit) {
  double most = 0;
  for (std::int64_t r = 0; r < job.pipeline.stages && held_.outside + most <= limit.value; ++r) {
    Stage& stage = split.stages.empty() ? stage_ : stage_of(job, split, r);
    if (split.stages.empty() || stage.bytes < 0) {
      take_chunks(job, split, r);
      stage.bytes = stage_bytes(job, r);
    }
    most = std::max(most, stage.bytes);
  }
  return Bytes((held_.outside + most) * kBelowRounding);
}

}  // namespace foretrain
