// From the columns of a measured row to a model and a plan, by way of the readers of spec, so that a row
// obeys the rules that a file does. What the row does not say is filled in by the custom of its family and
// listed in `assumed` ("biases=1").
#pragma once

#include <string>
#include <vector>

#include "spec/model.h"
#include "spec/plan.h"
#include "validate/measured_row.h"

namespace foretrain {

// Of a dense row whose columns layers, hidden, heads, ffn, ffn_type, norm, positions, vocab, tied and seq are
// known. Where notes are silent, layernorm models have biases and train with the stack's dropout, rmsnorm
// models have neither.
Result<Model> model_of(const MeasuredRow& row, std::vector<std::string>& assumed);

// Of a row whose columns tp, pp, micro_batch and precision are known. Recomputation and ZeRO are left at
// their defaults where the row does not state them.
Result<Plan> plan_of(const MeasuredRow& row, std::vector<std::string>& assumed);

}  // namespace foretrain
