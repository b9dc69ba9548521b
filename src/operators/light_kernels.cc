#include "operators/light_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace foretrain {
namespace {

double tensors_a_kernel(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kAdamw:
      return op.impl == Impl::kEager ? 64 : 36;
    case OperatorKind::kCastGrads:
    case OperatorKind::kCastWeights:
      return 64;
    default:
      return 110;
  }
}

}  // namespace

double ListKernels::seconds(double waiting, double stream) const {
  double sum = 0;
  for (const Wave& wave : each) sum += wave.count * std::max(waiting, stream * wave.blocks / blocks);
  return sum;
}

ListKernels list_kernels(const Operator& op, double sms) {
  constexpr double kChunk = 65536, kBlocks = 320, kStep = 2048;
  const double tensors = static_cast<double>(std::max<std::int64_t>(op.flat()[1], 1));
  const double size = static_cast<double>(op.flat()[0]) / tensors, chunks = std::ceil(size / kChunk);
  const bool fused_adamw = op.kind == OperatorKind::kAdamw && op.impl != Impl::kEager;
  const double slots = (fused_adamw ? 2 : 4) * sms;
  ListKernels list;
  list.blocks = tensors * chunks;
  list.steps = std::ceil(std::min(size, kChunk) / kStep);
  const double most = std::min(kBlocks, tensors_a_kernel(op) * chunks);
  const double full = std::floor(list.blocks / most), rest = list.blocks - full * most;
  list.kernels = full + (rest > 0 ? 1 : 0);
  std::size_t next = 0;
  const auto add = [&](double kernels, double blocks) {
    const double waves = std::floor(blocks / slots), left = blocks - waves * slots;
    list.each[next++] = {kernels * waves, slots};
    list.each[next++] = {left > 0 ? kernels : 0, left};
    list.waves += kernels * (waves + (left > 0 ? 1 : 0));
  };
  add(full, most);
  add(1, rest);
  return list;
}

ColumnSum column_sum(double tokens, double width, double sms) {
  constexpr double kThreads = 128, kWide = 32, kHigh = kThreads / kWide, kSplitFrom = 256, kLeast = 16;
  constexpr double kThreadsOfSm = 2048;
  ColumnSum sum;
  sum.values = std::ceil(tokens / kHigh);
  if (sum.values < kSplitFrom) return sum;
  const double columns = std::ceil(width / (4 * kWide));
  const double fitting = std::ceil(sms * kThreadsOfSm / kThreads / columns);
  const double blocks =
      std::max(std::min(fitting, std::ceil(sum.values / kLeast)), std::ceil(sum.values / kSplitFrom));
  if (blocks <= 1) return sum;
  sum.values = std::ceil(sum.values / blocks);
  sum.parts = std::ceil(blocks / kHigh);
  return sum;
}

double row_sum_values(double rows, double width, double sms) {
  constexpr double kWarp = 32, kWarps = 16, kSplitFrom = 8192, kBlocksOfSm = 4;
  const bool split = width >= kSplitFrom;
  const double waves = std::ceil(rows / (split ? 1 : kWarps) / (kBlocksOfSm * sms));
  return waves * std::ceil(width / kWarp / (split ? kWarps : 1));
}

SoftmaxRow softmax_row(double columns, double element_bytes, bool forward) {
  constexpr double kThreads = 1024, kShared = 48 * 1024;
  const double most_of_warp = forward ? 2048 : 1024, most_registers = forward ? 9 : 0;
  using Kind = SoftmaxRow::Kind;
  SoftmaxRow row;
  if (columns <= most_of_warp) {
    row.padded = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(std::max(columns, 32.0))));
    return row;
  }
  row.registers = std::ceil(columns / kThreads);
  const double round = kThreads * 16 / element_bytes;  // 16 bytes a thread
  row.rest = std::ceil(std::fmod(columns, round) / kThreads);
  row.kind = row.registers <= most_registers           ? Kind::kRegisters
             : columns * element_bytes < kShared - 128 ? Kind::kShared
                                                       : Kind::kStreamed;
  constexpr double kRegistersOfTwo = 6;  // with more, 1024 threads take over half of an SM's registers
  if (row.kind == Kind::kRegisters && row.registers > kRegistersOfTwo) row.blocks = 1;
  return row;
}

NormRows norm_rows(const Operator& op, double sms) {
  constexpr double kBlocks = 16, kStep = 512, kCache = 256 * 1024, kForRows = 0.6 * kCache;
  const double rows = static_cast<double>(op.flat()[0]), width = static_cast<double>(op.flat()[1]);
  const double tensors = op.pass == PassKind::kForward ? 1 : 2;
  NormRows norm;
  norm.steps = std::ceil(rows / (kBlocks * sms)) * std::ceil(width / kStep);
  if (op.pass != PassKind::kForward) norm.sum_steps = std::ceil(rows / 256) * std::ceil(width / 32 / sms);
  norm.read_again = std::max(0.0, 1 - kForRows / (kBlocks * tensors * width * bytes_of(op.dtype)));
  return norm;
}

double gather_blocks(const Operator& op) {
  constexpr double kBytes = 256 * 16;
  const double row = static_cast<double>(op.flat()[1]) * bytes_of(op.dtype);
  return static_cast<double>(op.flat()[0]) * std::ceil(row / kBytes);
}

}  // namespace foretrain
