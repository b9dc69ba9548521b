// Operator samples from a trace whose profiler recorded the sizes of inputs (record_shapes): the kernels of each
// call of an operator that our vocabulary has, together; calls of equal shape become one sample, its time their
// median. A product inside a backward is the gradient to its input or to its weight, told by the size of the
// gradient that the backward was given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "samples/kineto_owners.h"
#include "samples/sample.h"

namespace foretrain {

struct KinetoSamples {
  std::vector<Sample> samples;
  std::size_t kernels = 0;                      // that are in samples
  std::map<std::string, std::size_t> left_out;  // kernels, by reason
};

KinetoSamples kineto_samples(const KinetoEvents& events, const KinetoOwners& owners,
                             const std::string& source);

}  // namespace foretrain
