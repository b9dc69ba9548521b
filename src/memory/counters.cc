#include "memory/counters.h"

#include <algorithm>

namespace foretrain {

std::int64_t communicators(const Mesh& mesh) {
  return (mesh.tp > 1 ? 1 : 0) + (mesh.data_ranks() > 1 ? 1 : 0) + (mesh.pp > 1 ? 1 : 0) +
         (mesh.gpus() > 1 ? 1 : 0) + (mesh.ep > 1 ? 2 : 0) + (mesh.cp > 1 ? 1 : 0) +
         (mesh.cp_a2a > 1 ? 1 : 0);
}

Bytes outside_torch(const Mesh& mesh) {
  return gib(kContextGib + kCommunicatorGib * static_cast<double>(communicators(mesh)));
}

MemoryCounters memory_counters(const StateBytes& states, const PassesPeak& passes, Bytes largest_gradient,
                               const Stack& stack, std::int64_t micro_batches, Bytes outside_torch) {
  const auto at_peak = [&](Bytes in_passes) {
    // Lazy gradients appear layer by layer while activations go: the larger of the two is the peak.
    return stack.states.lazy_gradients && micro_batches == 1
               ? states.total() - states.gradients + std::max(states.gradients, in_passes)
               : states.total() + in_passes;
  };
  const auto unless_served = [&](Bytes block, Bytes all) {
    return block > passes.largest_block ? all : Bytes(0);
  };

  MemoryCounters counters;
  counters.allocated = std::max(at_peak(passes.bytes), states.total() + states.in_step());
  const Bytes cached = passes.bytes + (passes.bytes - passes.gradients) * kFragmentation;
  const Bytes kept = passes.in_graphs > Bytes(0) ? cached * (passes.in_graphs / passes.bytes) : Bytes(0);
  const Bytes step = at_peak(kept) + states.in_step();
  Bytes beside = unless_served(states.gather_block, states.gather_block) +
                 unless_served(states.gather_pieces, states.gather_copies - states.gather_block);
  if (stack.gradients.autograd_copies) beside += unless_served(largest_gradient, largest_gradient);
  counters.reserved = std::max(at_peak(cached) + beside, step);
  counters.needed = std::max(at_peak(cached), step) + outside_torch;
  if (states.loading > Bytes(0)) counters.needed = std::max(counters.needed, states.loading + outside_torch);
  counters.total = counters.reserved + outside_torch;
  return counters;
}

}  // namespace foretrain
