// The bytes of floors.h.
#include <algorithm>
#include <array>
#include <limits>

#include "memory/counters.h"
#include "memory/states.h"
#include "predict/floors.h"
#include "timeline/schedule.h"
#include "workload/parameter_share.h"

namespace foretrain {

const Floors::Shares& Floors::shares_of(const Job& job, const ShapeFloor& shape) {
  const WeightRanks ranks = job.mesh.weight_ranks();
  const bool together = job.pipeline.ends_together();
  Shares& s = shares_;
  if (s.known && s.ranks.tp == ranks.tp && s.ranks.ep == ranks.ep && s.ranks.etp == ranks.etp &&
      s.together == together && s.adapters == job.choices.adapters && s.low == job.choices.low)
    return s;
  s = {ranks, job.choices.adapters, job.choices.low, together, {}, {}, {}, {}, true};
  const auto share = [&](const Chunk& chunk) {
    return parameter_share(setting_.model, setting_.stack, ranks, chunk, together, job.choices.adapters);
  };
  for (const ShapeFloor::Layers& layers : shape.layers)
    s.layers.push_back(share(Chunk::of_kind(layers.kind, layers.count, layers.left)));
  s.first = share({0, true, false});
  s.last = share({0, false, true});
  // A tied head counted once.
  Chunk all = all_layers_of(setting_.model, job.choices.low);
  all.first = all.last = true;
  s.whole = parameter_share(setting_.model, setting_.stack, ranks, all, true, job.choices.adapters);
  return s;
}

void Floors::weigh(const Job& job, const ShapeFloor& shape, const FloorScope& scope, PlanFloor& out) {
  const Shares& shares = shares_of(job, shape);
  const Choices& choices = job.choices;
  const Stack& stack = setting_.stack;
  const ScheduleKind schedule = job.pipeline.schedule;
  const std::int64_t pp = job.mesh.pp;
  const double v = static_cast<double>(job.pipeline.chunks_per_stage);
  const double outside = outside_torch(job.mesh).value;

  // All of a model's states over its stages.
  ParameterShare mean = shares.whole;
  mean.elements /= pp;
  mean.experts.elements /= pp;
  // Matrices in fewer bits take more than others, or less.
  const bool more = choices.low.weight_bytes() > bytes_of(choices.precision);
  const auto divided = [&](std::int64_t elements) { return (elements + (more ? 0 : pp - 1)) / pp; };
  mean.narrow_elements = divided(mean.narrow_elements);
  mean.experts.narrow_elements = divided(mean.experts.narrow_elements);
  for (const WeightClass weights : kWeightClasses) {
    mean.frozen.elements[weights] /= pp;
    mean.frozen.narrow[weights] = divided(mean.frozen.narrow[weights]);
  }
  mean.frozen.quantised = (mean.frozen.quantised + pp - 1) / pp;  // they take less than the others
  mean.frozen.quantised_rows /= pp;
  const double states = state_bytes(mean, stack, job).total().value;

  // Gradients that the only backward of a step makes layer by layer need not be there with all that is kept.
  const bool lazy = stack.states.lazy_gradients && job.micro_batches == 1;
  const double with_holes = lazy ? 1 : 1 + kFragmentation;
  const auto state_of = [&](const ParameterShare& share) {
    const StateBytes bytes = state_bytes(share, stack, job);
    return (lazy ? bytes.total() - bytes.gradients : bytes.total()).value;
  };
  struct Layer {
    double count = 0, state = 0, kept = 0, less = 0;
  };
  const bool full = choices.recompute == Recompute::kFull, some = full && choices.recompute_layers > 0;
  std::array<Layer, 2 * kMaxBlockKinds> kinds{};
  const std::size_t count = shape.layers.size();
  double less = 0, extra = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count; ++k) {
    const LeastUnit &plain = shape.layers[k].plain, &again = shape.layers[k].again;
    kinds[k].count = static_cast<double>(shape.layers[k].count);
    kinds[k].state = state_of(shares.layers[k]) / kinds[k].count;
    kinds[k].kept = (full && !some ? again : plain).held.value * with_holes;
    if (some) kinds[k].less = std::max(0.0, plain.held.value - again.held.value) * with_holes;
    less = std::max(less, kinds[k].less);
    extra = std::min({extra, plain.forward_extra.value, again.forward_extra.value});
  }
  held_ = {};
  held_.outside = outside;
  held_.with_holes = with_holes;
  held_.less = less;
  const auto held_by = [&](const ShapeFloor::Ways& ways, double state) {
    const LeastUnit &plain = ways.plain, &again = ways.again;
    const double for_weight = full && !some ? again.held_for_weight.value
                              : some        ? std::min(plain.held_for_weight, again.held_for_weight).value
                                            : plain.held_for_weight.value;
    return Held{state, (full && !some ? again : plain).held.value * with_holes, for_weight * with_holes};
  };
  const auto least_extra = [&](const ShapeFloor::Ways& ways, Bytes LeastUnit::*which) {
    return std::min(ways.plain.*which, ways.again.*which).value * with_holes;
  };
  held_.forward_extra[0] = held_.backward_extra[0] = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count; ++k) {
    held_.layers[k] = held_by(shape.layers[k], kinds[k].state);
    held_.forward_extra[0] =
        std::min(held_.forward_extra[0], least_extra(shape.layers[k], &LeastUnit::forward_extra));
    held_.backward_extra[0] =
        std::min(held_.backward_extra[0], least_extra(shape.layers[k], &LeastUnit::backward_extra));
  }
  // A tied head is not there twice.
  held_.ends[0] = held_by(job.pipeline.pieces() == 1 ? shape.both : shape.first, state_of(shares.first));
  held_.ends[1] = held_by(shape.last, job.pipeline.ends_together() ? 0 : state_of(shares.last));
  // The head is the last of a forward and the first of a backward, whatever lies before it. Beside the embedding its
  // weights may be another unit's; then, what it has kept is gone when the first layer's backward runs.
  held_.forward_extra[1] = least_extra(shape.last, &LeastUnit::forward_extra);
  held_.backward_extra[1] = least_extra(shape.last, &LeastUnit::backward_extra);
  if (job.pipeline.ends_together()) {
    held_.forward_extra[1] = std::min(held_.forward_extra[0], held_.forward_extra[1]);
    const double kept = std::max(shape.last.plain.held, shape.both.plain.held).value * with_holes;
    held_.backward_extra[1] = std::max(0.0, held_.backward_extra[0] - kept);
  }
  const auto weight = [&](std::size_t k) {
    return k == 0 ? 1.0 : (kinds[k].state + kinds[k].kept) / (kinds[0].state + kinds[0].kept);
  };
  double layers = 0;
  for (std::size_t k = 0; k < count; ++k) layers += kinds[k].count * weight(k);
  // What a layer needs at least, by weight, with n micro-batches of it in flight.
  const auto slope = [&](double n, bool all_again) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < count; ++k)
      least = std::min(least,
                       (kinds[k].state + n * (kinds[k].kept - (all_again ? kinds[k].less : 0))) / weight(k));
    return least;
  };
  const bool ends_at_ends = schedule == ScheduleKind::kGpipe || schedule == ScheduleKind::k1f1b ||
                            schedule == ScheduleKind::kZbH1 || schedule == ScheduleKind::kZbH2 ||
                            schedule == ScheduleKind::kInterleaved;
  const double first = ends_at_ends ? state_of(shares.first) : 0,
               last = ends_at_ends && pp > 1 ? state_of(shares.last) : 0;
  const double run_again = some ? v * static_cast<double>(choices.recompute_layers) * less : 0;
  const double common = outside + with_holes * extra;
  double room = 0, left = layers, per_byte = 0, left_full = layers, per_byte_full = 0;
  for (std::int64_t r = 0; r < pp; ++r) {
    const auto n = static_cast<double>(least_in_flight(schedule, r, pp, job.micro_batches));
    const double plain = slope(n, false), again = slope(n, true);
    const double ends = (r == 0 ? first : 0) + (r == pp - 1 ? last : 0);
    const double here = scope.limit.value - common - ends;
    double most = std::min((here + n * run_again) / plain, here / again);
    if (schedule == ScheduleKind::kInterleaved && v > 1) {
      // All of a stage's chunks but the last hold p micro-batches when the warm-up ends.
      const auto many = static_cast<double>(std::min(job.micro_batches, pp));
      const auto largest = static_cast<double>(std::min(scope.most_layers, setting_.model.layers()));
      double heaviest = 0;
      for (std::size_t k = 0; k < count; ++k) heaviest = std::max(heaviest, kinds[k].kept);
      const double behind = (many - n) * largest * heaviest;
      most = std::min(most, (here + many * run_again + behind) / slope(many, false));
    }
    most = std::max(0.0, most * (1 + 1e-9));
    room += count == 1 ? std::floor(most) : most;
    left -= (n * run_again - ends) / plain;
    per_byte += 1 / plain;
    left_full += ends / again;
    per_byte_full += 1 / again;
  }
  out.fits = states + outside <= scope.limit.value && room >= layers * (1 - 1e-9);
  const double dealt = std::max(left / per_byte, left_full / per_byte_full);
  double peak = std::max(states + outside, std::max(0.0, dealt) + common);
  if (out.fits && scope.fewest_layers > 0 && !runs_both_ways(schedule)) {
    deal_layers(job, scope.fewest_layers);
    peak = std::max(peak, outside + stage_bytes(job, told_by(pp), true));
  }
  out.peak = Bytes(peak * kBelowRounding);
}

}  // namespace foretrain
