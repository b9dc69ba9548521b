// What attention with heads that are no multiple of 16 bytes copies beside the kernel that runs it: queries, keys and
// values to padded heads, and back what the backward makes of them, which pads the gradient of what was made as well.
// What is padded is filled first (PyTorch's constant_pad_nd): 1.5 times the bytes of a plain copy. Narrow rows that are
// cut out of padded ones take twice a plain copy on our H200 (fitted to eleven shapes there, which are met within 5 %
// forward and 3 % backward in the median).
#pragma once

#include "operators/operator.h"

namespace foretrain {

// Queries, keys and values, copied.
Operator padding_copy(const Operator& attention);

// How many times that takes, in the operator's pass.
double padding_copies(const Operator& attention);

}  // namespace foretrain
