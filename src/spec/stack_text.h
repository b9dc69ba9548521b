// A stack's file (docs/formats/stack.md). An operator of a part is written as
//   {op: linear, in: hidden, out: qkv, launches: [1, 1, 1], saves: [input]}
#pragma once

#include "base/yaml.h"
#include "spec/stack.h"

namespace foretrain {

Result<Stack> parse_stack(const Node& node);

}  // namespace foretrain
