// An evaluated step for views: simulated again, with its events kept.
#pragma once

#include "predict/evaluation.h"
#include "predict/step_trace.h"
#include "spec/stack.h"

namespace foretrain {

void record(const Stack& stack, Simulated& e, StepTrace& trace);

}  // namespace foretrain
