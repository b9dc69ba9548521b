#include "predict/floors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "memory/counters.h"
#include "memory/states.h"
#include "timeline/schedule.h"
#include "workload/parameter_share.h"

namespace foretrain {
namespace {

// Seconds by rows of work (shape_floors.h).
struct Strands {
  std::array<double, 3> of{};

  void add(const Strands& other, double times) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] += other.of[i] * times;
  }
  std::size_t longest() const {
    return static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
  }
};

Strands strands_of(const LeastPass& pass, const Network& network) {
  Strands rows{{pass.least.work.value, pass.least.exchanges.value, 0}};
  for (const ShardTask& task : pass.shards) {
    const double seconds = network.cost(task.collective).seconds.value * task.times;
    rows.of[2] += seconds;
    if (task.stops) rows.of[0] += seconds;
  }
  return rows;
}

struct UnitStrands {
  Strands forward, backward;
};
UnitStrands strands_of(const LeastUnit& unit, const Network& network) {
  return {strands_of(unit.forward, network), strands_of(unit.backward, network)};
}

// Of so many layers, at least so many are among the first N of their chunk.
double fewest_again(std::int64_t layers, std::int64_t n, std::int64_t most_layers) {
  const std::int64_t most = std::clamp<std::int64_t>(most_layers, 1, layers);
  const std::int64_t full = layers / most;
  return static_cast<double>(full * std::min(n, most) + std::min(n, layers - full * most));
}

// W s / (1 - (1 - s/m)^p).
double filled(double work, double share, double m, double p) {
  if (m <= share || p == 1) return work * std::max(m / p, 1.0);
  return work * share / -std::expm1(p * std::log1p(-share / m));
}

}  // namespace

Seconds Floors::least_step(const Job& job, const Network& network, const ShapeFloor& shape,
                           std::int64_t most_layers) const {
  const Choices& choices = job.choices;
  const ScheduleKind schedule = job.pipeline.schedule;
  const bool full = choices.recompute == Recompute::kFull, some = full && choices.recompute_layers > 0;
  const double m = static_cast<double>(job.micro_batches), p = static_cast<double>(job.mesh.pp);
  const std::size_t kinds = shape.layers.size();

  // Of all layers, and how much more those take that are run again.
  std::array<UnitStrands, 2 * kMaxBlockKinds> each;
  Strands forward, backward, more;
  for (std::size_t k = 0; k < kinds; ++k) {
    each[k] = strands_of(full && !some ? shape.layers[k].again : shape.layers[k].plain, network);
    forward.add(each[k].forward, static_cast<double>(shape.layers[k].count));
    backward.add(each[k].backward, static_cast<double>(shape.layers[k].count));
    if (!some) continue;
    const Strands again = strands_of(shape.layers[k].again.backward, network);
    for (std::size_t i = 0; i < more.of.size(); ++i) {
      const double longer = std::max(0.0, again.of[i] - each[k].backward.of[i]);
      more.of[i] = k == 0 ? longer : std::min(more.of[i], longer);
    }
  }
  const double again =
      some ? fewest_again(setting_.model.layers(), choices.recompute_layers, most_layers) : 0;
  backward.add(more, again);
  Strands all_forward = forward, all_backward = backward;
  const auto add_end = [&](const ShapeFloor::Ways& end) {
    const UnitStrands rows = strands_of(full && !some ? end.again : end.plain, network);
    all_forward.add(rows.forward, 1);
    all_backward.add(rows.backward, 1);
  };
  if (job.pipeline.pieces() == 1) {
    add_end(shape.both);
  } else {
    add_end(shape.first);
    add_end(shape.last);
  }
  const double work = all_forward.of[all_forward.longest()] + all_backward.of[all_backward.longest()];
  double step = work * m / p;
  if (schedule == ScheduleKind::kGpipe || schedule == ScheduleKind::k1f1b) step = filled(work, 1, m, p);
  const std::size_t f = forward.longest(), b = backward.longest();
  if (splits_backward(schedule) && !runs_both_ways(schedule)) {
    double share = 1;
    for (std::size_t k = 0; k < kinds; ++k) {
      const double back = each[k].backward.of[b] +
                          (some ? std::max(0.0, strands_of(shape.layers[k].again.backward, network).of[b] -
                                                    each[k].backward.of[b])
                                : 0.0);
      share = std::min(share, each[k].forward.of[f] / (each[k].forward.of[f] + back));
    }
    // Of two chunks a rank the first alone is above the rest.
    if (job.pipeline.chunks_per_stage == 1 && share > 0)
      step = std::max(step, filled(forward.of[f] + backward.of[b], share, m, p));
  }
  // Some stage has as many layers as an even split gives. Of dualpipe's two copies of the model a stage runs half
  // the micro-batches each.
  double layer = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    const double seconds = each[k].forward.of[f] + each[k].backward.of[b];
    layer = k == 0 ? seconds : std::min(layer, seconds);
  }
  const std::int64_t copies = runs_both_ways(schedule) ? 2 : 1, pp = job.mesh.pp;
  const auto fullest = static_cast<double>((copies * setting_.model.layers() + pp - 1) / pp);
  step = std::max(step, layer * m * fullest / static_cast<double>(copies));
  return Seconds(step * kBelowRounding);
}

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
  const bool in_turns = schedule == ScheduleKind::kGpipe || schedule == ScheduleKind::k1f1b ||
                        schedule == ScheduleKind::kZbH1 || schedule == ScheduleKind::kZbH2 ||
                        schedule == ScheduleKind::kInterleaved;
  const double first = in_turns ? state_of(shares.first) : 0,
               last = in_turns && pp > 1 ? state_of(shares.last) : 0;
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
  out.peak = Bytes(std::max(states + outside, std::max(0.0, dealt) + common) * kBelowRounding);
}

PlanFloor Floors::of(const Job& job, const Network& network, ChunkMemo& memo, const FloorScope& scope) {
  const ShapeFloor& shape = shapes_.of(job, network, memo);
  PlanFloor out;
  out.step = least_step(job, network, shape, scope.most_layers);
  weigh(job, shape, scope, out);
  return out;
}

}  // namespace foretrain
