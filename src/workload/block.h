// One block, or the ends of the model, as a forward list of items: operators and the communication points f
// and g between them. Forward and backward passes are both made from it (see workload.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "operators/operator.h"
#include "workload/pass_shape.h"

namespace foretrain {

struct BlockItem {
  enum class Kind : unsigned char { kOperator, kEnter, kLeave };  // kEnter is f, kLeave is g

  Kind kind = Kind::kOperator;
  Operator op;                                       // its forward
  std::array<std::int64_t, 3> launches = {1, 1, 1};  // forward, backward, to weights
  std::int64_t times = 1;
  Bytes saved;
  std::optional<std::array<Bytes, 2>> extra;  // held on top while it runs, forward and backward
  Bytes selective_saved;                      // under selective recomputation
  bool selective = false;
  bool has_backward = true;
};

std::vector<BlockItem> embedding_items(const Model& model, const Stack& stack, const PassShape& shape);
std::vector<BlockItem> block_items(const Model& model, const Stack& stack, const PassShape& shape,
                                   const Block& block);
std::vector<BlockItem> head_items(const Model& model, const Stack& stack, const PassShape& shape);

}  // namespace foretrain
