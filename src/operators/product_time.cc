#include "operators/product_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "operators/description.h"
#include "operators/features.h"
#include "operators/tiling.h"

namespace foretrain {
namespace {

// y = x w: forward, dx = dy w^T and dw = x^T dy, as the pass has them.
Products products_of(const Operator& op, const Product& forward) {
  const auto& [batch, m, k, n, repeats, deviation, depth_deviation] = forward;
  const bool whole = op.pass == PassKind::kBackward;
  Products p;
  if (op.pass == PassKind::kForward) p.list[p.count++] = forward;
  if (op.pass == PassKind::kInput || whole) p.list[p.count++] = {batch, m, n, k, repeats, deviation};
  // Experts' unequal rows are the depth of a weight's gradient, where little but the mean counts.
  if (op.pass == PassKind::kWeight || whole) p.list[p.count++] = {batch, k, m, n, repeats, 0, deviation};
  return p;
}

Products linear_products(const Operator& op) {
  const auto [m, k, n] = real_sizes<3>(op);
  return products_of(op, {1, m, k, n});
}

Products batched_products(const Operator& op) {
  const auto [batch, m, k, n] = real_sizes<4>(op);
  return products_of(op, {batch, m, k, n});
}

// One kernel works off all experts' tiles, a loop one expert's at a time.
Products grouped_products(const Operator& op) {
  const auto [experts, m, k, n] = real_sizes<4>(op);
  const bool loop = op.impl == Impl::kEager;
  const double batch = loop ? 1 : experts, repeats = loop ? experts : 1;
  // Rows of scaled operands come in sixteens, which the library asks for.
  const double unit = is_scaled(op.dtype) ? 16 : 1;
  return products_of(op, {batch, m / experts, k, n, repeats, unit * routed_deviation(m / unit, experts)});
}

struct TileShape {
  double m, n;
};
constexpr TileShape kTileShapes[] = {{128, 128}, {256, 128}, {128, 256}};

double tiles(const Product& p, TileShape tile) {
  return p.batch * tiles_along(p.m, p.deviation, tile.m) * std::ceil(p.n / tile.n);
}

// Scaled operands are multiplied 128 bytes at a time, the last of them in full.
double padded_depth(const Operator& op, const Product& p) {
  constexpr double kStep = 128;
  return is_scaled(op.dtype) ? kStep * tiles_along(p.k, p.depth_deviation, kStep) : p.k;
}

// How much more than its work each tiling of the first product multiplies. Its output stands as PyTorch lays
// it out (dw is n x k).
void add_tiling_features(Features& f, const Operator& op, const Gpu& gpu, Product p) {
  const double sms = static_cast<double>(gpu.sms);
  const double depth = padded_depth(op, p);
  if (op.pass == PassKind::kWeight) std::swap(p.m, p.n);
  for (const double size : {p.m, p.k, p.n}) f.add(log2_of(size), 0.15);
  const double output = p.batch * p.m * p.n;
  for (const TileShape tile : {TileShape{128, 256}, {256, 128}, {128, 128}, {192, 128}, {128, 192}})
    f.add(std::log2(std::ceil(tiles(p, tile) / sms) * sms * tile.m * tile.n / output), 0.3);
  f.add(std::log2(tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation).value / (2 * output * p.k)), 0.4);
  for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight})
    f.add(op.pass == pass, 0.15);
  const LinearSizes product = sides(op);
  f.add(row_loads(product.k), 0.3);
  f.add(row_loads(product.n), 0.3);
  f.add(row_loads(op), 1.0);
  f.add(op.impl == Impl::kFused, 0.15);
  f.add(std::log2(finely_tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation).value / (2 * output * p.k)),
        0.4);
  if (!is_scaled(op.dtype)) return;
  f.add(std::log2(depth / p.k), 0.4);
  f.add(std::log2(std::ceil(tiles(p, {256, 256}) / (sms / 2)) * (sms / 2) * 256 * 256 / output), 0.3);
}

// What products of a format reach of their rate, against what those of bf16 reach of theirs. Published tables of
// large products (m 8192, n and k 4096 and more; aiconfigurator) have medians of 0.78, 0.64 and 0.58 of the rate for
// bf16, fp8 and fp8-block on an H100; 0.68, 0.49, 0.55 and 0.42 for bf16, fp8, mxfp8 and nvfp4 on a B200. On our H200
// rows take as long as tensors (1.00 in the median of 150 shapes), blocks 1.17 times that, and 1.50 for a weight's
// gradient, whose operands are both scaled by 1 x 128 (cuBLAS of CUDA 13; DeepGEMM's tables have 2.7 there).
// Parts that multiply mxfp8 emulate blocks by it (Transformer Engine's "FP8 Blockwise Scaling", supported devices).
double format_share(Dtype dtype, bool of_weight, const Gpu& gpu) {
  if (dtype == Dtype::kFp8Block && gpu.rate(Dtype::kMxfp8).value > 0) dtype = Dtype::kMxfp8;
  switch (dtype) {
    case Dtype::kFp8:
    case Dtype::kFp8Row:
    case Dtype::kMxfp8:
      return 0.8;
    case Dtype::kFp8Block:
      return of_weight ? 0.8 / 1.5 : 0.8 / 1.17;
    case Dtype::kNvfp4:
      return 0.62;
    default:
      return 1;
  }
}

