// A model as JSON: what a reader of a config.json or a model file understood.
//   {"name": ..., "parameters": N, "active_parameters": N, "mtp_parameters": N, "layers": N, "hidden": N, "heads": N,
//    "kv_heads": N, "head_dim": N, "ffn": N, "vocab": N, "tied": false, ..., "blocks": [{"layers": N, ...}], "assumed": []}
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/yaml.h"
#include "spec/model.h"

namespace foretrain {

// `ffn`: as the file states it; 0: that of the first dense layer, or of an expert where there is none.
std::string model_json(const Model& model, std::int64_t ffn);

// The same inside an object that has been begun.
void write_model_facts(JsonWriter& w, const Model& model, std::int64_t ffn);

// Any file of ours as JSON, its numbers and flags as such.
void write_node(JsonWriter& w, const Node& node);
std::string node_json(const Node& map);

}  // namespace foretrain
