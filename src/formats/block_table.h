// What a block of arguments in a log of Megatron holds besides the flags that people give (megatron_table.h): every argument
// that there is, with its default, those of other programs that share the parser among them.
#pragma once

#include <span>

#include "formats/key_table.h"

namespace foretrain {

std::span<const KeyRow> block_rows();

}  // namespace foretrain
