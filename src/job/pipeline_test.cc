#include "job/pipeline.h"
#include "spec/plan_text.h"

#include <doctest/doctest.h>

#include <utility>

using namespace foretrain;

TEST_CASE("1f1b over several chunks is interleaved, and one stage has no pipeline") {
  const auto schedule = [](const char* text) { return pipeline_of(*parse_plan(text)).schedule; };
  CHECK(schedule("pp=4") == ScheduleKind::k1f1b);
  CHECK(schedule("pp=4,vpp=2") == ScheduleKind::kInterleaved);
  CHECK(schedule("pp=4,vpp=2,schedule=interleaved") == ScheduleKind::kInterleaved);
  CHECK(schedule("pp=4,schedule=interleaved") == ScheduleKind::k1f1b);
  CHECK(schedule("pp=4,schedule=zbv") == ScheduleKind::kZbv);
  CHECK(schedule("schedule=zbv") == ScheduleKind::k1f1b);
}

TEST_CASE("a model is cut into the chunks that its schedule lays on the stages") {
  const auto chunks = [](const char* text) {
    const Pipeline pipeline = pipeline_of(*parse_plan(text));
    return std::pair(pipeline.chunks_per_stage, pipeline.model_chunks());
  };
  CHECK(chunks("") == std::pair<std::int64_t, std::int64_t>(1, 1));
  CHECK(chunks("pp=4") == std::pair<std::int64_t, std::int64_t>(1, 4));
  CHECK(chunks("pp=4,vpp=3") == std::pair<std::int64_t, std::int64_t>(3, 12));
  CHECK(chunks("pp=4,schedule=zb-h1") == std::pair<std::int64_t, std::int64_t>(1, 4));
  CHECK(chunks("pp=4,schedule=dualpipev") == std::pair<std::int64_t, std::int64_t>(2, 8));
  // Two copies of the four.
  CHECK(chunks("pp=4,schedule=dualpipe") == std::pair<std::int64_t, std::int64_t>(2, 4));
}

TEST_CASE("one stage holds both ends of the model where there is no other, or where chunks lie in a V") {
  const auto together = [](const char* text) { return pipeline_of(*parse_plan(text)).ends_together(); };
  CHECK(together(""));
  CHECK_FALSE(together("pp=4"));
  CHECK_FALSE(together("pp=4,vpp=2"));
  CHECK(together("pp=4,schedule=zbv"));
  CHECK(together("pp=4,schedule=dualpipe"));
}
