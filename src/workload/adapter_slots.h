// Which products of a block have an adapter beside them, and how wide that is: a stack says in words what its
// products read and make, and these words name the module.
//   in hidden, out q           q_proj         in attended, out hidden   o_proj
//   in hidden, out kv          k_proj, v_proj in hidden, out ffn        gate_proj, up_proj; up_proj where nothing is gated
//   in hidden, out qkv         all three      in ffn, out hidden        down_proj
// A product that makes several has an adapter for each, or one, where the stack or the model fuses them. The
// products of latent attention count as those of queries (q_rank, q) and of keys and values (kv_down, kv_up).
// Tensor ranks divide B beside a product whose output they divide, and A beside one whose input they do, as in
// PEFT's layers for Megatron: a rank holds A and B of the widths that it has of the product.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "job/choices.h"
#include "spec/model.h"
#include "spec/stack.h"
#include "workload/widths.h"

namespace foretrain {

struct AdapterSlot {
  std::int64_t in = 0;   // on this rank
  std::int64_t out = 0;  // likewise
};

class AdapterSlots {
 public:
  AdapterSlots(const Model& model, const Stack& stack, const AdapterChoices& adapters)
      : adapters_(adapters),
        fuses_qkv_(stack.adapters.fused || model.fused_qkv),
        fuses_mlp_(stack.adapters.fused) {}

  // Beside the next product of the block, of its times of them in a row. The products of a block are asked for in
  // their order.
  std::span<const AdapterSlot> beside(const PartOperator& product, const Widths& widths);

 private:
  void add(LoraTarget target, std::int64_t in, std::int64_t out);

  AdapterChoices adapters_;
  bool fuses_qkv_;
  bool fuses_mlp_;
  int keys_ = 0;  // products of keys or values that were asked for
  int ups_ = 0;   // products that open an MLP, likewise
  std::array<AdapterSlot, 4> slots_{};
  std::size_t count_ = 0;
};

// Whether frozen weights of the product can lie in fewer bits: those of linear modules but for the router, a gate
// of one column and the head.
bool can_be_quantised(const PartOperator& product);

// Whether tensor ranks divide what the product reads.
bool divides_input(const PartOperator& product);

}  // namespace foretrain
