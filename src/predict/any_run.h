// Random runs of the embedded presets, for property tests.
#pragma once

#include "predict/testing.h"

namespace foretrain {

// Sums of many terms in different orders.
inline constexpr double kRounding = 1e-9;

// gpipe and 1f1b, or any schedule; or besides recipes of fewer bits, CUDA graphs and adapters, on a newer GPU too.
enum class Draw { kTwoSchedules, kAllSchedules, kEverything };

// A plan for the run's model, and the GPUs and batch that go with it. At least `fewest` micro-batches.
void draw_plan(Run& run, std::int64_t fewest = 1, Draw draw = Draw::kTwoSchedules);

// Adapters beside frozen weights, in the format of the passes or in fewer bits, for a run whose stack has them.
void draw_adapters(Run& run);

// A run that has been checked.
Run any_run(std::int64_t fewest = 1, Draw draw = Draw::kTwoSchedules);

// Nobody else holds any of a rank's weights.
inline bool is_alone(const Run& run) {
  const Mesh mesh = mesh_of(run.plan);
  return mesh.data_ranks() == 1 && mesh.data_ranks(WeightClass::kExperts) == 1;
}

}  // namespace foretrain
