// What packed sequences are made of: several documents in a row, each of which attends to itself alone.
#pragma once

#include <cstdint>
#include <vector>

namespace foretrain {

struct Documents {
  double mean = 0;                    // tokens of a random document; 0: not stated so
  std::vector<std::int64_t> lengths;  // or of each document of every sequence, which they fill

  bool stated() const { return mean > 0 || !lengths.empty(); }
  bool operator==(const Documents&) const = default;
};

}  // namespace foretrain
