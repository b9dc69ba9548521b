// Writes the items of a block: a stack's parts, each operator with its sizes on one rank and what it keeps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "spec/stack.h"
#include "workload/adapter_slots.h"
#include "workload/amounts.h"
#include "workload/attention_sizes.h"
#include "workload/block.h"
#include "workload/widths.h"

namespace foretrain {

class BlockWriter {
 public:
  BlockWriter(const Model& model, const Stack& stack, const PassShape& shape, const Block& block);

  // Operators of `part` on all tokens, or, in the regions that sequence parallelism divides, on a share.
  void part(const Part& part, bool sequence_region);
  // The same, where another part has kept the input already.
  void part_on_kept_input(const Part& part, bool sequence_region);
  // What the next part reads has been kept already.
  void input_is_kept() { input_kept_ = true; }
  // The norm's operators over parts of a width: so many a token, so wide each.
  void norm_of_parts(const Part& norm, std::int64_t parts, std::int64_t width);

  // The MLP's operators at the width of shared experts, on the input that the router has kept: up to its last
  // product, and that product with what follows.
  enum class Half { kUp, kDown };
  // What is written next makes, or no longer makes, what attention reads.
  void feed_attention(bool feeds) { feeds_attention_ = feeds; }
  void shared_mlp(const Part& mlp, Half half);

  // A dense MLP, in the plan's pieces; the head and the loss likewise.
  void dense_mlp(const Part& mlp);
  void head(const Part& head, const Part& loss);

  // Experts' operators: products, and what lies between them.
  void experts(const Part& experts);

  // What comes next is run again by itself, where the plan says so of this module, until it ends.
  class Module {
   public:
    Module(BlockWriter& writer, RecomputeModule module);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

   private:
    BlockWriter& writer_;
    std::size_t begin_;
    bool outermost_;
  };

  // What comes next is captured as a CUDA graph, until it ends; one inside another is part of it.
  class Graph {
   public:
    Graph(BlockWriter& writer, bool captured)
        : writer_(writer), begin_(writer.items_.size()), captured_(captured) {}
    ~Graph() {
      for (std::size_t i = begin_; captured_ && i < writer_.items_.size(); ++i)
        writer_.items_[i].captured = true;
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

   private:
    BlockWriter& writer_;
    std::size_t begin_;
    bool captured_;
  };

  // Tokens travel to the ranks of their experts, or what these made of them comes back. Where something works
  // meanwhile, it is what is written next, until arrived().
  void send_tokens(bool to_experts, bool work_beside);
  void arrived() { beside_ = false; }
  // The host waits for the router's counts.
  void wait_for_counts();

  // Megatron's two points around what tensor ranks divide, f and g (see workload.h). What enters is as wide
  // as the residual stream, or as stated.
  void enter(std::int64_t width = 0);
  void leave();

  std::vector<BlockItem> take() { return std::move(items_); }

 private:
  void add_exchange(const Exchange& exchange);
  // So many rows, in bytes each forward and backward.
  void add_routed(CollectiveKind forward, CollectiveKind backward, double rows,
                  const std::array<double, 2>& row);
  std::int64_t shared_tokens() const { return shape_.sp ? all_tokens() / shape_.tp : all_tokens(); }
  std::int64_t experts_here() const { return block_.feed_forward.experts / shape_.ep; }
  // To which each expert's are filled up, on the average, where its products take whole blocks of rows.
  double padded_rows() const {
    return static_cast<double>(experts_here() * (shape_.low.formats.expert_rows - 1)) / 2;
  }
  // Rows that this rank's experts work on.
  std::int64_t routed_rows(std::int64_t tokens) const;
  Bytes activation(std::int64_t width) const;  // of all tokens
  bool applies(Condition when) const;
  std::int64_t all_tokens() const { return shape_.tokens(); }
  std::int64_t heads() const { return heads_of(block_.attention, shape_.tp); }

  AttentionHere attention_here() const {
    return {.model = model_, .attention = block_.attention, .shape = shape_, .widths = widths_};
  }

