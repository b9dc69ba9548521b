// The plan of a run as an object of JSON: every key of a plan, with the stack's choice where the plan makes
// none, and the schedule that runs.
#pragma once

#include "base/json.h"
#include "spec/run.h"

namespace foretrain {

void put_plan(JsonWriter& w, const Run& run);

// What is run, under the key `run`: model, cluster, GPUs, stack, batch and the plan.
void put_run(JsonWriter& w, const Run& run);

}  // namespace foretrain
