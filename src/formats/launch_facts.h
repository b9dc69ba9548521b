// A run to be launched as statements, in the words that readers of launches use (facts.h): sizes of the model, keys of the
// plan as "plan.tp", seq, global_batch, gpus, nodes, gpus_per_node, dp. What is as every model or plan has it is left out.
#pragma once

#include "formats/launch_run.h"
#include "formats/launch_settings.h"

namespace foretrain {

// Layers that differ are told by lists: "expert_layers" and "window_layers" hold a digit a layer ("000111"), 1 for experts
// and for a window; what differs otherwise is "blocks".
Statements statements_of(const LaunchRun& run);

// Where a framework knows the model by a name: all of it is stated so.
void take_model(Statements& statements);

}  // namespace foretrain
