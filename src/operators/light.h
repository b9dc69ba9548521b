// What light operators share: all but products and attention. They stream tensors through memory, and their
// first two sizes are the rows and columns of one.
//
// Terms: bytes / bandwidth, something for its rows (a row is a reduction of its own), and the bytes again
// where rows are no multiple of 8 elements. Then, where kernels and blocks decide the time more than bytes do
// (lists of tensors, sums over tokens, softmax, norms, embeddings), what a family counts of its own.
#pragma once

#include "operators/description.h"

namespace foretrain {

// Bytes, accesses or passes an element, forward and backward.
struct Traffic {
  double forward;
  double backward;
};
inline Traffic times(const Traffic& accesses, double a) {
  return {accesses.forward * a, accesses.backward * a};
}
inline double traffic_of(const Operator& op, const Traffic& traffic) {
  return op.pass == PassKind::kForward ? traffic.forward : traffic.backward;
}

// Bytes of an operator of rows x columns that moves `traffic` an element.
inline Bytes streamed_bytes(const Operator& op, const Traffic& traffic) {
  const auto [rows, columns] = real_sizes<2>(op);
  return Bytes(rows * columns * traffic_of(op, traffic));
}

// The terms above, `of_rows` the seconds in place of the rows'.
void add_light_terms(Terms& terms, const Operator& op, const Gpu& gpu, double of_rows);
// A nanosecond a row.
void add_row_terms(Terms& terms, const Operator& op, const Gpu& gpu);
// Work, sizes, and whether rows load well.
void add_light_features(Features& features, const Operator& op);

// The gradient of what all tokens share is summed over them; a norm in several kernels sums along rows, too.
void add_column_sum_terms(Terms& terms, const Operator& op, const Gpu& gpu, bool along_rows);
void add_column_sum_features(Features& features, const Operator& op, const Gpu& gpu);

}  // namespace foretrain
