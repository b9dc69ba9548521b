#include "workload/context_attention.h"

#include <algorithm>
#include <cmath>

#include "operators/attention.h"
#include "operators/pointwise.h"

namespace foretrain {
namespace {

using enum CollectiveKind;

class Writer {
 public:
  Writer(const BlockItem& whole, const AttentionTensors& tensors, const ContextChoices& context,
         std::vector<BlockItem>& items)
      : whole_(whole),
        tensors_(tensors),
        context_(context),
        items_(items),
        element_(bytes_of(whole.op.dtype)) {}

  void write() {
    if (context_.a2a > 1) exchange_heads();
    if (context_.gathering() > 1)
      gather();
    else if (context_.ring() > 1)
      ring();
    else
      add_attention(op_of(Piece::kWhole), 1, {});
    if (context_.a2a > 1) return_heads();
  }

 private:
  // Of a sequence, what one kernel works on: all of it; a rank's own block; another's; all keys.
  enum class Piece { kWhole, kOwn, kOther, kGathered };

  Bytes bytes(double elements) const { return Bytes(elements * element_); }

  Operator op_of(Piece piece) const {
    Operator op = whole_.op;
    if (op.kind == OperatorKind::kLatentAttention) {
      // It has no squares, but a causal block has as many pairs as half of one.
      auto sizes = op.as<LatentAttentionSizes>();
      sizes.heads /= context_.a2a;
      divide(sizes, piece);
      op.set(sizes);
      return op;
    }
    auto sizes = op.as<AttentionSizes>();
    sizes.heads /= context_.a2a;
    sizes.kv_heads = std::max<std::int64_t>(sizes.kv_heads / context_.a2a, 1);
    const bool half = piece == Piece::kOther && sizes.causal == 1;
    divide(sizes, piece);
    if (half) sizes.batch *= 2, sizes.seq = std::max<std::int64_t>(sizes.seq / 2, 1), sizes.causal = 0;
    op.set(sizes);
    return op;
  }

  // Queries of a share of the sequence see as many keys as they do in the whole, in one kernel (a span as long as
  // that) or a part of them in every block of a ring.
  template <class Sizes>
  void divide(Sizes& sizes, Piece piece) const {
    const std::int64_t ring = context_.ring(), seq = sizes.seq;
    const bool square = sizes.causal == 0 && whole_.op.kind == OperatorKind::kAttention;
    if (piece == Piece::kGathered) {
      sizes.seq = seq / context_.ranks;
      if (square)
        sizes.batch *= context_.ranks;
      else if (sizes.causal <= 1)
        sizes.causal = seq;
    } else if (piece != Piece::kWhole) {
      sizes.seq = seq / ring;
      if (sizes.causal > 1) sizes.causal = std::max<std::int64_t>(sizes.causal / ring, 2);
    }
  }

  // The first kernel keeps what attention keeps.
  void add_attention(const Operator& op, std::int64_t times, std::optional<std::array<Bytes, 2>> extra,
                     bool beside = false) {
    BlockItem item = whole_;
    item.op = op;
    item.times = whole_.times * times;
    item.beside = beside || whole_.beside;
    if (extra) item.extra = extra;
    if (kept_) item.saved = item.selective_saved = item.saved_input = Bytes(0);
    kept_ = true;
    items_.push_back(item);
  }

  void add_exchange(GroupKind group, std::optional<CollectiveKind> forward,
                    std::optional<CollectiveKind> backward, double elements, std::int64_t times = 1) {
    if (!forward && !backward) return;
    BlockItem item;
    item.exchange = Exchange{
        .group = group, .forward = forward, .backward = backward, .bytes = bytes(elements), .times = times};
    item.selective = whole_.selective;
    items_.push_back(item);
  }

  // Elements that a kernel reads and writes beside the exchanges, so often forward and backward.
  void add_light(OperatorKind kind, double elements, std::int64_t forward, std::int64_t backward,
                 Dtype dtype) {
    // Rows as long as memory is read in; how long does not matter.
    constexpr std::int64_t kRow = 1024;
    BlockItem item;
    const auto rows = static_cast<std::int64_t>(std::ceil(elements / static_cast<double>(kRow)));
    for (const bool is_forward : {true, false}) {
      const std::int64_t times = is_forward ? forward : backward;
      if (times == 0) continue;
      item.op = pointwise(kind, {.tokens = std::max<std::int64_t>(rows, 1), .width = kRow}, {.dtype = dtype});
      item.launches = {is_forward ? 1 : 0, is_forward ? 0 : 1, 0};
      item.has_backward = !is_forward;
      item.times = times;
      item.selective = whole_.selective;
      items_.push_back(item);
    }
  }

