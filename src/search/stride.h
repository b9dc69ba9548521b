// Going through places 0 to count - 1 so that any beginning of the way is spread over all of them: place n * stride % count
// is the n-th. The stride has no factor in common with the count, and is near the golden section of it, whose multiples are
// spread most evenly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace foretrain {

inline std::size_t stride_over(std::size_t count) {
  auto stride = std::max<std::size_t>(1, static_cast<std::size_t>(0.618 * static_cast<double>(count)));
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}

}  // namespace foretrain
