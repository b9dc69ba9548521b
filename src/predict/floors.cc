#include "predict/floors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "predict/unit_strands.h"
#include "timeline/schedule.h"

namespace foretrain {
namespace {

// Of so many layers, at least so many are among the first N of their chunk.
double fewest_again(std::int64_t layers, std::int64_t n, std::int64_t most_layers) {
  const std::int64_t most = std::clamp<std::int64_t>(most_layers, 1, layers);
  const std::int64_t full = layers / most;
  return static_cast<double>(full * std::min(n, most) + std::min(n, layers - full * most));
}

// s / (1 - (1 - s/m)^p): how long a step is at least, of what all ranks are busy for one micro-batch.
double filled(double share, double m, double p) {
  if (m <= share || p == 1) return std::max(m / p, 1.0);
  return share / -std::expm1(p * std::log1p(-share / m));
}

// The governor's clock is found to a millionth.
constexpr double kBelowClock = 1 - 1e-5;

}  // namespace

// All layers and ends of the model, by kind, and those that are run again besides.
struct Floors::Units {
  std::array<UnitStrands, 2 * kMaxBlockKinds> plain, again;
  std::array<double, 2 * kMaxBlockKinds> count{};
  std::size_t kinds = 0;
  std::array<UnitStrands, 2> ends;
  std::size_t end_count = 0;
  // What any chunk waits for at least, of shards.
  double gather = std::numeric_limits<double>::infinity(), scatter = gather;
  SlowDown slow;             // of what is hidden and what hides it
  bool some = false;         // layers are run again, not all of them
  double fewest_again = 0;   // then so many, at least
  std::size_t f = 0, b = 0;  // the longest rows of all passes

  void find_rows() {
    Strands forward, backward;
    for (std::size_t k = 0; k < kinds; ++k) {
      forward.add(plain[k].forward, count[k]);
      backward.add(plain[k].backward, count[k]);
    }
    for (std::size_t i = 0; some && i < backward.of.size(); ++i) {
      double more = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < kinds; ++k)
        more = std::min(more, again[k].backward.of[i] - plain[k].backward.of[i]);
      backward.of[i] += std::max(0.0, more) * fewest_again;
    }
    for (std::size_t e = 0; e < end_count; ++e) {
      forward.add(ends[e].forward, 1);
      backward.add(ends[e].backward, 1);
    }
    f = forward.longest();
    b = backward.longest();
  }

  // A chunk begins with a gather that nothing hides, and ends so with a scatter; whichever unit is its first or last.
  void wait_for(const UnitStrands& unit) {
    gather = std::min(gather, unit.forward.first_gather);
    scatter = std::min(scatter, unit.backward.last_scatter);
  }
  UnitLoad waits(std::size_t of_forward, std::size_t of_backward) const {
    return {gather * waiting_share(of_forward, slow) + scatter * waiting_share(of_backward, slow), 0, 0, 0};
  }
  // By the first of the rows. Which layers are run again does not matter much here.
  UnitLoad all() const {
    UnitLoad sum;
    for (std::size_t k = 0; k < kinds; ++k) {
      sum.add(plain[k].by_rows(0, 0), count[k] - (k == 0 ? fewest_again : 0));
      if (some && k == 0) sum.add(again[k].by_rows(0, 0), fewest_again);
    }
    for (std::size_t e = 0; e < end_count; ++e) sum.add(ends[e].by_rows(0, 0), 1);
    return sum;
  }
};

Floors::Units Floors::units_of(const Job& job, const Network& network, const ShapeFloor& shape,
                               std::int64_t most_layers) const {
  const Choices& choices = job.choices;
  const bool full = choices.recompute == Recompute::kFull;
  Units units;
  units.some = full && choices.recompute_layers > 0;
  units.kinds = shape.layers.size();
  units.slow = beside_collective(network.beside_scale());
  // Exchanges of tokens may hold so few SMs that whatever runs beside them is hardly slowed down.
  const bool slows = job.mesh.ep == 1;
  const auto way = [&](const ShapeFloor::Ways& ways) {
    return strands_of(full && !units.some ? ways.again : ways.plain, network, slows);
  };
  for (std::size_t k = 0; k < units.kinds; ++k) {
    units.plain[k] = way(shape.layers[k]);
    if (units.some) units.again[k] = strands_of(shape.layers[k].again, network, slows);
    units.count[k] = static_cast<double>(shape.layers[k].count);
  }
  if (units.some)
    units.fewest_again = fewest_again(setting_.model.layers(), choices.recompute_layers, most_layers);
  if (job.pipeline.pieces() == 1) {
    units.ends[units.end_count++] = way(shape.both);
  } else {
    units.ends[units.end_count++] = way(shape.first);
    units.ends[units.end_count++] = way(shape.last);
  }
  units.find_rows();
  for (std::size_t k = 0; k < units.kinds; ++k) units.wait_for(units.plain[k]);
  for (const ShapeFloor::Ways* end : {&shape.first, &shape.last}) units.wait_for(way(*end));
  return units;
}

