// Dimensions whose words are the stack's: the precision recipes that it runs, and what it can capture as CUDA graphs.
// A search takes the plain one of each unless constraints set others ("precision=bf16,mxfp8",
// "cuda_graph=none,attn+mlp,full"): a recipe changes the training itself, and graphs are a choice of the launch that
// is not undone by looking at times. That they are left out is said.
//
//   precision   values count the stack's recipes by name, then again by family
//   cuda_graph  values are the bits of what is captured
#pragma once

#include "search/dimension.h"

namespace foretrain {

Dimension precision_dimension();
Dimension graph_dimension();

}  // namespace foretrain
