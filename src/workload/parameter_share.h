// Parameters that one rank of a chunk holds.
#pragma once

#include <cstdint>

#include "job/mesh.h"
#include "spec/model.h"
#include "spec/stack.h"
#include "workload/chunk.h"

namespace foretrain {

// Trained numbers that one rank of a chunk holds, before any ZeRO sharding. A tied head on the last of
// several ranks is a second copy of the embedding, unless one rank holds both ends of the model.
struct WeightShare {
  std::int64_t elements = 0;
  std::int64_t matrix_elements = 0;

  bool operator==(const WeightShare&) const = default;
};

struct ParameterShare {
  std::int64_t elements = 0;
  std::int64_t tensors = 0;
  std::int64_t embedding_elements = 0;  // of these, the tied embedding that first and last stage share
  std::int64_t matrix_elements = 0;     // of these, in the blocks' matrices
  std::int64_t largest_matrix = 0;      // elements of the largest of these
  std::int64_t largest_tensor = 0;      // likewise with the ends of the model
  WeightShare experts;                  // of all these

  WeightShare of(WeightClass weights) const {
    if (weights == WeightClass::kExperts) return experts;
    return {elements - experts.elements, matrix_elements - experts.matrix_elements};
  }
  bool operator==(const ParameterShare&) const = default;
};
ParameterShare parameter_share(const Model& model, const Stack& stack, const WeightRanks& ranks,
                               const Chunk& chunk, bool ends_together);

}  // namespace foretrain
