// From the columns of a measured row to a model. What the row does not say is filled in by the custom of its
// family and listed in `assumed` ("biases=1").
#pragma once

#include <string>
#include <vector>

#include "spec/model.h"
#include "validate/measured_row.h"

namespace foretrain {

// Of a row whose columns layers, hidden, heads, ffn_type, norm, positions, vocab, tied and seq are known, and
// ffn where a layer is dense. Where notes are silent, layernorm models have biases and train with the stack's
// dropout, rmsnorm models have neither.
Result<Model> model_of(const MeasuredRow& row, std::vector<std::string>& assumed);

// Layers with one MLP for all tokens; all of a model without experts.
bool has_dense_layers(const MeasuredRow& row);

}  // namespace foretrain
