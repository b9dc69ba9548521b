// Parameters that one rank of a chunk holds.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "job/choices.h"
#include "spec/model.h"
#include "spec/stack.h"
#include "workload/chunk.h"
#include "workload/muon.h"

namespace foretrain {

// Trained numbers that one rank of a chunk holds, before any ZeRO sharding; and, where adapters alone are
// trained, what lies frozen beside them: in the precision, or of products' matrices in fewer bits. A tied head on the last of
// several ranks is a second copy of the embedding, unless one rank holds both ends of the model.
struct WeightShare {
  std::int64_t elements = 0;
  std::int64_t matrix_elements = 0;
  std::int64_t narrow_elements = 0;

  bool operator==(const WeightShare&) const = default;
};

struct FrozenShare {
  ByClass<std::int64_t> elements;  // all of them
  std::int64_t quantised = 0;      // of the common ones, those that lie in fewer bits where a plan says so
  std::int64_t quantised_rows = 0;
  std::int64_t largest_quantised = 0;  // elements of the largest such matrix

  void add(const FrozenShare& other);
  ByClass<std::int64_t> narrow;  // of all, those that products take in fewer bits by a recipe
  // In which bytes weights lie that take `precision` in passes.
  Bytes bytes(WeightClass weights, const AdapterChoices& adapters, Dtype precision) const;
  bool operator==(const FrozenShare&) const = default;
};

struct ParameterShare {
  std::int64_t elements = 0;
  std::int64_t tensors = 0;
  std::int64_t embedding_elements = 0;  // of these, the tied embedding that first and last stage share
  std::int64_t matrix_elements = 0;     // of these, in the blocks' matrices
  std::int64_t narrow_elements =
      0;                            // of these, what products take in fewer bits by a recipe: neither routers
                                    // nor layers that the recipe leaves
  std::int64_t largest_matrix = 0;  // elements of the largest of these
  std::int64_t largest_tensor = 0;  // likewise with the ends of the model
  WeightShare experts;              // of all these
  FrozenShare frozen;               // beside these

  // What another chunk of the same rank holds.
  void add(const ParameterShare& other);
  WeightShare of(WeightClass weights) const {
    if (weights == WeightClass::kExperts) return experts;
    return {elements - experts.elements, matrix_elements - experts.matrix_elements,
            narrow_elements - experts.narrow_elements};
  }
  bool operator==(const ParameterShare&) const = default;
};
ParameterShare parameter_share(const Model& model, const Stack& stack, const WeightRanks& ranks,
                               const Chunk& chunk, bool ends_together, const AdapterChoices& adapters = {});

// The blocks' matrices that such a rank trains whole: routers, embedding and head are not among them. Of one class, or all.
MatrixKinds matrices_of(const Model& model, const Stack& stack, const WeightRanks& ranks, const Chunk& chunk,
                        std::optional<WeightClass> of = std::nullopt);

}  // namespace foretrain
