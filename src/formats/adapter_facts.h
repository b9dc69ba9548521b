// Which products have adapters, by the names that files have for them: "q_proj,v_proj", a list, Megatron's linear_qkv.
#pragma once

#include "formats/facts.h"

namespace foretrain {

// plan.lora_targets from lora_target; names that no plan has a word for are told and left out.
void name_targets(Facts& facts);

}  // namespace foretrain