// FLOPs a clock and SM of products whose rows are no multiple of 16 bytes, by how a row is loaded (row_loads) and
// by pass (forward, to the input, to the weight): the medians of 321 samples above 50 GFLOP on our H200, in which
// each of the six classes scatters by 10 to 19 %. The kernels are those of Ampere, bound by their loads and not by
// power (the samples ran at 1950 to 1970 MHz), so that clock and SMs carry them to other parts.
constexpr double kNarrowRate[2][3] = {{430, 520, 590}, {890, 950, 990}};

// 0 where the rows are whole. Batches have no kernels for pairs of elements: scores of 64 heads of 2048 tokens took 552
// us with heads of 108 and 763 us with 150, 403 FLOPs a clock and SM both.
double narrow_rate(const Operator& op, const Gpu& gpu, PassKind pass) {
  if (row_loads(op) == 2 || !is_half(op.dtype)) return 0;
  const std::size_t way = pass == PassKind::kForward ? 0 : pass == PassKind::kInput ? 1 : 2;
  const std::size_t loads =
      op.kind == OperatorKind::kBatchedProduct ? 0 : static_cast<std::size_t>(row_loads(op));
  return kNarrowRate[loads][way] * static_cast<double>(gpu.sms) * gpu.clock_max_mhz * 1e6;
}

}  // namespace

Products products_of(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kBatchedProduct:
      return batched_products(op);
    case OperatorKind::kGroupedProduct:
      return grouped_products(op);
    default:
      return linear_products(op);
  }
}

LinearSizes sides(const Operator& op) {
  if (op.kind == OperatorKind::kLinear) return op.as<LinearSizes>();
  const std::int64_t m = op.flat()[1], k = op.flat()[2], n = op.flat()[3];
  return {m, k, n};
}

void add_product_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const double rate = gpu.rate(op.dtype).value, sms = static_cast<double>(gpu.sms);
  const Products products = products_of(op);
  const double even = flops(op).value / rate;
  t.add(even);
  t.add((bytes(op) / gpu.hbm).value);
  const std::size_t first_tiles = t.count;
  for (const TileShape tile : kTileShapes) {
    double seconds = 0;
    for (const Product& p : products.view())
      seconds += p.repeats * std::ceil(tiles(p, tile) / sms) * sms * 2 * tile.m * tile.n *
                 padded_depth(op, p) / rate;
    t.add(seconds);
  }
  Flops tiled, finely;
  for (const Product& p : products.view()) {
    tiled += p.repeats * tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation);
    finely += p.repeats * finely_tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation);
  }
  t.add(tiled.value / rate);
  t.add(finely.value / rate);
  const double waves = t.seconds[first_tiles];
  if (is_scaled(op.dtype)) {
    // Their rows always load well. A backward's sums may be rounded less (PyTorch's use_fast_accum=False, as recipes of
    // one scale a tensor ask for), which takes longer.
    t.add(is_forward(op) ? 0 : even);
    t.add(is_forward(op) ? 0 : waves);
    // Each tile begins by filling its pipeline and ends by writing what it made, however deep it is.
    double rounds = 0;
    for (const Product& p : products.view()) rounds += p.repeats * std::ceil(tiles(p, kTileShapes[2]) / sms);
    t.add(rounds * 1e-6);
    return;
  }
  for (const int slow : {0, 1}) {
    t.add(row_loads(op) == slow ? even : 0);
    t.add(row_loads(op) == slow ? waves : 0);
  }
}

void add_product_features(Features& f, const Operator& op, const Gpu& gpu) {
  constexpr double kOfLinear[] = {0, 0, 0}, kOfBatch[] = {0.15, 0, 0, 0};
  const double sms = static_cast<double>(gpu.sms);
  add_work_features(f, op, 0);
  if (op.kind == OperatorKind::kLinear)
    add_size_features(f, op, kOfLinear);
  else
    add_size_features(f, op, kOfBatch);
  const Products products = products_of(op);
  for (const Product& p : products.view()) {
    for (const TileShape tile : kTileShapes) {
      const double waves = tiles(p, tile) / sms;
      f.add(waves / std::ceil(waves));
    }
    f.add(log2_of(std::ceil(tiles(p, kTileShapes[0]) / sms)));
  }
  const LinearSizes product = sides(op);
  f.add(alignment(product.m));
  f.add(alignment(product.k), 0.12);
  f.add(alignment(product.n), 0.12);
  add_tiling_features(f, op, gpu, products.list[0]);
}

// Tiles in waves over the SMs, at the GPU's product efficiency. A grouped product is taken to be as efficient
// (assumed), over tiles of unequal experts.
Seconds product_time(const Operator& op, const Gpu& gpu) {
  Seconds sum(0);
  const Products products = products_of(op);
  for (std::size_t i = 0; i < products.count; ++i) {
    const Product& p = products.list[i];
    const bool of_weight = op.pass == PassKind::kWeight || i > 0;
    const Flops work = tiled_work(p.batch, p.m, p.k, p.n, static_cast<double>(gpu.sms), p.deviation);
    Seconds one =
        work / (gpu.rate(op.dtype) * gpu.product_efficiency * format_share(op.dtype, of_weight, gpu));
    const PassKind pass = of_weight ? PassKind::kWeight : is_forward(op) ? op.pass : PassKind::kInput;
    // The rate of batches was found on heads of some 100, the beginning of each tile in it.
    const double begun = op.kind == OperatorKind::kBatchedProduct ? p.k / (p.k + kPrologue) : 1;
    if (const double narrow = narrow_rate(op, gpu, pass); narrow > 0)
      one = std::max(one, Seconds(work.value * begun / narrow));
    sum += one * p.repeats;
  }
  return sum;
}

}  // namespace foretrain
