// The optimizer's step as a pass.
#pragma once

#include <cstdint>

#include "job/job.h"
#include "workload/muon.h"
#include "workload/pass.h"

namespace foretrain {

// The optimizer's step of a rank that holds `elements` gradients and updates `owned` of them (fewer under
// ZeRO), in `tensors` tensors. Gradients are zeroed all; everything else is done to what it owns. Muon iterates on
// matrices besides (muon.h). A rank without weights, as of an empty stage, launches nothing.
struct UpdateFormat {
  Dtype precision = Dtype::kBf16;
  Dtype grad_dtype = Dtype::kFp32;
  std::int64_t moment_width = 4;  // see moment_bytes(), operators/optimizer.h
  bool master = true;             // an fp32 copy of the weights, or weights that are kept in fp32
  bool by_cpu = false;            // the update itself is the host's
  // Where all passes are one CUDA graph: the micro-batches that the host loads before it launches that, and whether
  // the update is of it too.
  std::int64_t loaded = 0;
  bool captured = false;
  // Ranks of whose shards each tensor is put together by a copy apiece; 0: it lies where it is gathered.
  std::int64_t copied_shards = 0;
  LowPrecision low;  // copies of the blocks' matrices, which are made again after it

  bool operator==(const UpdateFormat&) const = default;
};
struct NarrowMatrices {
  std::int64_t elements = 0;
  std::int64_t owned = 0;

  bool operator==(const NarrowMatrices&) const = default;
};
UpdateFormat update_format(const Job& job, const Stack& stack);
// A library's casts bring its transpose along; otherwise it is PyTorch's copy.
Impl transpose_impl(const Stack& stack);
// `matrices`: elements of the blocks' matrices that it holds, which products take in fewer bits, and those of them
// that it updates. `iterated`: those that Muon makes orthogonal on this rank.
Pass build_optimizer(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                     std::int64_t owned, std::int64_t tensors, const NarrowMatrices& matrices = {},
                     const MatrixKinds& iterated = {});

}  // namespace foretrain
