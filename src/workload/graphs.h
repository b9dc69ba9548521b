// CUDA graphs in the tasks of a layer (Transformer Engine, make_graphed_callables; Megatron-LM, cuda_graphs.py).
//
// What is captured next to each other, of one layer and direction, is one graph. It reads its input from a buffer of
// its own, where a copy puts it before each launch: forward the residual stream, backward its gradient. A buffer of a
// forward is kept for each micro-batch in flight, until its backward; so are graphs.
#pragma once

#include <vector>

#include "workload/pass.h"
#include "workload/pass_shape.h"

namespace foretrain {

// Puts the copy in front of every graph among the tasks of one layer; `hidden` wide, of this rank's tokens. Nothing
// where no part of a layer is captured, or the stack's graphs read what they are given.
void add_graph_inputs(std::vector<Task>& tasks, const PassShape& shape, std::int64_t hidden);

// All of it is part of the step's graph: what the host does between is done once, when that is captured.
void capture(Pass& pass);

}  // namespace foretrain
