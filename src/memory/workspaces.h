// What libraries' products work in, kept among torch's tensors from the first product to the end of the run.
//
//   torch   a workspace for each pair of a handle and a stream that it multiplies with: one for the thread that runs
//           the forward, one for autograd's. 32 MiB on Hopper and Blackwell, 8 MiB and 128 KiB on NVIDIA's others,
//           128 MiB on MI300 and MI350, unless CUBLAS_WORKSPACE_CONFIG says otherwise (ATen/cuda/CublasHandlePool.cpp,
//           parseChosenWorkspaceSize)
//   Transformer Engine   one for all its products, and one for each of four streams of grouped ones: 32 MiB on
//           Hopper and later and on MI300, 64 on MI350, else 4 (pytorch/cpp_extensions/gemm.py of NVIDIA's and of ROCm's,
//           get_cublas_workspace_size_bytes)
#pragma once

#include "base/units.h"
#include "spec/gpu.h"
#include "spec/stack.h"

namespace foretrain {

Bytes workspace_bytes(const Stack& stack, const Gpu& gpu, bool has_experts);

}  // namespace foretrain
