// A pipeline chunk: which part of the model it holds.
#pragma once

#include <cstdint>

namespace foretrain {

// What a chunk is made of; with the shape, everything that its passes depend on.
struct Chunk {
  std::int64_t layers = 0;
  bool first = false;  // holds the embedding
  bool last = false;   // holds the final norm, the head and the loss

  bool operator==(const Chunk&) const = default;
};

}  // namespace foretrain
