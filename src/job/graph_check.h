// Whether a run's CUDA graphs can be: what its stack captures, and nothing that the host waits for or whose shape
// changes from step to step.
#pragma once

#include <optional>
#include <string>

#include "spec/run.h"

namespace foretrain {

// Why the stack cannot capture it; nothing where it can.
std::optional<std::string> uncaptured(const Stack& stack, GraphModules scope);

// Why not; nothing where they can, or where none are asked for.
std::optional<std::string> graph_refusal(const Run& run);

}  // namespace foretrain
