// What a measured row says of fine-tuning: the keys of a plan with adapters (columns peft, lora_rank and
// lora_targets), of quantised weights, and of where the optimizer's states lie.
#pragma once

#include <string>
#include <vector>

#include "validate/measured_row.h"
#include "validate/spec_map.h"

namespace foretrain {

// Products as sources name them, in a plan's words: "all linears" is "all", "qkv+attn_out" "linear_qkv+o_proj". A
// word that nobody knows stays, for the plan's reader to refuse.
std::string lora_words(std::string_view targets);

void put_adapters(SpecMap& map, const MeasuredRow& row, std::vector<std::string>& assumed);

// "paged_adamw_8bit", "adamw_8bit" and their like; a CPU's Adam.
void put_optimizer(SpecMap& map, const MeasuredRow& row);

}  // namespace foretrain
