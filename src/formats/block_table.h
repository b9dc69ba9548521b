// What a block of arguments in a log of Megatron, or a file of all its arguments, holds besides the flags that people give
// (megatron_table.h): every argument that there is, with its default, those of other programs that share the parser among them.
#pragma once

#include "formats/key_table.h"

namespace foretrain {

// After Megatron's own flags, whose facts say which of the fusions that are off matter.
void apply_block(Settings settings, Facts& facts);

}  // namespace foretrain
