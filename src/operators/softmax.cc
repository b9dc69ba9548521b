#include "operators/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "operators/features.h"
#include "operators/light.h"

namespace foretrain {
namespace {

bool is_loss(const Operator& op) { return op.kind == OperatorKind::kCrossEntropy; }

Bytes softmax_bytes(const Operator& op) {
  const double a = bytes_of(op.dtype);
  switch (op.impl) {
    case Impl::kEager:
      return streamed_bytes(op, {2 * a + 16, 3 * a + 16});
    case Impl::kAten:
      return streamed_bytes(op, {2 * a, 3 * a});
    default:
      // Fused with the causal mask it skips what lies above the diagonal: half of each read, and half of the
      // backward's write.
      return streamed_bytes(op, {1.5 * a, 2 * a});
  }
}

// Eager: logits to fp32, log-softmax, pick; backward the same way down to half precision. Transformer Engine's reads a
// row for its sum, reads it again and puts the gradient in its place, which the backward scales.
Bytes loss_bytes(const Operator& op) {
  const auto [tokens, vocab] = real_sizes<2>(op);
  const double a = bytes_of(op.dtype);
  if (op.impl == Impl::kTe) return Bytes((is_forward(op) ? 3 : 2) * a * tokens * vocab);
  return Bytes((op.impl == Impl::kEager ? a + 16 : 2 * a) * tokens * vocab);
}

double least_loss_bytes(const Operator& op) {
  const auto [tokens, vocab] = real_sizes<2>(op);
  return bytes_of(op.dtype) * tokens * vocab * (is_forward(op) ? 1 : 2);
}

std::int32_t softmax_launches(const Operator& op) { return op.impl == Impl::kEager ? 5 : 1; }

std::int32_t loss_launches(const Operator& op) {
  if (op.impl == Impl::kTe) return is_forward(op) ? 2 : 1;
  if (op.impl != Impl::kEager) return 1;
  return is_forward(op) ? 3 : 4;
}

// What it reads: the loss of Hugging Face takes logits that were made fp32 before.
double element_bytes(const Operator& op) {
  return is_loss(op) && op.impl == Impl::kEager ? 4 : bytes_of(op.dtype);
}

Bytes loss_made(const Operator& op) {
  const auto [tokens, vocab] = real_sizes<2>(op);
  return Bytes(element_bytes(op) * tokens * vocab);
}

// Whether library kernels lay its rows over threads as softmax_row() says.
bool lays_rows(const Operator& op) {
  return op.impl != Impl::kFused && op.impl != Impl::kTe && (!is_loss(op) || is_forward(op));
}

void add_laid_rows(Terms& t, const Operator& op, const Gpu& gpu) {
  using Kind = SoftmaxRow::Kind;
  const auto [rows, columns] = real_sizes<2>(op);
  const double stream = (bytes(op) / gpu.hbm).value, sms = static_cast<double>(gpu.sms);
  const SoftmaxRow row = softmax_row(columns, element_bytes(op), is_forward(op));
  const bool warp = row.kind == Kind::kWarp, registers = row.kind == Kind::kRegisters;
  const bool streamed = row.kind == Kind::kStreamed;
  const double padded = warp ? stream * row.padded / columns : 0;
  t.add(padded);
  t.add(row.padded > 1024 ? padded : 0);
  const double slots = row.blocks * sms, waves = std::ceil(rows / slots);  // of blocks that hold a row
  const double whole = stream * waves * slots / rows, each = waves * row.blocks * 1e-6;
  t.add(warp ? 0 : whole);
  t.add(registers ? each * row.registers : 0);
  t.add(registers && row.blocks == 1 ? each * row.registers : 0);
  t.add(streamed ? each * row.rest : 0);
  t.add(registers ? each : 0);
  t.add(streamed && slots * columns * element_bytes(op) > gpu.l2.value / 2 ? whole : 0);
}

void add_softmax_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  if (lays_rows(op)) add_laid_rows(t, op, gpu);
}

void add_softmax_features(Features& f, const Operator& op, const Gpu&) {
  add_light_features(f, op);
  if (!lays_rows(op)) return;
  const auto [rows, columns] = real_sizes<2>(op);
  const SoftmaxRow row = softmax_row(columns, element_bytes(op), is_forward(op));
  f.add(static_cast<double>(row.kind), 1.0);
  f.add(row.blocks, 0.5);
  f.add(log2_of(row.padded), 0.5);
}

constinit const Description kTable[] = {
    {.kind = OperatorKind::kSoftmax,
     .size_names = RowSizes::kNames,
     .bytes = softmax_bytes,
     .usual_launches = softmax_launches,
     .add_terms = add_softmax_terms,
     .add_features = add_softmax_features,
     .stream_share = 0.65},
    {.kind = OperatorKind::kCrossEntropy,
     .size_names = LogitSizes::kNames,
     .eager_word = "fp32",  // logits
     .bytes = loss_bytes,
     .usual_launches = loss_launches,
     .least_bytes = least_loss_bytes,
     .made_bytes = loss_made,
     .working_bytes = loss_made,  // eager works on an fp32 copy of the logits
     .add_terms = add_softmax_terms,
     .add_features = add_softmax_features,
     .stream_share = 0.7},
};

}  // namespace

constinit const std::span<const Description> kSoftmaxes = kTable;

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

}  // namespace foretrain
