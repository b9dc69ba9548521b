#include "operators/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "operators/light_kernels.h"
#include "operators/tiling.h"

namespace foretrain {
namespace {

struct Product {
  double batch, m, k, n;
  double repeats = 1;    // one after the other, each over all SMs
  double deviation = 0;  // of m over the batch
};

// The products an operator consists of: one, or the two of a whole backward.
struct Products {
  std::size_t count = 0;
  std::array<Product, 2> list{};
};

Products products_of(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  Products p;
  const auto add = [&](double batch, double m, double k, double n) { p.list[p.count++] = {batch, m, k, n}; };
  const bool whole = op.pass == PassKind::kBackward;
  if (op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kBatchedProduct) {
    const int first = op.kind == OperatorKind::kLinear ? 0 : 1;
    const double batch = op.kind == OperatorKind::kLinear ? 1 : size(0);
    const double m = size(first), k = size(first + 1), n = size(first + 2);
    if (op.pass == PassKind::kForward) add(batch, m, k, n);
    if (op.pass == PassKind::kInput || whole) add(batch, m, n, k);
    if (op.pass == PassKind::kWeight || whole) add(batch, k, m, n);
  }
  if (op.kind == OperatorKind::kGroupedProduct) {
    // One kernel works off all experts' tiles, a loop one expert's at a time. Experts' rows are unequal: they
    // are the rows of the output, or the depth of a weight's gradient, where the mean is all that counts.
    const bool loop = op.impl == Impl::kEager;
    const double experts = size(0), batch = loop ? 1 : experts, repeats = loop ? experts : 1;
    const double rows = size(1) / experts, k = size(2), n = size(3);
    const double deviation = routed_deviation(size(1), experts);
    const auto put = [&](const Product& product) { p.list[p.count++] = product; };
    if (op.pass == PassKind::kForward) put({batch, rows, k, n, repeats, deviation});
    if (op.pass == PassKind::kInput || whole) put({batch, rows, n, k, repeats, deviation});
    if (op.pass == PassKind::kWeight || whole) put({batch, k, rows, n, repeats, 0});
  }
  return p;
}

struct TileShape {
  double m, n;
};
constexpr TileShape kTileShapes[] = {{128, 128}, {256, 128}, {128, 256}};

double tiles(const Product& p, TileShape tile) {
  return p.batch * tiles_along(p.m, p.deviation, tile.m) * std::ceil(p.n / tile.n);
}

double log2_of(double v) { return std::log2(std::max(v, 1.0)); }

// Largest power of two that divides a size, up to 128: kernels load 8 or 16 elements at a time.
double alignment(std::int64_t size) {
  return static_cast<double>(
      std::min(std::countr_zero(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))), 7));
}

// Work of the block of 128 queries that sees all keys: where blocks are few, the SM that has it ends last.
double longest_block(const Operator& op) {
  const double products = op.pass == PassKind::kForward ? 4 : 10;
  return products * 128 * static_cast<double>(op.flat()[3]) *
         static_cast<double>(padded_head_dim(op.flat()[4]));
}

// Lists of tensors: the optimizer's operators.
bool takes_lists(const Operator& op) { return is_optimizer(op.kind); }

bool is_softmax(const Operator& op) {
  const bool loss = op.kind == OperatorKind::kCrossEntropy && op.pass == PassKind::kForward;
  return (op.kind == OperatorKind::kSoftmax || loss) && op.impl != Impl::kFused;
}

bool is_norm(const Operator& op) {
  return (op.kind == OperatorKind::kLayernorm || op.kind == OperatorKind::kRmsnorm) &&
         op.impl == Impl::kFused;
}

// What it reads: the loss of Hugging Face takes logits that were made fp32 before.
double softmax_element(const Operator& op) {
  return op.kind == OperatorKind::kCrossEntropy && op.impl == Impl::kEager ? 4 : bytes_of(op.dtype);
}

// A norm in several kernels sums along rows, in either pass.
bool sums_rows(const Operator& op) {
  return (op.kind == OperatorKind::kLayernorm || op.kind == OperatorKind::kRmsnorm) &&
         op.impl != Impl::kFused;
}

// The gradient of what all tokens share is summed over them.
bool sums_columns(const Operator& op) {
  const bool shared = op.kind == OperatorKind::kBias || op.kind == OperatorKind::kBiasGelu ||
                      op.kind == OperatorKind::kBiasDropoutAdd || sums_rows(op);
  return shared && op.pass != PassKind::kForward;
}

