// Layers of each chunk of a pipeline, in the letters of Megatron-LM's --pipeline-model-parallel-layout: E the
// embedding, t a layer, m a layer of multi-token prediction, L the loss, a bar between chunks, *n repeats
// what stands before it, brackets group. "Et*2|(t*3|)*2tL" is 2-3-3-1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

// Of as many chunks as the letters make.
Result<std::vector<std::int64_t>> layers_of_layout(std::string_view letters);

// Of so many chunks; where the letters make more, those without a letter do not count. Prediction further on
// has to stand in the chunk of the loss.
Result<std::vector<std::int64_t>> layers_of_layout(std::string_view letters, std::int64_t chunks);

// The letters of such chunks, with so many layers of multi-token prediction beside the loss: 2-3-3-1 is "Et*2|t*3|t*3|tL".
std::string layout_of_layers(std::span<const std::int64_t> layers, std::int64_t mtp_layers);

// Equal chunks if embedding and loss count as a layer each: 94 layers in 8 chunks are 11-12-12-12-12-12-12-11.
Result<std::vector<std::int64_t>> layers_beside_ends(std::int64_t layers, std::int64_t chunks);

}  // namespace foretrain
