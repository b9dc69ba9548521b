// A Hugging Face config.json as a model. Its family is told by `model_type`, then by `architectures`; of a wrapper the part
// of text is read (`text_config`). What a file leaves out is its class's (family.h), and said in `assumed`. What is not
// a decoder of attention and feed-forward is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/yaml.h"

namespace foretrain {

struct HfModel {
  Node map;              // as a model file would state it (spec/model_text.h), `assumed` among its keys
  std::string family;    // the type that it was read as
  std::int64_t ffn = 0;  // intermediate_size as stated, though no layer may have it (Qwen3-30B-A3B)
};

// `name`: what the model is called where the file does not say.
Result<HfModel> read_hf_config(const Node& config, std::string_view name);

// Whether a map is such a config: it says what it is of.
bool is_hf_config(const Node& map);

}  // namespace foretrain
