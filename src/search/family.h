// Plans that agree in every outer dimension (dimension.h): they differ in how many layers are run again, how layers are
// split and what overlaps. A family is a value that says all of it, so that it can be thrown away and made again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "search/dimension.h"

namespace foretrain {

inline constexpr std::size_t kMostDimensions = 32;  // that make families

struct Family {
  // Values of the outer dimensions: the first of them may be large, the others are words, flags and layers.
  std::array<std::int32_t, kMostDimensions / 2> large{};
  std::array<std::int16_t, kMostDimensions / 2> small{};
  std::uint64_t first = 0;  // number of its first plan
  std::uint64_t plans = 0;
  std::int32_t most_layers = 0;    // that a chunk of any of its plans has
  std::int32_t fewest_layers = 0;  // as floors ask for it (FloorScope)

  void set(std::size_t dimension, Value value) {
    if (dimension < large.size())
      large[dimension] = static_cast<std::int32_t>(value);
    else
      small[dimension - large.size()] = static_cast<std::int16_t>(value);
  }
  Value value(std::size_t dimension) const {
    return dimension < large.size() ? large[dimension] : small[dimension - large.size()];
  }
  std::int64_t gpus() const { return value(0); }
  bool has(std::uint64_t index) const { return index >= first && index - first < plans; }

  bool operator==(const Family&) const = default;
};

}  // namespace foretrain
