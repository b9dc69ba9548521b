// What one rank holds for the whole run, in bytes.
//
//   weights    elements * bytes of the format they are kept in, divided by the shards of ZeRO 3
//   gradients  elements * bytes of the format they are accumulated in, divided from ZeRO 2 on
//   optimizer  elements * (master copy + moments), divided from ZeRO 1 on
//   buffers    ZeRO 0 of several replicas: copies of the gradients in buckets, where a stack has them
// A rank with n elements, weights of w and gradients of g bytes, a master copy of c (4, or 0 where there is
// none or the weights are it) and moments of s bytes holds, over d shards,
//   ZeRO 0  n (w + g + c + s)        ZeRO 1  n (w + g + (c + s) / d)
//   ZeRO 2  n (w + (g + c + s) / d)  ZeRO 3  n (w + g + c + s) / d
// (Rajbhandari et al. 2020, arXiv 1910.02054, section 5). Recipes: bf16 with an fp32 master copy and fp32
// gradients w = 2, g = 4, c = 4; fp16 with a loss scaler the same, or g = 2; pure bf16 w = g = 2, c = 0;
// weights kept in fp32 and cast for use w = 4, c = 0. Moments: AdamW 8, in bf16 4, in eight bits 2 (1 +
// 4/256); Muon 4 for the blocks' matrices, 8 for the rest. In the optimizer's step, when passes hold nothing,
// there are besides: fp32 copies of narrower gradients, the iterates of Muon's largest matrix, and what ZeRO
// 1 puts the updated weights together in.
//
// Where adapters alone are trained, n counts these, and weights hold what lies frozen beside them too, divided
// by the shards of ZeRO 3: two bytes each, or those of quantised products (quantised_bytes, spec/adapters.h).
// States that a CPU updates are not here but in the host's memory, from ZeRO 2 on with the gradients.
#pragma once

#include <algorithm>

#include "job/job.h"
#include "workload/parameter_share.h"

namespace foretrain {

struct StateBytes {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes buffers = Bytes(0);
  Bytes step_copy = Bytes(0);      // in the update
  Bytes gather_copies = Bytes(0);  // after it, while weights are put together
  Bytes gather_block = Bytes(0);   // of these the largest in one piece
  Bytes gather_pieces = Bytes(0);  // and each of the others
  Bytes paged = Bytes(0);          // states in unified memory, which leave the GPU where it is short
  Bytes host = Bytes(0);           // states in the host's memory
  Bytes workspaces = Bytes(0);     // of products (workspaces.h)
  Bytes loading = Bytes(0);  // on the GPU before the first step, while weights that stay frozen are loaded

  Bytes total() const { return weights + gradients + optimizer + buffers + workspaces; }
  Bytes in_step() const { return std::max(step_copy, gather_copies); }  // above the total

  bool operator==(const StateBytes&) const = default;
};

StateBytes state_bytes(const ParameterShare& share, const Stack& stack, const Job& job);

}  // namespace foretrain
