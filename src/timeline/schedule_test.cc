#include "timeline/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace foretrain {
namespace {

std::string order(ScheduleKind kind, std::int64_t stage, std::int64_t stages, std::int64_t micro_batches) {
  std::string text;
  for (std::int64_t k = 0; k < 2 * micro_batches; ++k) {
    const ScheduledPass pass = pass_at(kind, stage, stages, micro_batches, k);
    text += (pass.forward ? "F" : "B") + std::to_string(pass.micro_batch);
  }
  return text;
}

TEST_CASE("gpipe runs all forwards, then all backwards, on every stage") {
  CHECK(order(ScheduleKind::kGpipe, 0, 3, 3) == "F0F1F2B0B1B2");
  CHECK(order(ScheduleKind::kGpipe, 2, 3, 3) == "F0F1F2B0B1B2");
}

TEST_CASE("1f1b warms up with p - 1 - s forwards, then takes turns") {
  CHECK(order(ScheduleKind::k1f1b, 0, 3, 4) == "F0F1F2B0F3B1B2B3");
  CHECK(order(ScheduleKind::k1f1b, 1, 3, 4) == "F0F1B0F2B1F3B2B3");
  CHECK(order(ScheduleKind::k1f1b, 2, 3, 4) == "F0B0F1B1F2B2F3B3");
}

TEST_CASE("1f1b with fewer micro-batches than stages is gpipe on the first stages") {
  CHECK(order(ScheduleKind::k1f1b, 0, 4, 2) == "F0F1B0B1");
  CHECK(order(ScheduleKind::k1f1b, 2, 4, 2) == "F0F1B0B1");
  CHECK(order(ScheduleKind::k1f1b, 3, 4, 2) == "F0B0F1B1");
  CHECK(order(ScheduleKind::k1f1b, 0, 1, 1) == "F0B0");
}

TEST_CASE("most_in_flight is what the order of passes holds at most") {
  for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::k1f1b}) {
    for (std::int64_t p = 1; p <= 6; ++p) {
      for (std::int64_t m = 1; m <= 9; ++m) {
        for (std::int64_t s = 0; s < p; ++s) {
          std::int64_t held = 0, most = 0;
          for (std::int64_t k = 0; k < 2 * m; ++k) {
            held += pass_at(kind, s, p, m, k).forward ? 1 : -1;
            most = std::max(most, held);
          }
          CHECK(held == 0);
          CHECK(most_in_flight(kind, s, p, m) == most);
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretrain
