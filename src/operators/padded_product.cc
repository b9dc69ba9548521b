#include "operators/padded_product.h"

#include "operators/pointwise.h"
#include "operators/product.h"

namespace foretrain {

std::int64_t row_unit(Dtype product) {
  if (!is_scaled(product)) return 1;
  return product == Dtype::kMxfp8 ? 32 : 16;
}

Operator with_padded_sides(const Operator& op) {
  if (op.kind != OperatorKind::kLinear || !is_scaled(op.dtype)) return op;
  const std::int64_t unit = row_unit(op.dtype);
  const auto up = [unit](std::int64_t size) { return (size + unit - 1) / unit * unit; };
  LinearSizes sizes = op.as<LinearSizes>();
  sizes.k = up(sizes.k);
  sizes.n = up(sizes.n);
  const bool sums_tokens = op.pass == PassKind::kWeight || op.pass == PassKind::kBackward;
  if (sums_tokens || op.dtype == Dtype::kMxfp8) sizes.m = up(sizes.m);
  Operator padded = op;
  padded.set(sizes);
  return padded;
}

std::vector<Operator> padding_of(const Operator& op, const Operator& padded) {
  const auto here = op.as<LinearSizes>(), there = padded.as<LinearSizes>();
  std::vector<Operator> copies;
  const auto copy = [&](std::int64_t rows, std::int64_t width, std::int64_t to_rows, std::int64_t to_width) {
    if (rows == to_rows && width == to_width) return;
    copies.push_back(pointwise(OperatorKind::kCopy, {.tokens = to_rows, .width = to_width},
                               {.impl = Impl::kAten, .dtype = Dtype::kBf16}));
  };
  copy(here.m, here.k, there.m, there.k);  // x, or its gradient
  copy(here.n, here.k, there.n, there.k);  // w, or its gradient
  copy(here.m, here.n, there.m, there.n);  // y, or its gradient
  return copies;
}

}  // namespace foretrain
