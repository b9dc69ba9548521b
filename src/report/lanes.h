// The streams of a pipeline stage as people see them: which of them each event of a step belongs to.
#pragma once

#include <array>
#include <string_view>

#include "report/step_view.h"

namespace foretrain {

enum class Lane : unsigned char { kPasses, kToNext, kToPrevious, kCollectives, kUpdate, kWaits };
inline constexpr std::array<std::string_view, 6> kLaneNames = {
    "passes", "messages to the next stage", "messages to the previous stage", "collectives", "optimizer",
    "waits"};

Lane lane_of(const StepView& view, std::int32_t event);

// The rank that a message goes to, or comes from.
std::int64_t other_end(const StepView& view, std::int32_t message);

}  // namespace foretrain
