// Turns the items of a block into the tasks of its passes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operators/pointwise.h"
#include "workload/block.h"
#include "workload/pass.h"
#include "workload/pass_shape.h"

namespace foretrain {

class TaskWriter {
 public:
  TaskWriter(const Model& model, const Stack& stack, const PassShape& shape);

  void forward(const std::vector<BlockItem>& items, std::size_t begin, std::size_t end, bool recompute);
  void backward(const std::vector<BlockItem>& items, bool selective);
  // The backward of items that have theirs right after the forward, as part of that pass.
  void early_backward(const std::vector<BlockItem>& items);
  // Both uses of a tied table on one rank leave a gradient; autograd adds them up.
  void add_tied_gradients(std::int64_t width, std::int64_t rows);
  void gather_checkpoint();

  std::vector<Task> take() { return std::move(tasks_); }

 private:
  // When the work after a collective waits for it: at once; as the stack has it; or when that work needs it.
  enum class Waits { kNow, kByStack, kLater };

  void add_operator(const BlockItem& item, PassKind pass, std::size_t which, bool recompute);
  void add_collective(CollectiveKind kind, const Exchange& exchange, Direction direction, bool recompute,
                      Waits waits = Waits::kNow);
  void look_at(const BlockItem& item) { capture_ = item.captured ? Capture::kPart : Capture::kNone; }
  void item_backward(const std::vector<BlockItem>& items, std::size_t i);
  // The largest magnitude of a tensor whose shards lie on tensor ranks: one number.
  void add_scale_exchange(Direction direction, bool recompute);
  void exchange_backward(const Exchange& exchange, bool beside_product = false);
  void operator_backward(const std::vector<BlockItem>& items, std::size_t i);
  Bytes weight_gradient(const BlockItem& item) const;
  void accumulate(const BlockItem& item);
  void add_accumulate(std::int64_t k, std::int64_t n, double bytes, std::int64_t times);

  const PassShape& shape_;
  Capture capture_ = Capture::kNone;  // of the item at hand
  bool overlaps_;                     // products and the collectives around them
  bool blocking_;
  bool gather_again_;
  bool copies_sequences_;  // around a gather or scatter of activations
  TokenSizes activation_sizes_;
  bool fused_accumulation_;
  double activation_;
  std::vector<Task> tasks_;
};

}  // namespace foretrain
