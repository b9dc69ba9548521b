// aiconfigurator's tables of operators (github.com/ai-dynamo/aiconfigurator, Apache-2.0): forward passes of
// inference libraries, each replayed nine times (three of them to warm up) with pauses between shapes: bursts, whose
// clock no power limit has lowered yet. Products in low precision were timed with the cast of their activations.
#include <array>

#include "operators/attention.h"
#include "operators/product.h"
#include "operators/quantise.h"
#include "samples/table_row.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMaxSide = 1'000'000'000, kMaxHeads = 100'000;
constexpr double kRuns = 9;  // of a loop: collector/helper.py, benchmark_with_power

Result<void> add_burst(TableRow& row, const std::string& gpu, const Operator& op, double us,
                       std::string_view framework) {
  if (kRuns * us * 1e-6 >= kSettlingSeconds) return row.reject("too long for a burst"), Result<void>();
  Sample sample;
  sample.op = op;
  sample.op.launches = usual_launches(op);
  sample.us = us;
  sample.loop_s = kRuns * us * 1e-6;
  sample.product_share = 1;
  sample.group = std::string(source_label(framework));
  return row.add(gpu, std::move(sample));
}

constexpr std::array<std::string_view, 9> kGemmNames = {"gpu", "dtype",  "m",         "n",      "k",
                                                        "us",  "kernel", "framework", "version"};
// TensorRT-LLM's fp8_block on Blackwell, where scales are powers of two that the tensor cores apply: mxfp8's kernels
// ("UE8M0 scale (MXFP8 style)", collector/trtllm/collect_gemm.py).
constexpr std::string_view kMicroscaled = "deepgemm";
// vLLM's fp8_block, the only products that ran outside a CUDA graph (collector/vllm/collect_gemm.py): some 180 us of
// the host's time each.
constexpr std::string_view kOneByOne = "DeepGemmFp8BlockScaledMMKernel";
Result<void> read_gemm(TableRow& row) {
  constexpr std::array<std::string_view, 4> kTypes = {"bfloat16", "fp8", "fp8_block", "nvfp4"};
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const std::size_t type, row.choice("dtype", kTypes));
  LinearSizes sizes;
  TRY_ASSIGN(sizes.m, row.whole("m", 1, kMaxSide));
  TRY_ASSIGN(sizes.n, row.whole("n", 1, kMaxSide));
  TRY_ASSIGN(sizes.k, row.whole("k", 1, kMaxSide));
  TRY_ASSIGN(const double us, row.number("us", kMaxTableUs));
  if (row.text("kernel") == kOneByOne) return row.reject("launched one by one"), Result<void>();
  constexpr std::array<Dtype, 4> kFormats = {Dtype::kBf16, Dtype::kFp8, Dtype::kFp8Block, Dtype::kNvfp4};
  const Dtype format = row.text("kernel") == kMicroscaled ? Dtype::kMxfp8 : kFormats[type];
  return add_burst(row, gpu, linear(sizes, {.dtype = format}), us, row.text("framework"));
}

// Whether queries, keys and values are all in bf16.
Result<bool> is_bf16(const TableRow& row, std::string_view dtype, std::string_view kv_dtype) {
  constexpr std::array<std::string_view, 2> kTypes = {"bfloat16", "fp8"};
  TRY_ASSIGN(const std::size_t type, row.choice(dtype, kTypes));
  TRY_ASSIGN(const std::size_t kv_type, row.choice(kv_dtype, kTypes));
  return type == 0 && kv_type == 0;
}

constexpr std::array<std::string_view, 13> kAttentionNames = {
    "gpu",      "dtype",  "kv_dtype", "batch",  "seq",       "heads",  "kv_heads",
    "head_dim", "window", "us",       "kernel", "framework", "version"};
