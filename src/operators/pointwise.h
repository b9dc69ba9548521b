// Operators on each element of tokens x width.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

struct TokenSizes {
  std::int64_t tokens = 0, width = 0;

  static constexpr std::array<std::string_view, 2> kNames = {"tokens", "width"};
  static constexpr bool of(OperatorKind kind) {
    return (kind >= OperatorKind::kLayernorm && kind <= OperatorKind::kMaskedFill) ||
           kind == OperatorKind::kMaskRows || kind == OperatorKind::kAmax || kind == OperatorKind::kTranspose;
  }
  bool operator==(const TokenSizes&) const = default;
};
inline Operator pointwise(OperatorKind kind, const TokenSizes& sizes, const Variant& way = {}) {
  return {kind, sizes, way};
}

}  // namespace foretrain
