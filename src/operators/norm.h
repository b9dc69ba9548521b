// Norms of rows: layernorm, rmsnorm. Their sizes are tokens x width (pointwise.h).
#pragma once

#include "operators/pointwise.h"

namespace foretrain {

// A norm in one kernel, as samples of PyTorch 2.11 on our H200 show it: a block of 128 threads goes through
// its row 512 elements at a time, 16 blocks an SM; and then through it again, from the SM's cache as far as
// that holds the rows of its blocks (forward one tensor, backward two). The gradients of scale and bias: a
// block of 1024 threads sums 32 columns, 256 rows at a time.
struct NormRows {
  double steps = 0;       // one after the other, over all waves
  double read_again = 0;  // share of a row that the cache has lost by then
  double sum_steps = 0;   // of the gradients of scale and bias
};
inline constexpr double kNormAllAgain = 0.4;  // the rows fill all of it
NormRows norm_rows(const Operator& op, double sms);

}  // namespace foretrain