Result<void> read_attention(TableRow& row) {
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const bool bf16, is_bf16(row, "dtype", "kv_dtype"));
  AttentionSizes sizes{.causal = 1};
  TRY_ASSIGN(sizes.batch, row.whole("batch", 1, kMaxSide));
  TRY_ASSIGN(sizes.seq, row.whole("seq", 1, kMaxSide));
  TRY_ASSIGN(sizes.heads, row.whole("heads", 1, kMaxHeads));
  TRY_ASSIGN(sizes.kv_heads, row.whole("kv_heads", 1, kMaxHeads));
  TRY_ASSIGN(sizes.head_dim, row.whole("head_dim", 1, kMaxHeads));
  TRY_ASSIGN(const double window, row.number_or_none("window", 1e12));
  TRY_ASSIGN(const double us, row.number("us", kMaxTableUs));
  if (!bf16) return row.reject("keys in fp8"), Result<void>();
  if (window > 0) return row.reject("with a window"), Result<void>();
  if (sizes.heads % sizes.kv_heads != 0)
    return fail("kv_heads: expected to divide heads", row.position("kv_heads"));
  return add_burst(row, gpu, attention(sizes, {.impl = Impl::kSdpa}), us, row.text("framework"));
}

constexpr std::array<std::string_view, 10> kLatentNames = {
    "gpu", "dtype", "kv_dtype", "batch", "seq", "heads", "us", "kernel", "framework", "version"};
Result<void> read_latent(TableRow& row) {
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const bool bf16, is_bf16(row, "dtype", "kv_dtype"));
  // DeepSeek's widths, for prompts: keys of 128 and 64 rotary, values of 128.
  LatentAttentionSizes sizes{.qk_dim = 192, .v_dim = 128};
  TRY_ASSIGN(sizes.batch, row.whole("batch", 1, kMaxSide));
  TRY_ASSIGN(sizes.seq, row.whole("seq", 1, kMaxSide));
  TRY_ASSIGN(sizes.heads, row.whole("heads", 1, kMaxHeads));
  TRY_ASSIGN(const double us, row.number("us", kMaxTableUs));
  if (!bf16) return row.reject("keys in fp8"), Result<void>();
  return add_burst(row, gpu, latent_attention(sizes, {.impl = Impl::kSdpa}), us, row.text("framework"));
}

constexpr std::array<std::string_view, 9> kCastNames = {"gpu", "op",     "dtype",     "m",      "k",
                                                        "us",  "kernel", "framework", "version"};
// A cast by a known scale is an operator of ours, by a library's own kernel; the search for the largest was timed as a difference, or by a kernel
// that reads slowly, so it only frees products of it.
Result<void> read_cast(TableRow& row) {
  constexpr std::array<std::string_view, 2> kOps = {"compute_scale", "scale_matrix"};
  constexpr std::array<std::string_view, 1> kTypes = {"fp8"};
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const std::size_t op, row.choice("op", kOps));
  TRY(row.choice("dtype", kTypes));
  QuantiseSizes sizes{.copies = 1};
  TRY_ASSIGN(sizes.tokens, row.whole("m", 1, kMaxSide));
  TRY_ASSIGN(sizes.width, row.whole("k", 1, kMaxSide));
  TRY_ASSIGN(const double us, row.number_or_none("us", kMaxTableUs));
  if (us <= 0) return row.reject("takes no time"), Result<void>();
  const std::string library(source_label(row.text("framework")));
  CastTimes& times = row.casts(gpu, library);
  const double elements = static_cast<double>(sizes.tokens) * static_cast<double>(sizes.width);
  (op == 0 ? times.amaxes : times.casts).push_back({elements, us});
  if (op == 0) return row.reject("finds a scale"), Result<void>();
  return add_burst(row, gpu, quantise(sizes, {.impl = Impl::kAten, .dtype = Dtype::kFp8}), us, library);
}

constexpr TableLayout kLayouts[] = {{"aiconfigurator's products", kGemmNames, read_gemm},
                                    {"aiconfigurator's attention", kAttentionNames, read_attention},
                                    {"aiconfigurator's latent attention", kLatentNames, read_latent},
                                    {"aiconfigurator's casts", kCastNames, read_cast}};

}  // namespace

constinit const std::span<const TableLayout> kAiconfiguratorLayouts = kLayouts;

}  // namespace foretrain
