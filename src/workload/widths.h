// How wide a block's tensors are for each token, on one rank: a stack says in words what its operators read
// and write, an attention and a feed-forward say how wide that is.
#pragma once

#include <array>
#include <cstdint>

#include "job/mesh.h"
#include "spec/model.h"
#include "spec/stack.h"

namespace foretrain {

class Widths {
 public:
  std::int64_t operator[](Width width) const { return widths_[static_cast<std::size_t>(width)]; }
  void set(Width width, std::int64_t elements) { widths_[static_cast<std::size_t>(width)] = elements; }
  // Of an MLP so wide, over `tp` ranks.
  void set_ffn(const FeedForward& feed_forward, std::int64_t ffn, std::int64_t tp);

 private:
  std::array<std::int64_t, kWidthCount> widths_{};
};

// On one of these ranks. Scores are as wide as a sequence, for one head and one query.
Widths widths_of(const Model& model, const Stack& stack, const Block& block, const WeightRanks& ranks,
                 std::int64_t seq);

// Heads on one rank. Fewer key-value heads than ranks: each keeps a whole one.
std::int64_t heads_of(const Attention& attention, std::int64_t tp);
std::int64_t kv_heads_of(const Attention& attention, std::int64_t tp);

// Rows of the embedding and the head, all tensor-parallel ranks together.
std::int64_t padded_vocab(const Model& model, const Stack& stack, std::int64_t tp);

}  // namespace foretrain
