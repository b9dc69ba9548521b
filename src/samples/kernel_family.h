// What a GPU does in a training step, in so few families that what a profiler saw (kernels by their names, beside the
// operator of the host that launched them) and what is predicted (kinds of operators) can be held against each other:
//
//   products   linear layers, experts' too       attention  scores, softmax and values, fused or not
//   norms      layer and RMS norms               pointwise  activations, residuals, rope, dropout, casts, copies
//   loss       embedding and cross-entropy       optimizer  the update, norms and casts of gradients
//   exchange   collectives
//
// A kernel that neither its own name nor its operator's tells is `other`, and is told as such.
#pragma once

#include <array>
#include <string_view>

#include "spec/operator_kind.h"

namespace foretrain {

enum class KernelFamily : unsigned char {
  kMatmul,
  kAttention,
  kNorm,
  kElementwise,
  kLoss,
  kOptimizer,
  kExchange,
  kOther,
};
inline constexpr int kKernelFamilyCount = 8;
inline constexpr std::array<std::string_view, kKernelFamilyCount> kKernelFamilyNames = {
    "products", "attention", "norms", "pointwise", "loss", "optimizer", "exchange", "other"};

// Of a kernel by its name and that of the operator around it ("" where it is not known), in any case of letters.
KernelFamily kernel_family(std::string_view kernel, std::string_view op);

KernelFamily kernel_family(OperatorKind kind);

}  // namespace foretrain
