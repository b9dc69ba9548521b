// What a step takes in energy: its operators and collectives, and what GPUs draw while they wait.
#pragma once

#include "cost/governor.h"
#include "predict/evaluation.h"
#include "spec/gpu.h"

namespace foretrain {

// Of all GPUs together, in a step that takes so long or is bounded so.
// Null: the costs do not know what power does; to wait then draws a share of the cap.
double joules(const Gpu& gpu, const PowerModel* power, const Timed& e, Seconds step);

}  // namespace foretrain
