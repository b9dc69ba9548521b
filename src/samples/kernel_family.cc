#include "samples/kernel_family.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace foretrain {
namespace {

struct Mark {
  std::string_view part;  // of a name, in small letters
  KernelFamily family;
};

// In order: the first that is found counts. Names of optimizers and losses hold those of what they are made of.
constexpr Mark kMarks[] = {
    {"nccl", KernelFamily::kExchange},
    {"rccl", KernelFamily::kExchange},
    {"allreduce", KernelFamily::kExchange},
    {"all_reduce", KernelFamily::kExchange},
    {"allgather", KernelFamily::kExchange},
    {"all_gather", KernelFamily::kExchange},
    {"reduce_scatter", KernelFamily::kExchange},
    {"deep_ep", KernelFamily::kExchange},
    {"adam", KernelFamily::kOptimizer},
    {"multi_tensor_apply", KernelFamily::kOptimizer},
    {"multitensor", KernelFamily::kOptimizer},
    {"_foreach_", KernelFamily::kOptimizer},
    {"optimizer.", KernelFamily::kOptimizer},
    {"clip_grad", KernelFamily::kOptimizer},
    {"cross_entropy", KernelFamily::kLoss},
    {"crossentropy", KernelFamily::kLoss},
    {"nll_loss", KernelFamily::kLoss},
    {"log_softmax", KernelFamily::kLoss},
    {"logsoftmax", KernelFamily::kLoss},
    {"embedding", KernelFamily::kLoss},
    {"attention", KernelFamily::kAttention},
    {"flash", KernelFamily::kAttention},
    {"fmha", KernelFamily::kAttention},
    {"attn", KernelFamily::kAttention},
    {"softmax", KernelFamily::kAttention},
    {"bmm", KernelFamily::kAttention},
    {"layer_norm", KernelFamily::kNorm},
    {"layernorm", KernelFamily::kNorm},
    {"rms_norm", KernelFamily::kNorm},
    {"rmsnorm", KernelFamily::kNorm},
    {"ln_fwd", KernelFamily::kNorm},
    {"ln_bwd", KernelFamily::kNorm},
    {"aten::mm", KernelFamily::kMatmul},
    {"addmm", KernelFamily::kMatmul},
    {"aten::matmul", KernelFamily::kMatmul},
    {"aten::linear", KernelFamily::kMatmul},
    {"scaled_mm", KernelFamily::kMatmul},
    {"grouped_mm", KernelFamily::kMatmul},
    {"gemm", KernelFamily::kMatmul},
    {"cublas", KernelFamily::kMatmul},
    {"nvjet", KernelFamily::kMatmul},
    {"cijk_", KernelFamily::kMatmul},  // rocBLAS's Tensile
    {"xmma", KernelFamily::kMatmul},
    {"elementwise", KernelFamily::kElementwise},
    {"triton_", KernelFamily::kElementwise},
    {"dropout", KernelFamily::kElementwise},
    {"gelu", KernelFamily::kElementwise},
    {"silu", KernelFamily::kElementwise},
    {"swiglu", KernelFamily::kElementwise},
    {"rope", KernelFamily::kElementwise},
    {"rotary", KernelFamily::kElementwise},
    {"aten::add", KernelFamily::kElementwise},
    {"aten::mul", KernelFamily::kElementwise},
    {"aten::sum", KernelFamily::kElementwise},
    {"aten::cat", KernelFamily::kElementwise},
    {"copy", KernelFamily::kElementwise},
    {"cast", KernelFamily::kElementwise},
    {"quant", KernelFamily::kElementwise},
    {"permute", KernelFamily::kElementwise},
};

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

// The operator says what is meant, so that aten::mm counts whatever library's kernel it picked; the kernel's name speaks
// where no operator is known or none of its words.
KernelFamily kernel_family(std::string_view kernel, std::string_view op) {
  for (const std::string_view name : {op, kernel}) {
    const std::string words = in_small_letters(name);
    for (const Mark& mark : kMarks)
      if (words.find(mark.part) != std::string::npos) return mark.family;
  }
  return KernelFamily::kOther;
}

KernelFamily kernel_family(OperatorKind kind) {
  if (is_attention(kind)) return KernelFamily::kAttention;
  if (is_optimizer(kind)) return KernelFamily::kOptimizer;
  switch (kind) {
    case OperatorKind::kLinear:
    case OperatorKind::kGroupedProduct:
      return KernelFamily::kMatmul;
    case OperatorKind::kBatchedProduct:
    case OperatorKind::kSoftmax:
    case OperatorKind::kMaskedFill:
      return KernelFamily::kAttention;
    case OperatorKind::kLayernorm:
    case OperatorKind::kRmsnorm:
      return KernelFamily::kNorm;
    case OperatorKind::kEmbedding:
    case OperatorKind::kCrossEntropy:
      return KernelFamily::kLoss;
    default:
      return KernelFamily::kElementwise;
  }
}

}  // namespace foretrain
