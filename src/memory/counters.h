// From bytes in tensors to the counters that people read.
//
//   allocated   states, and what passes hold and use at their peak; or what the optimizer's step adds to the
//               states, where that is more
//   reserved    the segments of PyTorch's caching allocator. It asks CUDA for segments of 2 MiB (blocks up to
//               1 MiB), 20 MiB (up to 10 MiB) or the block rounded up to 2 MiB, serves later requests from
//               free blocks that are large enough, and never joins two segments. So what is asked for in
//               another part of the step in pieces larger than any block of the passes comes on top of their
//               peak: the whole weights that ZeRO 1 gathers, the gradient of an embedding. Within the passes
//               freed and wanted sizes do not match exactly: kFragmentation of what they hold.
//   total       nvidia-smi: with the CUDA context and its libraries, and NCCL's buffers, by communicator
// What must fit is less than `total`: before it gives up, the allocator returns every segment that is free,
// so blocks of the step need not be there beside those of the passes. States in unified memory need not fit, and
// no counter of torch's has them; what was there while weights were loaded must.
#pragma once

#include "memory/states.h"

namespace foretrain {

// Share of what passes hold and use: the best on the playbook's rows without tensor parallelism, though with
// one of three models left out it is 0.13, 0 or 0.07 (docs/memory.md).
inline constexpr double kFragmentation = 0.08;

// Beside torch: the context with the libraries' kernels, assumed, and NCCL's buffers a communicator, those of a ring of 22
// channels (docs/memory.md).
inline constexpr double kContextGib = 0.6;
inline constexpr double kCommunicatorGib = 0.2;

struct PassesPeak {
  Bytes bytes;          // held and used at the peak
  Bytes largest_block;  // in any of the passes
  Bytes gradients;      // of `bytes`, those that a step's only backward has made by then: they leave no holes
  Bytes in_graphs =
      Bytes(0);  // of `bytes`, held by CUDA graphs: nothing else can use it when passes are over
};

struct MemoryCounters {
  Bytes allocated;
  Bytes reserved;
  Bytes total;
  Bytes needed;  // what must fit

  bool operator==(const MemoryCounters&) const = default;
};

// Communicators of a rank: tensor, data, pipeline neighbours, the whole model's, experts', and those of context
// ranks, two where they have a hierarchy.
std::int64_t communicators(const Mesh& mesh);
Bytes outside_torch(const Mesh& mesh);  // context and communicators

// A stack that frees gradients after each step has none of them when its only backward begins.
MemoryCounters memory_counters(const StateBytes& states, const PassesPeak& passes, Bytes largest_gradient,
                               const Stack& stack, std::int64_t micro_batches, Bytes outside_torch);

}  // namespace foretrain
