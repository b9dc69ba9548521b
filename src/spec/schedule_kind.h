// The pipeline schedules by name, and what each asks of a plan. The orders of work themselves, with what they
// cost, are in src/timeline/schedule_*.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

enum class ScheduleKind : unsigned char {
  kGpipe,
  k1f1b,
  kInterleaved,
  kZbH1,
  kZbH2,
  kZbv,
  kDualpipe,
  kDualpipev,
};
inline constexpr int kScheduleCount = 8;
inline constexpr std::array<std::string_view, kScheduleCount> kScheduleNames = {
    "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zbv", "dualpipe", "dualpipev"};
constexpr std::string_view name(ScheduleKind kind) { return kScheduleNames[static_cast<std::size_t>(kind)]; }

// One line for people.
std::string_view description(ScheduleKind kind);

// Whether it runs the backward to weights (W) apart from the backward to inputs (B), at least at times.
bool splits_backward(ScheduleKind kind);

// Two copies of the model in opposite directions, each for half of the micro-batches.
constexpr bool runs_both_ways(ScheduleKind kind) { return kind == ScheduleKind::kDualpipe; }

// Whether chunk 0 of ranks 0, 1, ... is followed by chunk 1 of ranks p - 1, p - 2, ..., so that the first
// rank holds both ends of the model. (The two directions of dualpipe lie the same way.)
bool lies_in_v(ScheduleKind kind);

// The chunks that each rank of several holds.
std::int64_t chunks_per_rank(ScheduleKind kind, std::int64_t vpp);

// Why this schedule cannot run so; nothing where it can.
std::optional<std::string> refusal(ScheduleKind kind, std::int64_t pp, std::int64_t vpp,
                                   std::int64_t micro_batches);

}  // namespace foretrain
