// Which stacks a row's own words name, the likeliest first: the framework that it states, in the way and of the time that
// its other columns tell. Never by source.
//   - torch.compile in the notes, or a tp_mode of torchtitan (asynchronous tensor parallelism is a pass of the compiler, and its
//     tables compile both ways): NAME-compile.
//   - ZeRO 3 of DeepSpeed or Megatron with scores that are materialised: of 2021, before flash attention.
#pragma once

#include <string>
#include <vector>

#include "validate/measured_row.h"

namespace foretrain {

std::vector<std::string> stacks_named_by(const MeasuredRow& row);

}  // namespace foretrain
