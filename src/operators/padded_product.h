// Products in fewer bits whose sides are no multiple of what libraries multiply (job/alignment_check.h, which refuses plans
// with such): who wants one pads the operands to it and cuts what comes out, by a copy each.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/operator.h"

namespace foretrain {

std::int64_t row_unit(Dtype product);  // elements; 1: any

// The same with its sides padded: columns and what is summed over. Of the forward's y = x w' (m x k times k x n) tokens are
// such a side in the weights' gradient alone, and of mxfp8's blocks, which lie both ways. All others: as they are.
Operator with_padded_sides(const Operator& op);
// What pads and cuts: copies of operands and of what is made, where a side of them is padded.
std::vector<Operator> padding_of(const Operator& op, const Operator& padded);

}  // namespace foretrain
