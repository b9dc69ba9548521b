// The flags of Megatron-LM and its forks: what each means (key_table.h), read in one direction and written in the other.
#pragma once

#include <span>

#include "formats/key_table.h"

namespace foretrain {

std::span<const KeyRow> megatron_rows();

}  // namespace foretrain
