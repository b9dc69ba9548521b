#include "workload/pieces.h"

#include <algorithm>
#include <bit>

namespace foretrain {
namespace {

Bytes working(const BlockItem& item, PassKind pass) {
  Operator op = item.op;
  op.pass = pass;
  return working_bytes(op);
}

// What it holds beside `piece` while it runs, forward and backward.
std::array<Bytes, 2> held(const BlockItem& item, Bytes piece) {
  std::array<Bytes, 2> most = {working(item, PassKind::kForward), working(item, PassKind::kBackward)};
  if (item.has_weights())
    most[1] = std::max(working(item, PassKind::kInput), working(item, PassKind::kWeight));
  if (item.extra) most = *item.extra;
  return {piece + most[0], piece + most[1]};
}

Bytes of_a_piece(std::span<const BlockItem> items) {
  Bytes sum;
  for (const BlockItem& item : items) sum += item.saved / static_cast<double>(item.pieces);
  return sum;
}

void keep(BlockItem& item, Bytes bytes) { item.saved = item.selective_saved = bytes; }

double element(const BlockItem& item) { return bytes_of(item.op.dtype); }

// The logits of one piece.
Bytes logits(const BlockItem& head) {
  const auto [m, k, n] = head.product();
  return Bytes(m * n * element(head));
}

// The gradient of the input takes the input's place.
void make_gradients_early(std::span<BlockItem> items, const LossChoices& loss) {
  const bool fused = loss.kind == LossKind::kFused;
  const auto head =
      std::find_if(items.begin(), items.end(), [](const BlockItem& i) { return i.has_weights(); });
  if (head == items.end()) return;
  const auto [m, k, n] = head->product();
  const auto pieces = static_cast<double>(head->pieces);
  const Bytes input = Bytes(m * k * pieces * element(*head));
  const bool trained = head->launches[2] > 0;  // a frozen head keeps no input, and has no gradient
  const Bytes kept = trained ? input / pieces : Bytes(0);
  const Bytes piece = fused ? logits(*head) : of_a_piece(items) - kept;
  for (BlockItem& item : items) {
    item.extra = held(item, piece);
    if (fused) item.extra = {piece, piece + Bytes(&item == &*head ? m * k * element(item) : 0.0)};
    keep(item, Bytes(0));
  }
  keep(*head, input + Bytes(fused && trained ? k * n * element(*head) : 0.0));
}

void keep_logits(std::span<BlockItem> items) {
  Bytes all;
  for (BlockItem& item : items) {
    if (item.has_weights()) {
      all = logits(item) * static_cast<double>(item.pieces);
      keep(item, item.launches[2] > 0 ? item.saved_input : Bytes(0));
    } else {
      keep(item, item.op.kind == OperatorKind::kCrossEntropy && item.has_backward ? all : Bytes(0));
    }
  }
}

Part make_fused_loss() {
  PartOperator op;
  op.kind = OperatorKind::kCrossEntropy;
  op.impl = Impl::kFused;
  op.in = op.out = Width::kVocab;
  op.launches = {2, 0, 0};
  return {op};
}

}  // namespace

std::int64_t loss_pieces(const LossChoices& loss, std::int64_t tokens, std::int64_t hidden,
                         std::int64_t vocab) {
  if (loss.kind == LossKind::kWhole) return 1;
  if (loss.chunks > 0) return std::min(loss.chunks, tokens);
  const std::int64_t wider = (vocab + hidden - 1) / hidden;
  const auto piece = std::bit_ceil(static_cast<std::uint64_t>((tokens + wider - 1) / wider));
  return (tokens + static_cast<std::int64_t>(piece) - 1) / static_cast<std::int64_t>(piece);
}

const Part& fused_loss() {
  static const Part part = make_fused_loss();
  return part;
}

void tile(std::span<BlockItem> mlp) {
  const Bytes piece = of_a_piece(mlp);
  bool first = true;
  for (BlockItem& item : mlp) {
    if (item.exchange || item.waits) continue;
    item.extra = held(item, piece);
    const bool reads =
        item.op.kind != OperatorKind::kDequantise && !item.is_cast();  // the one reads weights alone
    keep(item, first && reads ? item.saved_input : Bytes(0));
    item.selective = false;
    item.tiled = true;
    first = first && !reads;
  }
}

void work_in_pieces(std::span<BlockItem> head_and_loss, const LossChoices& loss) {
  for (BlockItem& item : head_and_loss) item.early = loss.early();
  if (loss.early())
    make_gradients_early(head_and_loss, loss);
  else if (loss.kind == LossKind::kChunked)
    keep_logits(head_and_loss);
}

}  // namespace foretrain
