// Measured runs of a cluster that were in a broken state, as data of its file (and no part of the cluster): a published
// sweep in which equal plans differ many times over. Told by measured figures alone, never by a prediction:
//   - all runs on so many GPUs;
//   - stages over several nodes whose slot, step / (micro-batches + pp - 1), takes `slot` or more, and at least `times`
//     what `of_peak` of the GPU's rate would take for it, at 6 FLOPs a parameter and token.
//
//   unsteady: {gpus: [512], slot_s: 0.5, times: 4, of_peak: 0.4}
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/yaml.h"

namespace foretrain {

inline constexpr std::string_view kUnsteadyKey = "unsteady";

struct Unsteady {
  std::vector<std::int64_t> gpus;
  Seconds slot;
  double times = 0;
  double of_peak = 0;
};

// Of a cluster's file; nothing where it states none.
Result<std::optional<Unsteady>> unsteady_of(const Node& file);

}  // namespace foretrain
