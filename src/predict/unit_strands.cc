#include "predict/unit_strands.h"

namespace foretrain {
namespace {

Strands strands_of(const LeastPass& pass, const Network& network, bool slows) {
  const PassLeast& least = pass.least;
  double shards = 0, stops = 0;
  Strands rows;
  for (const ShardTask& task : pass.shards) {
    const double seconds = network.cost(task.collective).seconds.value * task.times;
    shards += seconds;
    (task.stops ? stops : task.gather ? rows.first_gather : rows.last_scatter) += seconds;
  }
  const double work = least.work.value + stops;
  rows.of = {work, least.exchanges.value, shards, 0};
  if (!slows) return rows;
  const SlowDown slow = beside_collective(network.beside_scale());
  rows.of[2] += least.operators.value * operators_slow(slow);
  rows.of[3] = work + (shards - stops - (least.work - least.operators).value) * hidden_slows(slow);
  return rows;
}

}  // namespace

UnitStrands strands_of(const LeastUnit& unit, const Network& network, bool slows) {
  const PassLeast &f = unit.forward.least, &b = unit.backward.least;
  return {strands_of(unit.forward, network, slows),
          strands_of(unit.backward, network, slows),
          {0, (f.clocked + b.clocked).value, f.fixed_joules + b.fixed_joules,
           f.clocked_joules + b.clocked_joules}};
}

}  // namespace foretrain
