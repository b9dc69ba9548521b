// What operands of eight bits and fewer add to a product (spec/dtype.h): their casts. All are forward operators,
// whatever pass the product belongs to.
//   quantise   reads a bf16 tensor, writes it in the operator's format with its scales; `copies` 2: transposed, too
//              (scaled along the other side), as gradients need it. The scales of rows and blocks, and the largest
//              magnitude that delayed scaling keeps for a later step, are found on the way.
//   amax       the largest magnitude of a tensor in the operator's format (bf16), which current scaling needs first
//   transpose  a copy in the operator's format (fp8), transposed: Hopper multiplies such operands along rows alone
// Bytes an element: 2 + copies * bytes_of(format); 2; 2 * bytes_of(format). Implementations:
//   aten   a library's own kernel (Transformer Engine)
//   fused  a compiled one (torch.compile, for the one shape that it runs at)
//   eager  PyTorch's: a chain of kernels; of a transposed copy one, which is ten times slower than a library's
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "operators/operator.h"
#include "operators/pointwise.h"

namespace foretrain {

struct QuantiseSizes {
  std::int64_t tokens = 0, width = 0, copies = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"tokens", "width", "copies"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kQuantise; }
  bool operator==(const QuantiseSizes&) const = default;
};
inline Operator quantise(const QuantiseSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kQuantise, sizes, way};
}
inline constexpr std::size_t kCopiesSize = 2;
static_assert(QuantiseSizes::kNames[kCopiesSize] == "copies");
Operator with_one_copy(Operator cast);  // as it lies alone
inline Operator amax(const TokenSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kAmax, sizes, way};
}
inline Operator transpose(const TokenSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kTranspose, sizes, way};
}

}  // namespace foretrain
