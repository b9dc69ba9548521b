// What a row's own figures, before anything is predicted, say of how much it is worth as a judge.
#pragma once

#include <string>

#include "spec/gpu.h"
#include "spec/model.h"
#include "validate/measured_row.h"

namespace foretrain {

// Whether the run was in a broken state, by measured figures alone. Known of nanotron's published sweep on EFA, where
// equal plans differ up to thirtyfold:
//   - all of its runs on 512 GPUs;
//   - stages over several nodes whose slot, step / (micro-batches + pp - 1), takes half a second or more, and at least
//     four times what 40 % of the peak would take for it, at 6 FLOPs a parameter and token.
// Such rows are predicted and counted, but set apart from the healthy ones.
bool is_broken(const MeasuredRow& row, const Model& model, const Gpu& gpu);

// Rows that repeat one fact share a group: the one they state; else, of steps that were composed of profiled parts
// (notes nodes=single: affine in layers and micro-batches to 1e-6), the part: hidden size, tp and micro-batch; else a row is its own.
std::string group_of(const MeasuredRow& row);

}  // namespace foretrain