// Where the shape of the kernels (operators/light_kernels.h) decides, and not their bytes alone.
void add_kernel_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const double stream = (bytes(op) / gpu.hbm).value, sms = static_cast<double>(gpu.sms);
  if (takes_lists(op)) {
    const ListKernels list = list_kernels(op, sms);
    const double waiting = list.steps * 0.5e-6;
    t.add(list.kernels * 1e-6);
    t.add(list.waves * waiting);
    t.add(list.seconds(waiting, stream));
    t.add(list.seconds(2 * waiting, stream));
    t.add(row_loads(op) < 2 ? list.waves * waiting : 0);
  } else if (sums_columns(op)) {
    const ColumnSum sum = column_sum(size(0), size(1), sms);
    t.add(sum.values * 1e-7);
    t.add(sum.parts * 1e-7);
    t.add(sums_rows(op) ? row_sum_values(size(0), size(1), sms) * 1e-7 : 0);
  } else if (sums_rows(op)) {
    t.add(row_sum_values(size(0), size(1), sms) * 1e-7);
  } else if (is_softmax(op)) {
    using Kind = SoftmaxRow::Kind;
    const SoftmaxRow row = softmax_row(size(1), softmax_element(op), op.pass == PassKind::kForward);
    const bool warp = row.kind == Kind::kWarp, registers = row.kind == Kind::kRegisters;
    const bool streamed = row.kind == Kind::kStreamed;
    const double padded = warp ? stream * row.padded / size(1) : 0;
    t.add(padded);
    t.add(row.padded > 1024 ? padded : 0);
    const double slots = row.blocks * sms, waves = std::ceil(size(0) / slots);  // of blocks that hold a row
    const double whole = stream * waves * slots / size(0), rows = waves * row.blocks * 1e-6;
    t.add(warp ? 0 : whole);
    t.add(registers ? rows * row.registers : 0);
    t.add(registers && row.blocks == 1 ? rows * row.registers : 0);
    t.add(streamed ? rows * row.rest : 0);
    t.add(registers ? rows : 0);
    t.add(streamed && slots * size(1) * softmax_element(op) > gpu.l2.value / 2 ? whole : 0);
  } else if (is_norm(op)) {
    const NormRows norm = norm_rows(op, sms);
    t.add(norm.steps * 0.5e-6);
    t.add(stream * norm.read_again);
    t.add(norm.read_again > kNormAllAgain ? stream : 0);
    t.add(norm.sum_steps * 1e-6);
  } else if (op.kind == OperatorKind::kEmbedding && op.pass == PassKind::kForward) {
    t.add(gather_blocks(op) * 1e-9);
  } else if (op.kind == OperatorKind::kEmbedding) {
    const bool sorted = size(0) > kTokensUnsorted;
    t.add(sorted ? 1e-6 : 0);
    t.add(sorted ? size(0) * size(1) * 4 / gpu.hbm.value : 0);
    t.add(sorted ? 0 : size(0) * std::ceil(size(1) / 32 / (2 * sms)) * 1e-8);
  } else if (op.kind == OperatorKind::kMaskedFill) {
    t.add(size(0) > size(1) ? stream : 0);  // the mask of one square is spread over the others
  } else if (op.kind == OperatorKind::kAccumulate) {
    t.add(size(2) != bytes_of(op.dtype) ? stream : 0);  // two formats: element by element
  } else if (op.kind == OperatorKind::kCopy && op.impl == Impl::kAten && op.pass != PassKind::kForward) {
    constexpr std::int64_t kPage = 4096;
    const double moved = size(0) * size(1) * bytes_of(op.dtype);
    t.add(std::fmod(moved, kPage) != 0 ? 1e-6 : 0);  // the rest goes by a second kernel
  }
}

}  // namespace

std::int64_t padded_head_dim(std::int64_t head_dim) {
  for (const std::int64_t built : {32, 64, 96, 128, 160, 192, 224, 256})
    if (head_dim <= built) return built;
  return (head_dim + 63) / 64 * 64;
}

Seconds roofline(const Operator& op, const Gpu& gpu) {
  const Seconds memory = bytes(op) / gpu.hbm;
  const Flops work = flops(op);
  return work.value > 0 ? std::max(memory, work / gpu.rate(op.dtype)) : memory;
}

