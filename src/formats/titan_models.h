// What torchtitan trains: models are configurations of its own, named by a module and a function of its config_registry.py. No key of
// the command line states a size.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace foretrain {

struct TitanFlavor {
  std::string_view module, flavor, config;
  std::string_view presets;  // of those sizes, apart by blanks; the first where one is read
  std::int64_t layers;
  std::string_view precision;  // of the configuration, which converts products or does not
};
std::span<const TitanFlavor> titan_flavors();

// Layers of each chunk: dealt with so many more in place of the embedding and of the head, the remainder one each from the
// front (generate_llm_fqn_per_model_part of distributed/pipeline_parallel.py). Empty: they do not go round.
std::vector<std::int64_t> titan_split(std::int64_t layers, std::int64_t chunks, std::int64_t first_less,
                                      std::int64_t last_less);

}  // namespace foretrain
