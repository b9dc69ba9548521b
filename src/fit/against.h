// Times carried over from a GPU that was sampled well to one of which only a published table is known, which holds
// both: for each shape that the table has on both,
//   seconds here = seconds there, by that GPU's own profile, * table's time here / table's time there
// Same source, library and shape: what a burst, a library's choice of kernels or a cast beside the product did to one
// it did to the other. Times stand at the reference clock of each.
#pragma once

#include <vector>

#include "cost/cost.h"
#include "samples/sample.h"
#include "spec/gpu.h"

namespace foretrain {

// `here` without the shapes that `there` lacks; repeats are matched by their `group` (the library).
std::vector<Sample> carried_against(const std::vector<Sample>& here, const std::vector<Sample>& there,
                                    const Gpu& gpu, const CostSource& costs_there);

}  // namespace foretrain