  double kv() const { return tensors_.k + tensors_.v; }

  // Each tensor is put in order before it leaves and when it has come.
  void exchange_heads() {
    const double kv_copies = copies();
    add_light(OperatorKind::kCopy, tensors_.q + kv() * kv_copies, 2, 2, whole_.op.dtype);
    add_exchange(context_.a2a_group(), kAllToAll, kAllToAll, tensors_.q);
    add_exchange(context_.a2a_group(), kAllToAll, kAllToAll, tensors_.k * kv_copies);
    add_exchange(context_.a2a_group(), kAllToAll, kAllToAll, tensors_.v * kv_copies);
  }

  // Backward the output goes there once more, as it is kept by tokens.
  void return_heads() {
    add_exchange(context_.a2a_group(), std::nullopt, kAllToAll, tensors_.out);
    add_exchange(context_.a2a_group(), kAllToAll, kAllToAll, tensors_.out);
    add_light(OperatorKind::kCopy, tensors_.out, 2, 4, whole_.op.dtype);
  }

  // Of each head of keys and values, where there are more ranks than these.
  double copies() const {
    if (whole_.op.kind == OperatorKind::kLatentAttention || context_.repeats_kv) return 1;
    const auto heads = static_cast<double>(whole_.op.as<AttentionSizes>().kv_heads);
    return std::max(1.0, static_cast<double>(context_.a2a) / heads);
  }

  void ring() {
    const std::int64_t n = context_.ring();
    const double blocks = static_cast<double>(n), kv_copies = context_.a2a > 1 ? copies() : 1.0;
    // Partial outputs and received blocks stay until the last; backward two buffers each for a block and for its
    // gradients, and the gradients of queries twice.
    const double block = kv() * kv_copies;
    const std::array<Bytes, 2> extra = {bytes(blocks * (tensors_.out + block)),
                                        bytes(2 * tensors_.q + 5 * block)};
    step(Piece::kOwn, 1, true, 1, extra);
    if (n > 2) step(Piece::kOther, n - 2, true, 2, extra);
    step(Piece::kOther, 1, false, 1, extra);
  }

  // So many equal steps. The next block comes in beside the work on this one, and what was made of it is added
  // up when both are done; backward likewise the gradients of queries, keys and values.
  void step(Piece piece, std::int64_t times, bool sends, double sent_back,
            const std::array<Bytes, 2>& extra) {
    const double block = kv() * (context_.a2a > 1 ? copies() : 1.0);
    add_light(OperatorKind::kAdd, tensors_.q + block, 0, times, whole_.op.dtype);
    if (sends) add_exchange(context_.ring_group(), kSendReceive, std::nullopt, block, times);
    add_exchange(context_.ring_group(), std::nullopt, kSendReceive, sent_back * block, times);
    add_attention(op_of(piece), times, extra, true);
    add_light(OperatorKind::kAdd, tensors_.out, times, 0, Dtype::kFp32);
  }

  // Gathered pieces come rank by rank and are put in the order of the sequence.
  void gather() {
    const double all = static_cast<double>(context_.ranks);
    add_exchange(GroupKind::kContext, kAllGather, kReduceScatter, all * tensors_.k);
    add_exchange(GroupKind::kContext, kAllGather, kReduceScatter, all * tensors_.v);
    add_light(OperatorKind::kCopy, all * kv(), 1, 2, whole_.op.dtype);
    add_attention(
        op_of(Piece::kGathered), 1,
        std::array<Bytes, 2>{bytes(2 * all * kv() + tensors_.out), bytes(3 * all * kv() + 2 * tensors_.q)});
    add_exchange(GroupKind::kContext, std::nullopt, kAllGather, all * tensors_.k);
    add_exchange(GroupKind::kContext, std::nullopt, kAllGather, all * tensors_.v);
  }

  const BlockItem& whole_;
  const AttentionTensors& tensors_;
  const ContextChoices& context_;
  std::vector<BlockItem>& items_;
  double element_;
  bool kept_ = false;
};

}  // namespace

void add_context_attention(const BlockItem& whole, const AttentionTensors& tensors,
                           const ContextChoices& context, std::vector<BlockItem>& items) {
  Writer(whole, tensors, context, items).write();
}

}  // namespace foretrain