  void add(const PartOperator& entry, bool sequence_region);
  // Operands in fewer bits (low_precision_writer.cc).
  struct CastSizes {
    std::int64_t tokens = 0, width = 0;
    int copies = 0;
    std::int64_t launches = 1, times = 1;
  };
  struct NarrowProduct {
    bool to_input = false, to_weights = false;             // these products of the backward are narrow too
    bool casts_input = true;                               // no product before it has cast the same tensor
    bool gathers_input = false, gathers_gradient = false;  // under sp, cast before they are gathered
    bool transposes = false;
    CastSizes input, gradient, weights;
  };
  bool is_narrow(const PartOperator& entry) const;
  NarrowProduct narrow_product(const PartOperator& entry, std::int64_t tokens) const;
  const BlockItem* made_by() const;
  void add_cast(const Operator& op, PassKind when, std::int64_t launches, std::int64_t times);
  void quantise(const CastSizes& sizes, PassKind when, bool finds_scale, bool of_weights,
                bool of_shard = false);
  void transpose(const CastSizes& sizes, PassKind when);
  void cast_before(const PartOperator& entry, const NarrowProduct& product);
  void cast_after(const NarrowProduct& product);
  // What attention reads and makes is kept in fewer bits for its backward.
  bool attends_narrow() const;
  PartOperator with_stored_activation(PartOperator entry) const;
  void cast_activation(std::int64_t tokens, std::int64_t width, PassKind when);
  void cast_for_attention(const PartOperator& entry, std::int64_t tokens, PassKind when);
  void travel_narrow(int copies);
  Bytes narrow_bytes(Bytes bytes, int copies) const;
  PartOperator with_narrow_saves(PartOperator entry, const NarrowProduct& product) const;
  // Frozen weights (adapter_writer.cc): what is not done for them, what stands before and beside a product.
  PartOperator without_weight_gradients(PartOperator entry) const;
  void note_input(const PartOperator& product);
  void dequantise(const PartOperator& product);
  void hold_dequantised(BlockItem& item) const;
  void adapters(const PartOperator& product, bool sequence_region);
  void adapter(const AdapterSlot& slot, bool row_parallel, bool sequence_region);
  bool frozen() const { return shape_.adapters.frozen(); }
  Amounts set_sizes(Operator& op, const PartOperator& entry, std::int64_t tokens);
  void set_routing(Operator& op, const PartOperator& entry, std::int64_t tokens, Amounts& amounts) const;
  void set_pointwise(Operator& op, Width in, std::int64_t tokens, Amounts& amounts) const;
  Bytes saved_bytes(const std::vector<SavedTensor>& saves, const Amounts& amounts, std::int64_t times) const;
  double saved_bytes(SavedTensor tensor, const Amounts& amounts) const;
  Bytes saved_input(const std::vector<SavedTensor>& saves, const Amounts& amounts, std::int64_t times) const;
  void add_context(const BlockItem& attention, std::int64_t tokens);
  void add_rejoin(const PartOperator& rope, std::int64_t tokens);

  const Model& model_;
  const Stack& stack_;
  const PassShape& shape_;
  const Block& block_;
  Widths widths_;
  std::vector<BlockItem> items_;
  bool entered_ = false;          // the next product's input came through f
  bool input_kept_ = false;       // what the next operator takes in is kept by another part
  std::int64_t norm_parts_ = 0;   // above 0: a norm is of so many parts a token
  std::int64_t norm_width_ = 0;   // so wide
  bool again_ = false;            // inside a module that is run again
  bool made_again_ = false;       // what comes next reads what such a module made
  bool beside_ = false;           // an exchange is on its way
  bool feeds_attention_ = false;  // what comes next makes what attention reads
  std::int64_t pieces_ = 1;       // of tokens, in which what comes next is worked off
  std::optional<Width> cast_in_;  // what the last narrow product read, cast
  int left_copies_ = 0;           // of the gradient that comes through g, which travels in fewer bits
  AdapterSlots slots_;
  bool in_adapter_ = false;
  std::optional<Width> shared_in_;  // products in a row that read one tensor
  bool shared_kept_ = false;        // which is kept, by one of them or by another part
};

}  // namespace foretrain
