// Non-negative least squares for a handful of terms: minimise |A c - y|^2 with c >= 0, exactly. With n terms
// every one of the 2^n sets of active terms is solved and the best that is non-negative taken; n is at
// most 12.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace foretrain {

// `a` is row-major with `columns` a row.
std::vector<double> non_negative_least_squares(std::span<const double> a, std::size_t columns,
                                               std::span<const double> y);

}  // namespace foretrain
