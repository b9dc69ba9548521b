// Weights that lie in four or eight bits, written out in the format of the passes before a product takes them:
//   bytes read: bits / 8 an element, and scales; bytes written: a whole matrix, which lives while the product runs
// One kernel (bitsandbytes), or an eager chain (torchao's NF4).
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

struct QuantisedSizes {
  std::int64_t rows = 0, columns = 0, bits = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"rows", "columns", "bits"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kDequantise; }
  bool operator==(const QuantisedSizes&) const = default;
};
inline Operator dequantise(const QuantisedSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kDequantise, sizes, way};
}

}  // namespace foretrain