Seconds Floors::least_step(const Job& job, const Units& units, const PowerModel* power,
                           std::int64_t most_layers) {
  const ScheduleKind schedule = job.pipeline.schedule;
  const double m = static_cast<double>(job.micro_batches), p = static_cast<double>(job.mesh.pp);
  const std::int64_t copies = runs_both_ways(schedule) ? 2 : 1, pp = job.mesh.pp;
  // Some stage has as many layers as an even split gives. Of dualpipe's two copies of the model a stage runs half
  // the micro-batches each.
  const auto fullest =
      static_cast<double>((copies * setting_.model.layers() + pp - 1) / pp) * m / static_cast<double>(copies);
  const double way = runs_in_turns(schedule) ? filled(1, m, p) : m / p;
  // At least so many chunks have layers.
  const std::int64_t layers = setting_.model.layers(),
                     most = std::clamp<std::int64_t>(most_layers, 1, layers);
  const double chunks =
      static_cast<double>(std::min((layers + most - 1) / most, job.pipeline.model_chunks()));
  // At the reference clock, then at what the governor leaves of it.
  take_parts(units, chunks, nullptr, at_reference_);
  take_forwards(units);
  double step = std::max(at_reference_.all * way, at_reference_.least_layer * fullest);
  if (splits_backward(schedule) && copies == 1 && job.pipeline.chunks_per_stage == 1)
    step = std::max(step, split_step(units, m, p, chunks));
  at_clock_ = {};
  if (power == nullptr) return Seconds(step * kBelowRounding);
  const double fill = (p - 1) / (static_cast<double>(job.pipeline.chunks_per_stage) * m);
  const double waited = runs_in_turns(schedule) ? 1 / (1 + (p - 1) / m) : 1;
  const double slowest = slowest_card(static_cast<double>(job.mesh.gpus()));
  const UnitLoad all = units.all();
  const auto slow_down = [&](double idle) {
    const ClockFloor clock(setting_.cluster.gpu, *power, all, fill, idle, waited, slowest);
    take_parts(units, chunks, &clock, at_clock_);
    step = std::max(step, at_clock_.all * way / (1 + way * p * at_clock_.less / m));
    step = std::max(step, at_clock_.least_layer * fullest / (1 + at_clock_.less));
  };
  // As if all ranks were as busy; then with what they wait for at least in such a step.
  slow_down(fill);
  slow_down(std::max(fill, (1 + fill) * step / (at_reference_.all * m / p) - 1));
  return Seconds(step * kBelowRounding);
}

// At a clock, by the first of the rows: what is hidden behind operators may be hidden behind launches that the GPU waits
// for, and these are gone where work takes longer (at_clock.cc).
void Floors::take_parts(const Units& units, double chunks, const ClockFloor* clock, Parts& out) {
  const std::size_t f = clock != nullptr ? 0 : units.f, b = clock != nullptr ? 0 : units.b;
  const auto value = [&](const UnitLoad& load) {
    return clock != nullptr ? clock->part(load) * kBelowClock : load.seconds;
  };
  const auto part = [&](const UnitStrands& unit) { return value(unit.by_rows(f, b)); };
  out.less = clock != nullptr ? clock->less() : 0;
  out.all = 0;
  out.more = units.some ? std::numeric_limits<double>::infinity() : 0;
  out.least_layer = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < units.kinds; ++k) {
    double& layer = out.layers[k] = part(units.plain[k]);
    if (units.some) {
      const double again = part(units.again[k]);
      layer = std::min(layer, again);
      out.more = std::min(out.more, again - layer);
    }
    out.least_layer = std::min(out.least_layer, layer);
    out.all += layer * units.count[k];
  }
  out.all += out.more * units.fewest_again;
  for (std::size_t e = 0; e < units.end_count; ++e) out.all += out.ends[e] = part(units.ends[e]);
  out.end_count = units.end_count;
  out.waits = value(units.waits(f, b));
  out.all += out.waits * chunks;
}

void Floors::take_forwards(const Units& units) {
  forwards_ = {};
  for (std::size_t k = 0; k < units.kinds; ++k) forwards_.layers[k] = units.plain[k].forward.of[units.f];
  for (std::size_t e = 0; e < units.end_count; ++e) forwards_.ends[e] = units.ends[e].forward.of[units.f];
  forwards_.end_count = units.end_count;
}

// Where backwards are split only forwards come first: a share of each layer, and of any of them at least so much.
double Floors::split_step(const Units& units, double m, double p, double chunks) const {
  double share = 1, work = at_reference_.all - at_reference_.waits * chunks;
  const auto look_at = [&](const UnitStrands& unit) {
    const UnitLoad load = unit.by_rows(units.f, units.b);
    if (load.seconds > 0) share = std::min(share, unit.forward.of[units.f] / load.seconds);
  };
  for (std::size_t k = 0; k < units.kinds; ++k) {
    look_at(units.plain[k]);
    if (units.some) look_at(units.again[k]);
  }
  for (std::size_t e = 0; e < units.end_count; ++e) work -= at_reference_.ends[e];
  return share > 0 ? work * filled(share, m, p) : 0;
}

PlanFloor Floors::of(const Job& job, const Network& network, ChunkMemo& memo, const FloorScope& scope) {
  const ShapeFloor& shape = shapes_.of(job, network, memo);
  PlanFloor out;
  ++part_;
  kinds_.clear();
  for (const ShapeFloor::Layers& layers : shape.layers) kinds_.push_back({layers.kind, layers.left});
  out.step =
      least_step(job, units_of(job, network, shape, scope.most_layers), memo.power(), scope.most_layers);
  weigh(job, shape, scope, out);
  return out;
}

}  // namespace foretrain
