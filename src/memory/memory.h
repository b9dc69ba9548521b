// What passes keep and use, in bytes, on top of a rank's states (states.h).
//
//   held       what a forward keeps for its backward: the sum of what its tasks declare, once for each
//              micro-batch in flight (Korthikanti et al. 2022, arXiv 2205.05198, section 4, task by task)
//   extra      the most that a pass uses above that, found by walking through its tasks: what an operator
//              makes and takes, a layer's tensors while they are made again, a rank's buffers, the weights
//              that ZeRO 3 has gathered, the gradients of a unit before they are scattered
// CUDA graphs of parts of a layer take more: the buffers that they read from, declared by the copies into them, and a
// pool of their own to work in, which nothing else may use (Megatron-LM's note on DeepSeek-V3, "One limitation of CUDA
// Graphs is that it occupies additional memory"; all graphs share that pool, and what the graphs are themselves is
// small: kGraphNodeBytes a kernel, outside of torch).
// A backward lets go of its layers' tensors as it goes, and may leave gradients behind, so its peak is not
// where its largest operator is, but where the sum is largest: at the first or the last of equal layers.
#pragma once

#include <array>

#include "memory/states.h"
#include "workload/workload.h"

namespace foretrain {

// On our H200, 100 graphs of 100 kernels each take 33.6 MB of the device.
inline constexpr double kGraphNodeBytes = 3355;

struct PassBytes {
  Bytes held;            // kept by a forward until its backward ends
  Bytes forward_extra;   // most that a forward uses above what it keeps
  Bytes backward_extra;  // most that a backward uses above what its forward kept
  // The same with the gradients that the only backward of a step has made by then; 0 where they are there from
  // the start. Walks through each layer too: experts' gradients outweigh what their rows keep.
  Bytes backward_growth;
  Bytes backward_end;  // left behind by a backward until it is over
  // Where the backward is split:
  Bytes held_for_weight;  // kept by a backward to inputs until that to weights ends
  Bytes weight_extra;     // most that the latter uses
  // What `held` and the extras are made of:
  std::array<Bytes, kOperatorKindCount> saved{};  // by the operator that declares it
  Bytes gathered;                                 // weights and gradients of units, in every extra
  Bytes shared_buffers;                           // that sp gathers into, in every extra
  Bytes largest_block;                            // the largest tensor
  Bytes offloaded;                                // by a forward, to the host's memory
  std::int64_t graph_nodes = 0;                   // kernels and collectives that CUDA graphs hold, both ways
  Bytes captured;                                 // of `held`, by what is part of a graph
  Bytes graph_pool;                               // what graphs work in: the most of any operator in one
};
PassBytes pass_bytes(const ChunkWork& work);

}  // namespace foretrain
