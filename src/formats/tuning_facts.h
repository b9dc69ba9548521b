// What follows from the settings that fine-tuning and its engines have in common, which no single key says: adapters, how
// weights are sharded, the optimizer by its name in transformers, half precision, and "auto".
#pragma once

#include "formats/facts.h"

namespace foretrain {

// "auto": whoever reads the file next chooses.
void drop_auto(Facts& facts);
void finish_adapter(Facts& facts);
void finish_sharding(Facts& facts);
void finish_optimizer(Facts& facts);
void finish_half(Facts& facts);

}  // namespace foretrain
