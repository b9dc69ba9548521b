// What several answers in JSON have in common: the plan of a run, with the stack's choice where the plan makes none and the
// schedule that runs; and seconds.
#pragma once

#include "base/json.h"
#include "base/units.h"
#include "spec/run.h"

namespace foretrain {

void put_plan(JsonWriter& w, const Run& run);

// What is run, under the key `run`: model, cluster, GPUs, stack, batch and the plan.
void put_run(JsonWriter& w, const Run& run);

// Under a picosecond is what sums and differences of times leave over where nothing is spent: 0.
double told_seconds(Seconds seconds);

}  // namespace foretrain
