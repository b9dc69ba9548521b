// A row of a table for each token; backward, the rows' gradients added into the table's.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

struct EmbeddingSizes {
  std::int64_t tokens = 0, width = 0, vocab = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"tokens", "width", "vocab"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kEmbedding; }
  bool operator==(const EmbeddingSizes&) const = default;
};
inline Operator embedding(const EmbeddingSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kEmbedding, sizes, way};
}

// Blocks that gather its rows: of 256 threads, 16 bytes each.
double gather_blocks(const Operator& op);

}  // namespace foretrain
