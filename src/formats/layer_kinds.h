// What differs from layer to layer of a config.json, said by lists (layer_types, mlp_only_layers), by periods
// (sliding_window_pattern, decoder_sparse_step) or by ends (first_k_dense_replace, max_window_layers).
#pragma once

#include <cstdint>
#include <vector>

#include "formats/config_keys.h"

namespace foretrain {

// Keys that a query of each layer sees; 0: all.
Result<std::vector<std::int64_t>> windows_of(ConfigKeys& keys, std::int64_t layers);

// Which layers have experts, of a model that has some.
Result<std::vector<bool>> expert_layers_of(ConfigKeys& keys, std::int64_t layers);

// A width that a file states once, or in a list by layer.
Result<std::vector<std::int64_t>> by_layer(ConfigKeys& keys, std::string_view key, std::int64_t layers,
                                           std::int64_t high, std::int64_t otherwise);

}  // namespace foretrain
