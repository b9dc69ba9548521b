// What one rank holds, in bytes: states that stay for the whole run, and what passes keep and use.
//
//   weights    elements * bytes of the format they are used in, divided by the shards of ZeRO 3
//   gradients  elements * bytes of the format they are accumulated in, divided from ZeRO 2 on
//   optimizer  elements * (master copy + two moments), divided from ZeRO 1 on
//   units      under ZeRO 3 the weights gathered for a block and the next, and those of the ends; from ZeRO 2
//              on the whole gradients of one unit: part of what a pass uses
//   step copy  fp32 gradients of what the rank updates, while the optimizer casts narrower ones
//   held       what a forward keeps for its backward, once for each micro-batch in flight
// Rajbhandari et al. 2020 (arXiv 1910.02054) for the states; the saved tensors are declared by the stack.
#pragma once

#include "spec/stack.h"
#include "workload/workload.h"

namespace foretrain {

struct StateBytes {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes step_copy = Bytes(0);  // in the optimizer's step alone, when the passes hold nothing

  Bytes total() const { return weights + gradients + optimizer; }
};
StateBytes state_bytes(const ParameterShare& share, const Stack& stack, Dtype precision, Dtype grad_dtype,
                       int zero, std::int64_t shards);

struct PassBytes {
  Bytes held;            // kept by a forward until its backward ends
  Bytes forward_extra;   // most that a forward uses above what it keeps
  Bytes backward_extra;  // most that a backward uses, recomputed layers included
  // Where the backward is split:
  Bytes held_for_weight;  // kept by a backward to inputs until that to weights ends
  Bytes weight_extra;     // most that the latter uses
};
PassBytes pass_bytes(const ChunkWork& work);

// States and what passes hold at their peak, or the optimizer's copy where that is more. A stack that frees
// gradients after each step has none of them when the first backward begins.
Bytes allocated_bytes(const StateBytes& states, Bytes passes, const Stack& stack, std::int64_t micro_batches);

// Beside tensors: the CUDA context with its libraries, communication buffers, and the caching allocator's
// slack. Stated allowances, to be replaced by a model of each.
struct Allowance {
  Bytes context;         // as nvidia-smi counts, not in any torch counter
  double fragmentation;  // share of what passes hold and use: reserved, not allocated
};
Allowance allowance(bool several_gpus);

}  // namespace foretrain