Terms physical_terms(const Operator& op, const Gpu& gpu) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const double rate = gpu.rate(op.dtype).value, sms = static_cast<double>(gpu.sms);
  Terms t;
  t.add(1e-6 * op.launches);
  const Products products = products_of(op);
  if (products.count > 0) {
    t.add(flops(op).value / rate);
    t.add((bytes(op) / gpu.hbm).value);
    for (const TileShape tile : kTileShapes) {
      double seconds = 0;
      for (std::size_t i = 0; i < products.count; ++i)
        seconds += products.list[i].repeats * std::ceil(tiles(products.list[i], tile) / sms) * sms * 2 *
                   tile.m * tile.n * products.list[i].k / rate;
      t.add(seconds);
    }
    Flops tiled, finely;
    for (std::size_t i = 0; i < products.count; ++i) {
      const Product& p = products.list[i];
      tiled += p.repeats * tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation);
      finely += p.repeats * finely_tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation);
    }
    t.add(tiled.value / rate);
    t.add(finely.value / rate);
    const double waves = t.seconds[3], even = flops(op).value / rate;
    for (const int slow : {0, 1}) {
      t.add(row_loads(op) == slow ? even : 0);
      t.add(row_loads(op) == slow ? waves : 0);
    }
    return t;
  }
  if (op.kind == OperatorKind::kAttention) {
    const double pad = static_cast<double>(padded_head_dim(op.flat()[4])) / size(4);
    const double padded = flops(op).value * pad / rate;
    const double blocks = size(0) * size(1) * std::ceil(size(3) / 128);
    t.add(padded);
    t.add((bytes(op) / gpu.hbm).value);
    t.add(padded * std::ceil(blocks / sms) * sms / blocks);    // full waves only
    t.add(padded * std::ceil(size(3) / 128) * 128 / size(3));  // the last block of queries is padded
    t.add(flops(op).value / size(4) * 64 / rate);              // the softmax: scores, whatever head_dim
    const double n = std::ceil(size(3) / 128);
    t.add(padded * (n + 1) / n);  // blocks on the diagonal are worked off whole
    t.add(blocks * 128 * 1e-9);   // rows
    t.add(longest_block(op) * sms / rate);
    t.add(op.flat()[4] > 128 ? padded : 0);  // wide heads: other kernels, or smaller blocks
    // Gradients of shared keys and values are made for each head of queries, and summed.
    const double queries = size(0) * size(1) * size(3) * size(4) * bytes_of(op.dtype);
    t.add(op.pass != PassKind::kForward && size(1) > size(2) ? queries / gpu.hbm.value : 0);
    return t;
  }
  t.add((bytes(op) / gpu.hbm).value);
  if (is_optimizer(op.kind))
    t.add(size(1) * 1e-6);  // a tensor's share of launches
  else if (op.kind == OperatorKind::kEmbedding && op.pass != PassKind::kForward)
    t.add(size(0) * size(1) * 4 / gpu.hbm.value);  // rows added one by one
  else
    t.add(size(0) * 1e-9);  // rows
  t.add(row_loads(op) < 2 ? (bytes(op) / gpu.hbm).value : 0);
  if (op.kind == OperatorKind::kPermute || op.kind == OperatorKind::kUnpermute)
    t.add(bytes_of(op.dtype) * size(0) * size(1) * (size(2) - 1) / gpu.hbm.value);  // visited again, uncached
  if (op.kind == OperatorKind::kRoute) t.add(size(0) * size(2) * 1e-9);             // rows that are sorted
  add_kernel_terms(t, op, gpu);
  return t;
}

namespace {

void add_product_features(Features& f, const Operator& op, const Gpu& gpu, const Products& products) {
  const double sms = static_cast<double>(gpu.sms);
  const std::size_t last = op.kind == OperatorKind::kLinear ? 2 : 3;
  for (std::size_t i = 0; i < products.count; ++i) {
    for (const TileShape tile : kTileShapes) {
      const double waves = tiles(products.list[i], tile) / sms;
      f.add(waves / std::ceil(waves));
    }
    f.add(log2_of(std::ceil(tiles(products.list[i], kTileShapes[0]) / sms)));
  }
  f.add(alignment(op.flat()[last - 2]));
  f.add(alignment(op.flat()[last - 1]), 0.12);
  f.add(alignment(op.flat()[last]), 0.12);
  // Of the first product, its output as PyTorch lays it out (dw is n x k): how much more than its work each
  // tiling multiplies.
  Product p = products.list[0];
  if (op.pass == PassKind::kWeight) std::swap(p.m, p.n);
  for (const double size : {p.m, p.k, p.n}) f.add(log2_of(size), 0.15);
  const double output = p.batch * p.m * p.n;
  for (const TileShape tile : {TileShape{128, 256}, {256, 128}, {128, 128}, {192, 128}, {128, 192}})
    f.add(std::log2(std::ceil(tiles(p, tile) / sms) * sms * tile.m * tile.n / output), 0.3);
  f.add(std::log2(tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation).value / (2 * output * p.k)), 0.4);
  for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight})
    f.add(op.pass == pass, 0.15);
  f.add(row_loads(op.flat()[last - 1]), 0.3);
  f.add(row_loads(op.flat()[last]), 0.3);
  f.add(row_loads(op), 1.0);
  f.add(op.impl == Impl::kFused, 0.15);
  f.add(std::log2(finely_tiled_work(p.batch, p.m, p.k, p.n, sms, p.deviation).value / (2 * output * p.k)),
        0.4);
}

