#include "timeline/timeline.h"

#include <doctest/doctest.h>

#include <array>

namespace foretrain {
namespace {

constexpr std::array kSchedules = {ScheduleKind::kGpipe, ScheduleKind::k1f1b};

ChunkLoad passes(double forward, double backward, double send = 0.0) {
  ChunkLoad stage;
  stage.forward = Seconds(forward);
  stage.backward = Seconds(backward);
  stage.send_forward = stage.send_backward = Seconds(send);
  return stage;
}

double step(const std::vector<ChunkLoad>& stages, std::int64_t micro_batches, ScheduleKind schedule,
            bool blocking = true) {
  Timeline timeline;
  return timeline
      .simulate({.chunks = stages,
                 .micro_batches = micro_batches,
                 .schedule = schedule,
                 .blocking_sends = blocking})
      .value;
}

TEST_CASE("equal stages without messages cost (m + p - 1)(f + b), in both schedules") {
  // Sums of quarters are exact, so equality is exact.
  for (const ScheduleKind schedule : kSchedules) {
    for (const bool blocking : {false, true}) {
      for (std::int64_t p = 1; p <= 9; ++p) {
        for (const std::int64_t m : {1, 2, 3, 5, 8, 13, 64}) {
          const std::vector<ChunkLoad> stages(static_cast<std::size_t>(p), passes(1.25, 2.5));
          CHECK(step(stages, m, schedule, blocking) == static_cast<double>(m + p - 1) * 3.75);
        }
      }
    }
  }
}

TEST_CASE("two unequal stages, by hand") {
  // Forward 1 and 2, backward 2 and 3, two micro-batches, 1f1b:
  //   stage 0   F0 0-1, F1 1-2,          B0 6-8,  B1 11-13
  //   stage 1   F0 1-3, B0 3-6, F1 6-8,  B1 8-11
  // The second stage never waits: 1 + 2 (2 + 3) + 2.
  const std::vector<ChunkLoad> stages = {passes(1, 2), passes(2, 3)};
  CHECK(step(stages, 2, ScheduleKind::k1f1b) == 13);
  Timeline timeline;
  timeline.simulate({.chunks = stages, .micro_batches = 2});
  CHECK(timeline.stages()[0].pipeline_end == Seconds(13));
  CHECK(timeline.stages()[1].pipeline_end == Seconds(11));
  CHECK(timeline.stages()[0].compute == Seconds(6));
  CHECK(timeline.stages()[1].compute == Seconds(10));
}

TEST_CASE("three unequal stages: the slowest in the middle sets the pace") {
  // Forward 1, 3, 1 and backward 1, 3, 1. Gpipe: F of stage 1 ends at 4, 7, 10; stage 2 F 10-11, B0 11-12
  // (B0 could not come earlier: all forwards first), then stage 1 B 12-15-18-21, stage 0 ends at 22.
  CHECK(step({passes(1, 1), passes(3, 3), passes(1, 1)}, 3, ScheduleKind::kGpipe) == 22);
  // 1f1b, stage 1 warms up with one forward: F0 1-4, F1 4-7; stage 2 F0 4-5, B0 5-6; stage 1 B0 7-10,
  // F2 10-13, B1 13-16, B2 16-19 (stage 2 has sent B2 at 15); stage 0 ends at 20.
  CHECK(step({passes(1, 1), passes(3, 3), passes(1, 1)}, 3, ScheduleKind::k1f1b) == 20);
}

TEST_CASE("a blocking send keeps its stage busy, by hand") {
  // Forward 1, backward 2, half a second a message, two micro-batches, 1f1b:
  //   stage 0   F0 0-1 send -1.5, F1 1.5-2.5 send -3,      B0 5-7,                 B1 8.5-10.5
  //   stage 1   F0 1.5-2.5, B0 2.5-4.5 send -5, F1 5-6, B1 6-8 send -8.5
  const std::vector<ChunkLoad> stages = {passes(1, 2, 0.5), passes(1, 2, 0.5)};
  CHECK(step(stages, 2, ScheduleKind::k1f1b) == 10.5);
  Timeline timeline;
  timeline.simulate({.chunks = stages, .micro_batches = 2});
  // The last stage's last backward counts its send; the first stage sends nothing back.
  CHECK(timeline.stages()[1].pipeline_end == Seconds(8.5));
  CHECK(timeline.stages()[0].pipeline_end == Seconds(10.5));
  CHECK(timeline.stages()[0].sending == Seconds(1));
  CHECK(timeline.stages()[1].sending == Seconds(1));
}

TEST_CASE("where receives block too both sides are busy, by hand") {
  //   stage 0   F0 0-1 send -1.5, F1 1.5-2.5 send -3,    take 4.5-5 B0 5-7,         take 8.5-9 B1 9-11
  //   stage 1   take 1-1.5 F0 1.5-2.5, B0 2.5-4.5 send -5, take 5-5.5 F1 5.5-6.5, B1 6.5-8.5 send -9
  const std::vector<ChunkLoad> stages = {passes(1, 2, 0.5), passes(1, 2, 0.5)};
  Timeline timeline;
  CHECK(timeline.simulate({.chunks = stages, .micro_batches = 2, .blocking_receives = true}) == Seconds(11));
  CHECK(timeline.stages()[0].sending == Seconds(2));
  CHECK(timeline.stages()[1].sending == Seconds(2));
}

TEST_CASE("a send that does not block delays only its receiver, by hand") {
  //   stage 0   F0 0-1, F1 1-2,                              B0 5-7,      B1 8-10
  //   stage 1   F0 1.5-2.5, B0 2.5-4.5, F1 4.5-5.5, B1 5.5-7.5
  const std::vector<ChunkLoad> stages = {passes(1, 2, 0.5), passes(1, 2, 0.5)};
  CHECK(step(stages, 2, ScheduleKind::k1f1b, false) == 10);
  Timeline timeline;
  timeline.simulate({.chunks = stages, .micro_batches = 2, .blocking_sends = false});
  CHECK(timeline.stages()[1].pipeline_end == Seconds(7.5));
  CHECK(timeline.stages()[1].sending == Seconds(0));
}

TEST_CASE("messages of one direction follow one another on a link") {
  // Forwards of 1 end at 1, 2, 3, messages of 2 arrive at 3, 5, 7: the last stage's forwards end at 4, 6, 8,
  // its backwards at 9, 10, 11; their messages arrive at 11, 13, 15; the first stage's last backward ends
  // at 16.
  CHECK(step({passes(1, 1, 2), passes(1, 1, 2)}, 3, ScheduleKind::kGpipe, false) == 16);
}

TEST_CASE("one stage has nobody to send to") {
  for (const ScheduleKind schedule : kSchedules) CHECK(step({passes(1, 2, 100)}, 4, schedule) == 12);
}

TEST_CASE("1f1b holds min(m, p - s) micro-batches, gpipe all m") {
  constexpr std::int64_t kStages = 4;
  std::vector<ChunkLoad> stages(kStages, passes(1, 2));
  for (ChunkLoad& stage : stages) {
    stage.held = Bytes(10);
    stage.forward_extra = Bytes(3);
    stage.backward_extra = Bytes(5);
  }
  Timeline timeline;
  for (const std::int64_t m : {1, 2, 3, 4, 9}) {
    timeline.simulate({.chunks = stages, .micro_batches = m, .schedule = ScheduleKind::k1f1b});
    for (std::int64_t s = 0; s < kStages; ++s) {
      const StageTimes& times = timeline.stages()[static_cast<std::size_t>(s)];
      CHECK(times.in_flight == std::min(m, kStages - s));
      CHECK(times.peak == Bytes(10.0 * static_cast<double>(times.in_flight) + 5));
    }
    timeline.simulate({.chunks = stages, .micro_batches = m, .schedule = ScheduleKind::kGpipe});
    for (const StageTimes& times : timeline.stages()) {
      CHECK(times.in_flight == m);
      CHECK(times.peak == Bytes(10.0 * static_cast<double>(m) + 5));
    }
  }
}

TEST_CASE("buckets reduce in turn, beside the last backward") {
  // Passes 0-1 and 1-5. Ready at 2 and 3: the first bucket takes 2-4, the second waits for it, 4-5.5.
  const std::array<Bucket, 2> buckets = {Bucket{Seconds(3), Seconds(2)}, Bucket{Seconds(2), Seconds(1.5)}};
  ChunkLoad stage = passes(1, 4);
  stage.buckets = buckets;
  Timeline timeline;
  CHECK(timeline.simulate({.chunks = {&stage, 1}}) == Seconds(5.5));
  CHECK(timeline.stages()[0].pipeline_end == Seconds(5));
  CHECK(timeline.stages()[0].reduce_end == Seconds(5.5));
}

TEST_CASE("a reduction that ends before the backward does costs nothing") {
  const Bucket bucket{Seconds(3), Seconds(1)};
  ChunkLoad stage = passes(1, 4);
  stage.buckets = {&bucket, 1};
  Timeline timeline;
  CHECK(timeline.simulate({.chunks = {&stage, 1}}) == Seconds(5));
  CHECK(timeline.stages()[0].reduce_end == Seconds(5));
}

TEST_CASE("no bucket is ready before the last backward starts") {
  // Two micro-batches: F B F B ends at 10, the last backward starts at 6.
  const Bucket bucket{Seconds(100), Seconds(7)};
  ChunkLoad stage = passes(1, 4);
  stage.buckets = {&bucket, 1};
  Timeline timeline;
  CHECK(timeline.simulate({.chunks = {&stage, 1}, .micro_batches = 2}) == Seconds(13));
}

TEST_CASE("first and last exchange, all meet, then each updates and gathers") {
  // One micro-batch through three stages of 1 + 1: backwards end at 6, 5, 4 (first to last). The last stage's
  // reduction of 5 ends at 9, the exchange takes 9-10, the meeting 10-10.5; the middle stage's optimizer is
  // the longest, 10.5-13.5, and the last stage's gather ends at 10.5 + 1 + 2.25 = 13.75.
  const Bucket bucket{Seconds(0), Seconds(5)};
  std::vector<ChunkLoad> stages(3, passes(1, 1));
  stages[2].buckets = {&bucket, 1};
  const std::array<StageUpdate, 3> updates = {StageUpdate{Seconds(1), Seconds(0)},
                                              StageUpdate{Seconds(3), Seconds(0)},
                                              StageUpdate{Seconds(1), Seconds(2.25)}};
  Timeline timeline;
  std::vector<Event> events;
  CHECK(timeline.simulate(
            {.chunks = stages, .updates = updates, .embedding_exchange = Seconds(1), .meet = Seconds(0.5)},
            &events) == Seconds(13.75));
  CHECK(timeline.stages()[0].exchange == Seconds(1));  // ready at 6, it waits until 9
  CHECK(timeline.stages()[2].exchange == Seconds(1));
  CHECK(timeline.stages()[0].end == Seconds(11.5));
  CHECK(timeline.stages()[1].end == Seconds(13.5));
  CHECK(timeline.stages()[2].end == Seconds(13.75));
  // Six passes; a reduction; an exchange at both ends; a meeting and an optimizer each; one gather.
  CHECK(events.size() == 6 + 1 + 2 + 3 + 3 + 1);
}

TEST_CASE("stages wait for each other at a meeting that takes no time") {
  // Backwards end at 4 and 3; the last stage updates after 4 all the same.
  std::vector<ChunkLoad> stages(2, passes(1, 1));
  const std::array<StageUpdate, 2> updates = {StageUpdate{}, StageUpdate{Seconds(10), Seconds(0)}};
  Timeline timeline;
  CHECK(timeline.simulate({.chunks = stages, .updates = updates}) == Seconds(14));
}

TEST_CASE("without overlap nothing is reduced before a rank's last pass is over, whichever chunk is ready") {
  // Two ranks with two chunks each, interleaved.
  std::vector<ChunkLoad> chunks(4, passes(1, 2, 0.25));
  const Bucket bucket{Seconds(0), Seconds(1)};
  for (ChunkLoad& chunk : chunks) chunk.buckets = {&bucket, 1};
  PipelineWork work{
      .chunks = chunks, .chunks_per_rank = 2, .micro_batches = 2, .schedule = ScheduleKind::kInterleaved};
  Timeline timeline;
  std::vector<Event> events;
  const auto first_reduce = [&](std::int64_t rank) {
    timeline.simulate(work, &events);
    for (const Event& event : events)
      if (event.kind == EventKind::kReduce && event.stage == rank) return event.start;
    return Seconds(-1);
  };
  for (const std::int64_t rank : {0, 1}) {
    const auto end = [&] { return timeline.stages()[static_cast<std::size_t>(rank)].pipeline_end; };
    work.reduce_beside = true;
    const Seconds beside = first_reduce(rank);
    CHECK(beside < end());
    work.reduce_beside = false;
    const Seconds after = first_reduce(rank);
    CHECK(after >= end());
  }
}

TEST_CASE("one stage has no embeddings to exchange with itself") {
  const ChunkLoad stage = passes(1, 1);
  Timeline timeline;
  CHECK(timeline.simulate({.chunks = {&stage, 1}, .embedding_exchange = Seconds(5)}) == Seconds(2));
}

TEST_CASE("a timeline forgets the run before") {
  const std::vector<ChunkLoad> large(7, passes(3, 5, 1));
  const std::vector<ChunkLoad> small(2, passes(1, 2, 0.5));
  Timeline timeline;
  std::vector<Event> events;
  timeline.simulate({.chunks = large, .micro_batches = 9}, &events);
  CHECK(timeline.simulate({.chunks = small, .micro_batches = 2}, &events) == Seconds(10.5));
  CHECK(timeline.stages().size() == 2);
  CHECK(events.size() == 8 + 4);  // passes, and one send a micro-batch and direction
}

}  // namespace
}  // namespace foretrain
