#include "timeline/executor.h"

#include <doctest/doctest.h>

#include "timeline/testing.h"

namespace foretrain {
namespace {

constexpr OrderedPass kF{PassKind::kForward}, kBW{PassKind::kBackward}, kB{PassKind::kInput},
    kW{PassKind::kWeight};

// One list a rank.
Orders orders_of(std::initializer_list<std::initializer_list<OrderedPass>> ranks) {
  Orders orders;
  for (const auto& passes : ranks) {
    orders.next_rank();
    for (const OrderedPass& pass : passes) orders.add(pass);
  }
  return orders;
}

std::string deadlock(const PipelineWork& work, const Orders& orders) {
  Timeline timeline;
  Seconds step;
  return timeline.simulate(work, orders, step).value_or("none");
}

TEST_CASE("a backward before its own forward waits for itself all round the pipeline") {
  const auto chunks = equal_chunks(ScheduleKind::k1f1b, 2, 1, 1, 1, 1);
  const PipelineWork work = work_of(ScheduleKind::k1f1b, chunks, 1, 1);
  CHECK(deadlock(work, orders_of({{kF, kBW}, {kF, kBW}})) == "none");
  CHECK(deadlock(work, orders_of({{kBW, kF}, {kF, kBW}})) ==
        "deadlock: rank 0 waits in B0 of chunk 0 for B of rank 1, rank 1 waits in F0 of chunk 0 for F of "
        "rank 0");
  // On the last rank it is its own forward that comes too late.
  CHECK(deadlock(work, orders_of({{kF, kBW}, {kBW, kF}})) ==
        "deadlock: rank 1 waits in B0 of chunk 0 for F of rank 1");
}

TEST_CASE("the cycle is named, not those that wait for it") {
  // Ranks 1 and 2 block each other; rank 0 waits for rank 1.
  const auto chunks = equal_chunks(ScheduleKind::k1f1b, 3, 1, 1, 1, 1);
  const PipelineWork work = work_of(ScheduleKind::k1f1b, chunks, 1, 2);
  CHECK(deadlock(work, orders_of({{kF, kF, kBW, kBW}, {kF, kBW, kF, kBW}, {kF, kF, kBW, kBW}})) ==
        "deadlock: rank 1 waits in B0 of chunk 0 for B of rank 2, rank 2 waits in F1 of chunk 0 for F of "
        "rank 1");
}

TEST_CASE("1f1b whose ranks warm up too little deadlocks, gpipe's orders mixed with it do not") {
  const auto chunks = equal_chunks(ScheduleKind::k1f1b, 2, 1, 1, 1, 1);
  const PipelineWork work = work_of(ScheduleKind::k1f1b, chunks, 1, 2);
  // Rank 0 wants a gradient after one forward; rank 1 wants two forwards first.
  CHECK(deadlock(work, orders_of({{kF, kBW, kF, kBW}, {kF, kF, kBW, kBW}})) ==
        "deadlock: rank 0 waits in B0 of chunk 0 for B of rank 1, rank 1 waits in F1 of chunk 0 for F of "
        "rank 0");
  CHECK(deadlock(work, orders_of({{kF, kF, kBW, kBW}, {kF, kBW, kF, kBW}})) == "none");
}

TEST_CASE("a pair that waits for its own message deadlocks") {
  // Both messages of a pair leave at its end, but rank 1's gradient needs the forward first.
  const auto chunks = equal_chunks(ScheduleKind::k1f1b, 2, 1, 1, 1, 1);
  const PipelineWork work = work_of(ScheduleKind::k1f1b, chunks, 1, 1);
  const OrderedPass paired{PassKind::kForward, true};
  CHECK(deadlock(work, orders_of({{paired, kBW}, {kF, kBW}})) ==
        "deadlock: rank 0 waits in B0 of chunk 0 for B of rank 1, rank 1 waits in F0 of chunk 0 for F of "
        "rank 0");
}

TEST_CASE("incomplete orders are named before anything runs") {
  const auto chunks = equal_chunks(ScheduleKind::k1f1b, 2, 1, 1, 1, 1);
  const PipelineWork work = work_of(ScheduleKind::k1f1b, chunks, 1, 1);
  CHECK(deadlock(work, orders_of({{kF, kBW}})) == "orders of 1 ranks, expected 2");
  CHECK(deadlock(work, orders_of({{kF, kBW}, {kF}})) ==
        "rank 1, chunk 0: 1 F, 0 B, 0 halves and 0 W of 1 micro-batches");
}

TEST_CASE("a split backward lets the rank before go on sooner, by hand") {
  // Forward 1, halves 1 and 2, one micro-batch.   rank 0   F 0-1            B 3-4 W 4-6
  //                                               rank 1       F 1-2 B 2-3 W 3-5
  const auto chunks = equal_chunks(ScheduleKind::k1f1b, 2, 1, 1, 1, 2);
  const PipelineWork work = work_of(ScheduleKind::k1f1b, chunks, 1, 1);
  Timeline timeline;
  Seconds step;
  CHECK_FALSE(timeline.simulate(work, orders_of({{kF, kB, kW}, {kF, kB, kW}}), step));
  CHECK(step == Seconds(6));
  CHECK(timeline.stages()[1].pipeline_end == Seconds(5));
  CHECK(timeline.chunks()[0].split == 1);
  // Whole: rank 1 sends at 5, rank 0 ends at 8.
  CHECK_FALSE(timeline.simulate(work, orders_of({{kF, kBW}, {kF, kBW}}), step));
  CHECK(step == Seconds(8));
}

TEST_CASE("gradients are reduced when the last pass that adds to them is over, each chunk's by itself") {
  // zbv on 2 ranks, one micro-batch, every pass 1 s:
  //   rank 0   F 0-1                 f 3-4  b 4-5  w 5-6                B 8-9  W 9-10
  //   rank 1         F 1-2  f 2-3                  b 5-6  w 6-7  B 7-8  W 8-9
  // Rank 0's chunk 1 has its gradients at 6, chunk 0 at 10: reductions of 2 at 6-8 and 10-12.
  const Bucket bucket{Seconds(0), Seconds(2)};
  auto chunks = equal_chunks(ScheduleKind::kZbv, 2, 1, 1, 1, 1);
  for (ChunkLoad& load : chunks) load.buckets = {&bucket, 1};
  Timeline timeline;
  std::vector<Event> events;
  timeline.simulate(work_of(ScheduleKind::kZbv, chunks, 1, 1), &events);
  CHECK(timeline.stages()[0].pipeline_end == Seconds(10));
  CHECK(timeline.stages()[0].reduce_end == Seconds(12));
  std::vector<double> starts;
  for (const Event& event : events)
    if (event.kind == EventKind::kReduce && event.stage == 0) starts.push_back(event.start.value);
  CHECK(starts == std::vector<double>{6, 10});
}

TEST_CASE("the steady state of many micro-batches is passed over, under each schedule") {
  // Chunks of different lengths; quarters, so that times are exact and equal whether passed over or not.
  for (int k = 0; k < kScheduleCount; ++k) {
    const auto kind = static_cast<ScheduleKind>(k);
    for (const bool blocking : {false, true}) {
      auto chunks = equal_chunks(kind, 4, 3, 1, 1.25, 0.75);
      chunks[2].forward = Seconds(1.5);
      for (ChunkLoad& load : chunks) load.send_forward = load.send_backward = Seconds(0.25);
      const PipelineWork work = work_of(kind, chunks, 3, 4000, blocking);
      Orders orders;
      write_orders(kind, shape_of(kind, 4, 3, 4000), orders);
      Executor executor;
      executor.measure(work, orders);
      std::vector<Event> events;
      CHECK_FALSE(executor.run(work, orders, &events));
      CHECK(executor.passed_over() == 0);
      std::vector<Seconds> ends;
      for (std::size_t r = 0; r < 4; ++r) ends.push_back(executor.rank_end(r));
      CHECK_FALSE(executor.run(work, orders, nullptr));
      CAPTURE(name(kind));
      // All but the first repeats: gpipe's phases follow one another on unequal terms, and are not.
      if (kind != ScheduleKind::kGpipe) CHECK(executor.passed_over() > 800);
      for (std::size_t r = 0; r < 4; ++r) CHECK(executor.rank_end(r) == ends[r]);
    }
  }
}

TEST_CASE("messages of several chunks between two ranks follow one another") {
  // Interleaved on 2 ranks, one group: rank 0 sends F0 and F1 of chunk 0 at 1 and 2, and with messages of 3
  // they arrive at 4 and 7. Its chunk 1 has nothing to send down; rank 1 sends chunk 0's round to rank 0.
  auto chunks = equal_chunks(ScheduleKind::kInterleaved, 2, 2, 1, 1, 1);
  for (ChunkLoad& load : chunks) load.send_forward = Seconds(3);
  Timeline timeline;
  std::vector<Event> events;
  timeline.simulate(work_of(ScheduleKind::kInterleaved, chunks, 2, 2, false), &events);
  std::vector<std::pair<std::int64_t, double>> sends;
  for (const Event& event : events)
    if (event.kind == EventKind::kSend) sends.emplace_back(event.stage, event.end.value);
  // Rank 1 runs F0 4-5 and F1 7-8, and sends at 5-8 and 8-11; rank 0 runs its chunk 1 at 8 and 11, and sends
  // on.
  CHECK(sends ==
        std::vector<std::pair<std::int64_t, double>>{{0, 4}, {0, 7}, {1, 8}, {1, 11}, {0, 12}, {0, 15}});
}

}  // namespace
}  // namespace foretrain
