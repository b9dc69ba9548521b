// How layers are dealt over the chunks of pipeline stages.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/model.h"
#include "spec/stack.h"

namespace foretrain {

// Layers of each chunk by the stack's rule, which deals them over all chunks of all stages in the model's
// order.
std::vector<std::int64_t> split_layers(const Model& model, StageSplit rule, std::int64_t chunks);

}  // namespace foretrain
