// How many layers each stage has, as a dimension of the search.
#pragma once

#include "search/dimension.h"

namespace foretrain {

// layers_per_stage as a value: 0 the stack's rule, else first and last stage's layers, the rest dealt evenly
// (of stages between the ends, the later ones have one more where it does not come out even: they hold fewer
// micro-batches); or one that a constraint gives.
Value split_value(std::int64_t first, std::int64_t last);
std::vector<std::int64_t> layers_of_split(const Problem& problem, std::int64_t pp, Value value);
// Likewise, none of the stack's rule.
void fill_split(const Problem& problem, std::int64_t pp, Value value, std::vector<std::int64_t>& stages);

Dimension split_dimension();

}  // namespace foretrain