// Light operators change their kernel from one shape to the next; shapes of one kernel are alike.
void add_kernel_features(Features& f, const Operator& op, const Gpu& gpu) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  if (takes_lists(op)) {
    const ListKernels list = list_kernels(op, static_cast<double>(gpu.sms));
    f.add(log2_of(list.waves), 0.25);
    f.add(log2_of(list.steps), 0.25);
  } else if (sums_columns(op)) {
    const ColumnSum sum = column_sum(size(0), size(1), static_cast<double>(gpu.sms));
    f.add(log2_of(sum.values), 0.25);
    f.add(log2_of(sum.parts + 1), 0.25);
  } else if (is_softmax(op)) {
    const SoftmaxRow row = softmax_row(size(1), softmax_element(op), op.pass == PassKind::kForward);
    f.add(static_cast<double>(row.kind), 1.0);
    f.add(row.blocks, 0.5);
    f.add(log2_of(row.padded), 0.5);
  } else if (is_norm(op)) {
    const NormRows norm = norm_rows(op, static_cast<double>(gpu.sms));
    f.add(log2_of(norm.steps), 0.25);
    f.add(norm.read_again, 0.5);
  } else if (op.kind == OperatorKind::kEmbedding) {
    const bool forward = op.pass == PassKind::kForward;
    f.add(forward ? log2_of(gather_blocks(op) / size(0)) : size(0) > kTokensUnsorted, 0.5);
  } else if (op.kind == OperatorKind::kMaskedFill) {
    f.add(size(0) > size(1), 0.5);
  } else if (op.kind == OperatorKind::kAccumulate) {
    f.add(size(2) != bytes_of(op.dtype), 0.5);
  }
}

}  // namespace

Features residual_features(const Operator& op, const Gpu& gpu) {
  Features f;
  const double sms = static_cast<double>(gpu.sms);
  const double work = flops(op).value, moved = bytes(op).value;
  const Products products = products_of(op);
  const bool product = products.count > 0, attention = op.kind == OperatorKind::kAttention;
  f.add(log2_of(work));
  f.add(log2_of(moved), product || attention ? 0 : 0.25);
  f.add(work > 0 ? std::log2(work / moved) : 0);
  const bool batched = op.kind == OperatorKind::kBatchedProduct || op.kind == OperatorKind::kGroupedProduct;
  const std::size_t sizes = attention ? 5 : batched ? 4 : 3;
  constexpr double kOfAttention[] = {0, 0, 0, 0.2, 0};
  for (std::size_t i = 0; i < sizes; ++i) {
    const bool is_batch = batched && i == 0;
    const double scale = attention ? kOfAttention[i] : is_batch ? 0.15 : product ? 0 : 0.25;
    f.add(log2_of(static_cast<double>(op.flat()[i])), scale);
  }
  if (product) {
    add_product_features(f, op, gpu, products);
  } else if (attention) {
    const double blocks = static_cast<double>(op.flat()[0]) * static_cast<double>(op.flat()[1]) *
                          std::ceil(static_cast<double>(op.flat()[3]) / 128);
    f.add(static_cast<double>(op.flat()[4]) / static_cast<double>(padded_head_dim(op.flat()[4])), 1);
    f.add(static_cast<double>(padded_head_dim(op.flat()[4])), 1.0 / 64);
    f.add(blocks / sms / std::ceil(blocks / sms), 0.3);
    f.add(alignment(op.flat()[4]), 0.15);
    f.add(alignment(op.flat()[3]), 0.03);
    const double heads = static_cast<double>(op.flat()[1]), kv_heads = static_cast<double>(op.flat()[2]);
    f.add(log2_of(static_cast<double>(op.flat()[0]) * heads), 0.15);
    f.add(log2_of(heads / kv_heads), 0.1);
    f.add(heads > kv_heads, 0.2);
    f.add(std::min(log2_of(blocks / sms), 6.0), 0.15);
    f.add(std::log2(1 + longest_block(op) * sms / work), 0.5);
  } else {
    f.add(log2_of(static_cast<double>(op.flat()[0]) * static_cast<double>(op.flat()[1])));
    f.add(alignment(op.flat()[1]), 0.08);
    f.add(row_loads(op) < 2, 0.5);
    add_kernel_features(f, op, gpu);
  }
  return f;
}

}  // namespace foretrain
