// A plan as arguments of Megatron-LM's training scripts (megatron/training/arguments.py), and what of it they
// cannot say. The schedules beyond gpipe's successors are not in Megatron-LM.
#pragma once

#include <string>
#include <vector>

#include "spec/run.h"

namespace foretrain {

struct MegatronFlags {
  std::vector<std::string> flags;   // as --tensor-model-parallel-size 8
  std::vector<std::string> beyond;  // what the plan asks for and Megatron-LM does not have, in words
};
MegatronFlags megatron_flags(const Run& run);

}  // namespace foretrain
