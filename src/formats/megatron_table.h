// Megatron's flags in all their forms (core, DeepSpeed's and MindSpeed's forks): a table of keys without dashes in front and
// with dashes inside, and what follows from them that no single key says.
#pragma once

#include "formats/facts.h"
#include "formats/settings.h"

namespace foretrain {

// Refuses what is no transformer (hybrid layers). Keys of launchers (nproc-per-node, nnodes) may be among the settings.
Result<void> apply_megatron(Settings settings, Facts& facts);

// "tensor_model_parallel_size", "--tensor-model-parallel-size": tensor-model-parallel-size.
std::string megatron_key(std::string_view word);

}  // namespace foretrain
