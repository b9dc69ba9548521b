// The events of a step in words, and how many there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "job/job.h"
#include "predict/prediction.h"
#include "spec/plan.h"
#include "timeline/work.h"

namespace foretrain {

// More than this would take gigabytes: views of such a step are refused.
inline constexpr std::int64_t kMostTracedEvents = 4'000'000;
// Passes and messages, at most.
std::int64_t events_of(const Job& job);

constexpr bool is_pass(EventKind kind) { return kind <= EventKind::kWeight; }
constexpr bool is_message(EventKind kind) { return kind == EventKind::kSend || kind == EventKind::kReceive; }
PassKind pass_kind(EventKind kind);     // of a pass
StepCause cause_of(EventKind kind);     // of everything else
std::string_view name(EventKind kind);  // "forward", "gradient reduce"

// "F0", "B3" (whole or to inputs), "W3", "F0.1" of chunk 1; other events by their name.
std::string label(const Event& event);

}  // namespace foretrain
