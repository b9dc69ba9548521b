// How a plan's model is cut along its pipeline: the schedule that runs, and the pieces that it deals out.
#pragma once

#include <cstdint>

#include "spec/plan.h"

namespace foretrain {

struct Pipeline {
  // What runs: 1f1b over several chunks is interleaved, and one stage has no pipeline, whatever is asked for.
  ScheduleKind schedule = ScheduleKind::k1f1b;
  std::int64_t stages = 1;
  // Pieces of the model that each stage holds; of dualpipe one in each direction, of the same model.
  std::int64_t chunks_per_stage = 1;

  // Pieces that the model is cut into.
  constexpr std::int64_t model_chunks() const {
    return runs_both_ways(schedule) ? stages : stages * chunks_per_stage;
  }
  // Whether one stage holds both ends of the model.
  bool ends_together() const { return stages == 1 || lies_in_v(schedule); }

  bool operator==(const Pipeline&) const = default;
};
Pipeline pipeline_of(const Plan& plan);

}  // namespace foretrain
