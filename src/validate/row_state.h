// What a row's own figures, before anything is predicted, say of how much it is worth as a judge.
#pragma once

#include <string>

#include "spec/gpu.h"
#include "spec/model.h"
#include "spec/unsteady.h"
#include "validate/measured_row.h"

namespace foretrain {

// Whether the run was in the broken state that its cluster's file knows of (spec/unsteady.h), by measured figures alone.
// Such rows are predicted and counted, but set apart from the healthy ones.
bool is_broken(const MeasuredRow& row, const Unsteady& state, const Model& model, const Gpu& gpu);

// Rows that repeat one fact share a group: the one they state; else, of steps that were composed of profiled parts
// (notes nodes=single: affine in layers and micro-batches to 1e-6), the part: hidden size, tp and micro-batch; else a row is its own.
std::string group_of(const MeasuredRow& row);

}  // namespace foretrain
