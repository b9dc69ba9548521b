#include "samples/kernel_family.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

TEST_CASE("the operator says what a kernel is for, whatever library it comes from") {
  CHECK(kernel_family("cutlass_80_simt_sgemm_128x64", "aten::mm") == KernelFamily::kMatmul);
  CHECK(kernel_family("void at::native::vectorized_elementwise_kernel<4>", "aten::native_layer_norm") ==
        KernelFamily::kNorm);
  CHECK(kernel_family("sm90_xmma_gemm_bf16", "aten::bmm") == KernelFamily::kAttention);
}

TEST_CASE("a kernel's own name counts where no operator is known") {
  CHECK(kernel_family("Cijk_Ailk_Bljk_BBS_BH", "") == KernelFamily::kMatmul);
  CHECK(kernel_family("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "") == KernelFamily::kExchange);
  CHECK(kernel_family("void flash_bwd_kernel<>", "") == KernelFamily::kAttention);
  CHECK(kernel_family("multi_tensor_apply_kernel", "Optimizer.step#AdamW.step") == KernelFamily::kOptimizer);
  CHECK(kernel_family("my_own_kernel", "") == KernelFamily::kOther);
}

TEST_CASE("every kind of operator has a family, and none of them is unknown") {
  for (int kind = 0; kind < kOperatorKindCount; ++kind) {
    const KernelFamily family = kernel_family(static_cast<OperatorKind>(kind));
    CHECK(family != KernelFamily::kOther);
    CHECK(family != KernelFamily::kExchange);
  }
  CHECK(kernel_family(OperatorKind::kCrossEntropy) == KernelFamily::kLoss);
}

}  // namespace
}  // namespace foretrain
