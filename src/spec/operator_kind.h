// The closed vocabulary of operators and of their implementations. A stack file uses these words, a sample
// names them, a cost model prices them.
#pragma once

#include <array>
#include <string_view>

namespace foretrain {

// New kinds go last: which shapes judge a fit follows from a hash of a kind's number (fit/operator_fit.h), so
// that a profile fitted again stays what it was.
enum class OperatorKind : unsigned char {
  kLinear,          // one weight matrix
  kBatchedProduct,  // attention scores and values, unfused
  kAttention,       // flash, causal
  kSoftmax,         // scale, causal mask and softmax in one kernel
  kLayernorm,
  kRmsnorm,
  kRope,
  kGelu,
  kSwiglu,
  kGeglu,
  kSquaredRelu,
  kAdd,
  kBias,
  kBiasGelu,
  kBiasDropoutAdd,
  kDropout,
  kCopy,
  kMaskedFill,  // a mask of one byte a score, unfused attention
  kEmbedding,
  kCrossEntropy,
  kAccumulate,  // a weight gradient added to what earlier micro-batches left
  kAdamw,       // the optimizer's update
  kGradNorm,
  kScaleGrads,   // unscale or clip
  kCastGrads,    // half precision gradients into a full precision copy
  kCastWeights,  // master weights into the weights that are used
  kZeroGrads,
  kGroupedProduct,   // m rows in all, each through the weights of one expert
  kPermute,          // each token's row to its top_k places, in order of experts
  kUnpermute,        // a token's top_k rows, weighed and summed
  kRoute,            // from the router's logits to weights, counts and the order
  kLatentAttention,  // flash, causal, values narrower than queries and keys
  kMaskRows,         // rows that are nobody's cleared, in a copy
  kDequantise,       // weights of four or eight bits, written out for a product
  kQuantise,         // a tensor into the scaled format of a product, as it lies or also transposed
  kAmax,             // the largest magnitude of a tensor
  kTranspose,        // a scaled copy, transposed
};
inline constexpr int kOperatorKindCount = 37;
inline constexpr std::array<std::string_view, kOperatorKindCount> kOperatorKindNames = {"linear",
                                                                                        "batched_product",
                                                                                        "attention",
                                                                                        "softmax",
                                                                                        "layernorm",
                                                                                        "rmsnorm",
                                                                                        "rope",
                                                                                        "gelu",
                                                                                        "swiglu",
                                                                                        "geglu",
                                                                                        "squared_relu",
                                                                                        "add",
                                                                                        "bias",
                                                                                        "bias_gelu",
                                                                                        "bias_dropout_add",
                                                                                        "dropout",
                                                                                        "copy",
                                                                                        "masked_fill",
                                                                                        "embedding",
                                                                                        "cross_entropy",
                                                                                        "accumulate",
                                                                                        "adamw",
                                                                                        "grad_norm",
                                                                                        "scale_grads",
                                                                                        "cast_grads",
                                                                                        "cast_weights",
                                                                                        "zero_grads",
                                                                                        "grouped_product",
                                                                                        "permute",
                                                                                        "unpermute",
                                                                                        "route",
                                                                                        "latent_attention",
                                                                                        "mask_rows",
                                                                                        "dequantise",
                                                                                        "quantise",
                                                                                        "amax",
                                                                                        "transpose"};
static_assert(kOperatorKindNames.back() == "transpose");  // one name a kind
constexpr std::string_view name(OperatorKind kind) { return kOperatorKindNames[static_cast<int>(kind)]; }

// Run once a step, over parameters.
constexpr bool is_optimizer(OperatorKind kind) {
  return kind >= OperatorKind::kAdamw && kind <= OperatorKind::kZeroGrads;
}

// What mixtures of experts add.
constexpr bool is_of_experts(OperatorKind kind) {
  return kind >= OperatorKind::kGroupedProduct && kind <= OperatorKind::kRoute;
}

// What operands of eight bits and fewer add: forward alone, whatever pass they serve.
constexpr bool is_of_formats(OperatorKind kind) {
  return kind >= OperatorKind::kQuantise && kind <= OperatorKind::kTranspose;
}

constexpr bool is_attention(OperatorKind kind) {
  return kind == OperatorKind::kAttention || kind == OperatorKind::kLatentAttention;
}

enum class Impl : unsigned char {
  kAten,       // one library kernel
  kFused,      // several operations in one hand-written or compiled kernel
  kEager,      // a chain of framework kernels, intermediate results in memory
  kFlash,      // FlashAttention 2: tiled attention by mma.sync, on later parts too
  kSdpa,       // the best tiled attention that the framework finds: cuDNN's on Hopper and later
  kFusedBf16,  // adamw: bf16 weights, gradients and moments, no master copy
  kFp32Scale,  // rmsnorm: library kernels whose fp32 scale makes the product, and what follows, fp32
  kZeroGrad,   // a product's backward timed on gradients of zeros: they cost less power, so it runs faster
  kTriton,     // tiled attention as FlashAttention 1, in Triton
  kTanh,       // gelu: one library kernel of the approximation by tanh, faster than that of erf
  kHalves,     // swiglu and geglu: an eager chain on the halves of one tensor, whose rows lie apart
  kAtomic,     // permute and unpermute: rows taken by index, and added by index where they belong
  kMasked,     // tiled attention as kSdpa that is given its mask as a tensor: no block can be skipped
  kCudnn,      // tiled attention of cuDNN 9, as Transformer Engine takes it on Hopper
  kFlash3,     // FlashAttention 3
  kFlashFirst,  // FlashAttention 2 wherever cuDNN's is not asked for by name: up to Hopper; cuDNN's on Blackwell
  kTe,  // rope and cross_entropy: as Transformer Engine's kernels move them, an element a load, the logits twice
};
inline constexpr std::array<std::string_view, 17> kImplNames = {
    "aten", "fused",  "eager",  "flash",  "sdpa",  "fused-bf16", "fp32-scale",  "zero-grad", "triton",
    "tanh", "halves", "atomic", "masked", "cudnn", "flash3",     "flash-first", "te"};
static_assert(kImplNames.back() == "te");  // one name an implementation
// A word that is known too: what made `flash` has a number.
constexpr std::string_view plain_impl(std::string_view word) { return word == "flash2" ? "flash" : word; }
constexpr std::string_view name(Impl impl) { return kImplNames[static_cast<int>(impl)]; }

// Attention alone is tiled, and tiled alone; five others are of one operator each. PyTorch has no one kernel
// that moves rows to their experts or back, or routes them.
constexpr bool has_impl(OperatorKind kind, Impl impl) {
  switch (impl) {
    case Impl::kFlash:
    case Impl::kSdpa:
    case Impl::kTriton:
    case Impl::kCudnn:
    case Impl::kFlash3:
    case Impl::kFlashFirst:
      return is_attention(kind);
    case Impl::kMasked:
      return kind == OperatorKind::kAttention;
    case Impl::kFusedBf16:
      return kind == OperatorKind::kAdamw;
    case Impl::kFp32Scale:
      return kind == OperatorKind::kRmsnorm || kind == OperatorKind::kUnpermute;
    case Impl::kZeroGrad:
      return kind == OperatorKind::kLinear;
    case Impl::kTanh:
      return kind == OperatorKind::kGelu;
    case Impl::kHalves:
      return kind == OperatorKind::kSwiglu || kind == OperatorKind::kGeglu;
    case Impl::kTe:
      return kind == OperatorKind::kRope || kind == OperatorKind::kCrossEntropy;
    case Impl::kAtomic:
      return kind == OperatorKind::kPermute || kind == OperatorKind::kUnpermute;
    case Impl::kAten:
      return !is_attention(kind) && (!is_of_experts(kind) || kind == OperatorKind::kGroupedProduct);
    default:
      return !is_attention(kind);
  }
}

// Which way an operator runs: forward, the whole backward, a product's backward to its input and to its
// weight apart, or the optimizer's step.
enum class PassKind : unsigned char { kForward, kBackward, kInput, kWeight, kStep };
inline constexpr std::array<std::string_view, 5> kPassNames = {"fwd", "bwd", "dgrad", "wgrad", "step"};
constexpr std::string_view name(PassKind pass) { return kPassNames[static_cast<int>(pass)]; }

}  // namespace foretrain
