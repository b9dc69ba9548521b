// Configurations that are trees (YAML, JSON, TOML), each a table of keys: nanotron, GPT-NeoX, DeepSpeed, MaxText, axolotl,
// LLaMA-Factory, accelerate, LLM Foundry, and those whose keys are Megatron's (NeMo, Megatron-Bridge, Primus, MODEL_ARGS).
// Which one a tree is, is told by keys that no other has.
#pragma once

#include <optional>

#include "formats/run_map.h"
#include "formats/settings.h"

namespace foretrain {

// Megatron-Bridge's overrides ("model.tensor_model_parallel_size"), however they are given, and what its launcher was told.
Result<ForeignRun> read_bridge_overrides(Settings settings, const Settings& launcher);

// None: none of them.
Result<std::optional<ForeignRun>> read_tree(const Node& node);
// The same of keys joined by dots, as a command line overrides them: model.hidden_size=4096.
Result<std::optional<ForeignRun>> read_tree(Settings settings);

}  // namespace foretrain
