#include "spec/schedule_kind.h"

#include <doctest/doctest.h>

#include <set>

using namespace foretrain;

namespace {

std::string reason(ScheduleKind kind, std::int64_t pp, std::int64_t vpp, std::int64_t micro_batches) {
  return refusal(kind, pp, vpp, micro_batches).value_or("");
}

}  // namespace

TEST_CASE("each schedule has a name and a line of its own") {
  std::set<std::string_view> names, lines;
  for (int i = 0; i < kScheduleCount; ++i) {
    names.insert(name(static_cast<ScheduleKind>(i)));
    lines.insert(description(static_cast<ScheduleKind>(i)));
  }
  CHECK(names.size() == kScheduleCount);
  CHECK(lines.size() == kScheduleCount);
  CHECK_FALSE(lines.contains(""));
}

TEST_CASE("interleaved takes micro-batches in groups of pp, as Megatron-LM does") {
  CHECK(reason(ScheduleKind::kInterleaved, 4, 2, 8) == "");
  CHECK(reason(ScheduleKind::kInterleaved, 4, 2, 4) == "");
  CHECK(reason(ScheduleKind::kInterleaved, 4, 2, 6) ==
        "schedule interleaved needs micro-batches (6) in a multiple of pp 4");
  CHECK(reason(ScheduleKind::kInterleaved, 4, 2, 2) ==
        "schedule interleaved needs micro-batches (2) in a multiple of pp 4");
  CHECK(reason(ScheduleKind::k1f1b, 1, 2, 4) == "vpp 2 needs pp > 1");
}

TEST_CASE("schedules of one chunk a rank, or of two, take no other number") {
  CHECK(reason(ScheduleKind::kGpipe, 4, 2, 8) == "schedule gpipe has one chunk a rank, but vpp is 2");
  CHECK(reason(ScheduleKind::kZbH1, 4, 3, 8) == "schedule zb-h1 has one chunk a rank, but vpp is 3");
  CHECK(reason(ScheduleKind::kZbv, 4, 2, 8) == "");
  CHECK(reason(ScheduleKind::kZbv, 4, 4, 8) == "schedule zbv has two chunks a rank, but vpp is 4");
  CHECK(reason(ScheduleKind::kDualpipe, 4, 2, 8) ==
        "schedule dualpipe has one chunk a rank and direction, but vpp is 2");
}

TEST_CASE("schedules that need many micro-batches say how many") {
  CHECK(reason(ScheduleKind::kZbH2, 4, 1, 7) == "");
  CHECK(reason(ScheduleKind::kZbH2, 4, 1, 6) ==
        "schedule zb-h2 needs 2*pp-1 = 7 micro-batches or more, found 6");
  CHECK(reason(ScheduleKind::kDualpipe, 4, 1, 8) == "");
  CHECK(reason(ScheduleKind::kDualpipe, 4, 1, 6) ==
        "schedule dualpipe needs an even number of micro-batches, 2*pp = 8 or more, found 6");
  CHECK(reason(ScheduleKind::kDualpipe, 4, 1, 9) ==
        "schedule dualpipe needs an even number of micro-batches, 2*pp = 8 or more, found 9");
  CHECK(reason(ScheduleKind::kDualpipe, 3, 1, 8) == "schedule dualpipe needs an even pp, found 3");
  CHECK(reason(ScheduleKind::kDualpipev, 3, 1, 6) == "");
  CHECK(reason(ScheduleKind::kDualpipev, 3, 1, 5) ==
        "schedule dualpipev needs 2*pp = 6 micro-batches or more, found 5");
}

TEST_CASE("one stage has no pipeline and asks for nothing") {
  for (int i = 0; i < kScheduleCount; ++i) CHECK(reason(static_cast<ScheduleKind>(i), 1, 1, 1) == "");
}
