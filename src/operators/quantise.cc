#include "operators/quantise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "operators/features.h"
#include "operators/light.h"

namespace foretrain {
namespace {

constexpr double kWide = bytes_of(Dtype::kBf16);
constexpr std::int64_t kMostCopies = 2;

// An eager chain, kernel by kernel, where the scale is known: widened to fp32 (2 read, 4 written), scaled, clamped (4
// and 4 each), cast (4 read). A second copy is cast again and then transposed.
Bytes quantise_bytes(const Operator& op) {
  const auto [tokens, width, copies] = real_sizes<3>(op);
  const double narrow = bytes_of(op.dtype);
  if (!is_eager(op)) return Bytes(tokens * width * (kWide + copies * narrow));
  constexpr double kChain = (kWide + 4) + 8 + 8 + 4;
  return Bytes(tokens * width * (copies * (kChain + narrow) + (copies - 1) * 2 * narrow));
}
std::int32_t quantise_launches(const Operator& op) {
  return is_eager(op) ? static_cast<std::int32_t>(5 * op.as<QuantiseSizes>().copies - 1) : 1;
}
Bytes quantise_made(const Operator& op) {
  const auto [tokens, width, copies] = real_sizes<3>(op);
  return Bytes(tokens * width * copies * bytes_of(op.dtype));
}
Bytes quantise_working(const Operator& op) {  // a chain holds two tensors of fp32 beside
  const auto [tokens, width] = real_sizes<2>(op);
  return quantise_made(op) + Bytes(is_eager(op) ? tokens * width * 2 * 4 : 0);
}
Result<void> check_cast(const Operator& op, const Position& at) {
  if (!is_scaled(op.dtype))
    return fail(fmt::format("quantise: found {}, expected a format with scales such as fp8", name(op.dtype)),
                at);
  const std::int64_t copies = op.as<QuantiseSizes>().copies;
  if (copies <= kMostCopies) return {};
  return fail(fmt::format("found copies={}, expected 1 (as it lies) or 2 (transposed, too)", copies), at);
}
void set_one_copy(Operator& op, std::span<bool> given) {
  if (given[2]) return;
  QuantiseSizes sizes = op.as<QuantiseSizes>();
  sizes.copies = 1;
  op.set(sizes);
  given[2] = true;
}

// Tiles of 64 x 64 go through shared memory to be transposed; a wave of them that is not full costs as much as a full
// one. 16 such blocks of four warps are on an SM at once (assumed: it decides only how small tensors grow).
double transposed_waves(const Operator& op, const Gpu& gpu) {
  constexpr double kTile = 64, kBlocks = 16;
  const auto [tokens, width] = real_sizes<2>(op);
  const double tiles = std::ceil(tokens / kTile) * std::ceil(width / kTile);
  return std::ceil(tiles / (kBlocks * static_cast<double>(gpu.sms)));
}
bool is_transposed(const Operator& op) {
  return op.kind == OperatorKind::kTranspose ||
         (op.kind == OperatorKind::kQuantise && op.as<QuantiseSizes>().copies == kMostCopies);
}

// A row whose own scale is found takes a block that goes through it 1024 elements at a time, as torch.compile of
// PyTorch 2.11 lays it out on our H200: of 1.1 ns a row up to 1024, 3.0 up to 2048, 5.3 up to 3072. The transposed copy
// goes down the columns alike.
constexpr double kStep = 1024;
bool finds_scales(const Operator& op) {
  return op.kind == OperatorKind::kQuantise && op.dtype != Dtype::kFp8;
}
// How torch.compile (PyTorch 2.11, inner_reduction_splits of torch/_inductor) cuts the search for the largest of so many
// elements into blocks of 256 threads, of 32 to 512 elements each, four blocks on an SM where that is enough; it prefers
// a share that divides the whole. Where the blocks' shares are not whole, loads are of single elements: half of the
// rate on our H200.
struct Split {
  double blocks = 1;
  bool is_even = true;
};
std::int64_t near_divisor(std::int64_t whole, std::int64_t wanted, std::int64_t within) {
  for (std::int64_t off = 0; off < within; ++off)
    for (const std::int64_t d : {wanted - off, wanted + off})
      if (d > 0 && whole % d == 0) return d;
  return 0;
}
Split split_of(std::int64_t elements, std::int64_t sms) {
  constexpr std::int64_t kThreads = 256, kOnSm = 2048, kLeast = 32, kMost = 512;
  if (elements <= 8192) return {};
  std::int64_t each = kLeast;
  if (elements >= kMost * kOnSm * sms) {
    const std::int64_t divisor = near_divisor(elements, kMost, 50);
    each = divisor > 0 ? divisor : kMost;
  } else if (elements > kLeast * kOnSm * sms) {
    const std::int64_t threads = kThreads * (sms * kOnSm / (2 * kThreads));
    const std::int64_t wanted = (elements + threads - 1) / threads;
    const std::int64_t divisor = near_divisor(elements, wanted, 30);
    each = divisor > 0 ? std::max(divisor, kLeast) : wanted;
  }
  const std::int64_t blocks = (elements + each * kThreads - 1) / (each * kThreads);
  return {static_cast<double>(blocks), elements % blocks == 0};
}
Split split_of(const Operator& op, const Gpu& gpu) {
  const auto sizes = op.as<TokenSizes>();
  const double elements = static_cast<double>(sizes.tokens) * static_cast<double>(sizes.width);
  constexpr double kMostElements = 1e17;  // no GPU holds them; a whole number does
  return split_of(static_cast<std::int64_t>(std::min(elements, kMostElements)),
                  std::max<std::int64_t>(gpu.sms, 1));
}
bool is_split(const Operator& op) { return op.kind == OperatorKind::kAmax && op.impl == Impl::kFused; }
double unfilled(const Split& split, const Gpu& gpu) {
  const double at_once = 4 * static_cast<double>(gpu.sms);
  return std::ceil(split.blocks / at_once) * at_once / split.blocks - 1;
}

// What lies in the cache still, or is written there, costs the memory nothing: bytes beyond it apart.
void add_cast_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  t.add(std::max(0.0, (bytes(op).value - gpu.l2.value) / gpu.hbm.value));
  t.add(is_transposed(op) ? (bytes(op) / gpu.hbm).value : 0);
  t.add(is_transposed(op) ? transposed_waves(op, gpu) * 1e-6 : 0);
  t.add(is_transposed(op) ? 1e-6 : 0);
  if (is_split(op)) {
    const Split split = split_of(op, gpu);
    t.add(split.is_even ? 0 : (bytes(op) / gpu.hbm).value);
    t.add((bytes(op) / gpu.hbm).value * unfilled(split, gpu));
  }
  if (!finds_scales(op)) return;
  const auto [tokens, width] = real_sizes<2>(op);
  t.add(is_transposed(op) ? 0 : tokens * std::ceil(width / kStep) * 1e-9);
  t.add(is_transposed(op) ? tokens * 1e-9 : 0);
  t.add(is_transposed(op) ? width * 1e-9 : 0);
}
void add_cast_features(Features& f, const Operator& op, const Gpu& gpu) {
  const auto [tokens, width] = real_sizes<2>(op);
  add_light_features(f, op);
  f.add(is_transposed(op), 0.5);
  if (is_split(op)) {
    const Split split = split_of(op, gpu);
    f.add(!split.is_even, 1);
    f.add(unfilled(split, gpu), 1);
  }
  if (!finds_scales(op)) return;
  f.add(log2_of(std::ceil(width / kStep) * kStep / width), 0.5);
  f.add(is_transposed(op) ? log2_of(std::ceil(tokens / kStep) * kStep / tokens) : 0, 0.5);
}

Bytes amax_bytes(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  return Bytes(tokens * width * bytes_of(op.dtype) * (is_eager(op) ? 3 : 1));
}
Bytes amax_made(const Operator& op) {  // one number; a chain holds the magnitudes
  const auto [tokens, width] = real_sizes<2>(op);
  return Bytes(is_eager(op) ? tokens * width * bytes_of(op.dtype) : 4);
}
// Compiled, one kernel finds the largest of each block's part, another that of all; the chain makes magnitudes first.
std::int32_t amax_launches(const Operator& op) { return op.impl == Impl::kAten ? 1 : 2; }

Bytes transpose_bytes(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  return Bytes(tokens * width * bytes_of(op.dtype) * 2);
}

Bytes transpose_made(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  return Bytes(tokens * width * bytes_of(op.dtype));
}

// Of the 4.8 TB/s of our H200, compiled casts of large tensors reach 0.81 (fp8), 0.51 (rows) and 0.69 (blocks), with a
// transposed copy 0.52, 0.27 and 0.34, amax 0.72: one figure stands for all casts. Chains reach 0.8, and PyTorch's
// transposing copy, which stores single bytes down columns, 0.07. A library's own cast runs at a stream's rate: 0.72 ps
// an element in aiconfigurator's table of an H200 (static_scaled_fp8_quant). That its amax does, and how far its tiles of
// a transposed copy come, is assumed.
constinit const Description kTable[] = {
    {.kind = OperatorKind::kQuantise,
     .size_names = QuantiseSizes::kNames,
     .usual_dtype = Dtype::kFp8,
     .set_defaults = set_one_copy,
     .check_sizes = check_cast,
     .bytes = quantise_bytes,
     .usual_launches = quantise_launches,
     .made_bytes = quantise_made,
     .working_bytes = quantise_working,
     .add_terms = add_cast_terms,
     .add_features = add_cast_features,
     .stream_share = 0.5,
     .library_share = 0.9,
     .eager_share = 0.7},
    {.kind = OperatorKind::kAmax,
     .size_names = TokenSizes::kNames,
     .bytes = amax_bytes,
     .usual_launches = amax_launches,
     .made_bytes = amax_made,
     .working_bytes = amax_made,
     .add_terms = add_cast_terms,
     .add_features = add_cast_features,
     .stream_share = 0.7,
     .library_share = 0.9,
     .eager_share = 0.8},
    {.kind = OperatorKind::kTranspose,
     .size_names = TokenSizes::kNames,
     .usual_impl = Impl::kAten,
     .usual_dtype = Dtype::kFp8,
     .bytes = transpose_bytes,
     .made_bytes = transpose_made,
     .working_bytes = transpose_made,
     .add_terms = add_cast_terms,
     .add_features = add_cast_features,
     .stream_share = 0.7,
     .eager_share = 0.07},
};

}  // namespace

constinit const std::span<const Description> kOfFormats = kTable;

Operator with_one_copy(Operator cast) {
  QuantiseSizes sizes = cast.as<QuantiseSizes>();
  sizes.copies = 1;
  cast.set(sizes);
  cast.launches = usual_launches(cast);
  return cast;
}

}  // namespace foretrain
