#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "timeline/naive.h"
#include "timeline/testing.h"

namespace foretrain {
namespace {

using std::int64_t;

// Random work, with what its spans point to.
struct Case {
  std::vector<ChunkLoad> chunks;
  std::vector<std::vector<Bucket>> buckets;
  std::vector<StageUpdate> updates;
  PipelineWork work;

  PipelineWork view() {
    for (std::size_t n = 0; n < chunks.size(); ++n) chunks[n].buckets = buckets[n];
    work.chunks = chunks;
    work.updates = updates;
    return work;
  }
  Pipeline pipeline() const {
    return {work.schedule, static_cast<int64_t>(updates.size()), work.chunks_per_rank};
  }
};

// Tenths, so that sums are not exact and their order shows.
double tenths(int most) { return 0.1 * *rc::gen::inRange(0, most); }

// At most so many times 20 micro-batches.
Case any_case(int64_t factor = 1) {
  Case c;
  c.work.schedule = static_cast<ScheduleKind>(*rc::gen::inRange(0, kScheduleCount));
  int64_t ranks = *rc::gen::inRange<int64_t>(1, 7);
  int64_t m = *rc::gen::inRange<int64_t>(1, 20 * factor);
  const int64_t vpp = c.work.schedule == ScheduleKind::kInterleaved ? *rc::gen::inRange<int64_t>(1, 4) : 1;
  // As each schedule asks for.
  if (c.work.schedule == ScheduleKind::kInterleaved) m = ranks * (1 + m / 4);
  if (c.work.schedule == ScheduleKind::kZbH2) m += 2 * ranks - 2;
  if (c.work.schedule == ScheduleKind::kDualpipe) ranks = ranks / 2 * 2 + 2, m = 2 * ranks + 2 * m;
  if (c.work.schedule == ScheduleKind::kDualpipev) m += 2 * ranks;
  c.work.chunks_per_rank = chunks_per_rank(c.work.schedule, vpp);
  c.work.micro_batches = m;
  for (int64_t n = 0; n < ranks * c.work.chunks_per_rank; ++n) {
    ChunkLoad load;
    load.forward = Seconds(tenths(30));
    load.backward = Seconds(tenths(60));
    load.input = Seconds(tenths(30));
    load.weight = Seconds(tenths(30));
    load.send_forward = Seconds(tenths(20));
    load.send_backward = Seconds(tenths(20));
    load.held = Bytes(*rc::gen::inRange(0, 100));
    load.held_for_weight = Bytes(*rc::gen::inRange(0, 100));
    load.forward_extra = Bytes(*rc::gen::inRange(0, 100));
    load.backward_extra = Bytes(*rc::gen::inRange(0, 100));
    load.weight_extra = Bytes(*rc::gen::inRange(0, 100));
    load.backward_end = Bytes(*rc::gen::inRange(0, 200));
    c.chunks.push_back(load);
    c.buckets.emplace_back();
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      c.buckets.back().push_back({Seconds(tenths(60)), Seconds(tenths(30))});
    }
  }
  for (int64_t r = 0; r < ranks; ++r) c.updates.push_back({Seconds(tenths(20)), Seconds(tenths(20))});
  c.work.blocking_sends = *rc::gen::arbitrary<bool>();
  c.work.blocking_receives = *rc::gen::arbitrary<bool>();
  c.work.embedding_exchange = Seconds(tenths(10));
  c.work.meet = Seconds(tenths(10));
  RC_LOG() << name(c.work.schedule) << ", " << ranks << " ranks, vpp " << vpp << ", " << m
           << " micro-batches\n";
  return c;
}

TEST_CASE("the simulation equals the rules iterated to a fixed point, to the last bit") {
  CHECK(rc::check([] {
    Case c = any_case();
    const PipelineWork work = c.view();
    Naive naive(work);
    Timeline timeline;
    std::vector<Event> events;
    timeline.simulate(work, &events);
    for (int64_t r = 0; r < work.ranks(); ++r) {
      const StageTimes& times = timeline.stages()[static_cast<std::size_t>(r)];
      RC_ASSERT(times.pipeline_end.value == naive.pipeline_end(r));
      RC_ASSERT(times.peak == naive.peak(r));
    }
    // Each rank's passes appear in its schedule's order, at the naive times.
    std::vector<std::size_t> seen(static_cast<std::size_t>(work.ranks()), 0);
    for (const Event& event : events) {
      if (event.kind > EventKind::kWeight) continue;
      const auto r = static_cast<std::size_t>(event.stage);
      const Naive::Pass& expected = naive.ranks[r][seen[r]++];
      RC_ASSERT(expected.event() == event.kind);
      RC_ASSERT(expected.pass.chunk == event.chunk);
      RC_ASSERT(expected.micro_batch == event.micro_batch);
      RC_ASSERT(expected.start == event.start.value);
      RC_ASSERT(expected.end == event.end.value);
    }
    for (std::size_t r = 0; r < seen.size(); ++r) RC_ASSERT(seen[r] == naive.ranks[r].size());
  }));
}

TEST_CASE("orders written out give what the schedule's own way gives, to the last bit") {
  CHECK(rc::check([] {
    Case c = any_case();
    const PipelineWork work = c.view();
    Orders orders;
    write_orders(work.schedule, {work.ranks(), work.chunks_per_rank, work.micro_batches_per_chunk()}, orders);
    Timeline timeline, explicitly;
    Seconds step;
    RC_ASSERT(!explicitly.simulate(work, orders, step));
    RC_ASSERT(step == timeline.simulate(work));
    for (std::size_t r = 0; r < timeline.stages().size(); ++r) {
      RC_ASSERT(timeline.stages()[r].reduce_end == explicitly.stages()[r].reduce_end);
      RC_ASSERT(timeline.stages()[r].peak == explicitly.stages()[r].peak);
      RC_ASSERT(timeline.stages()[r].in_flight == explicitly.stages()[r].in_flight);
      RC_ASSERT(timeline.stages()[r].sending == explicitly.stages()[r].sending);
    }
  }));
}

TEST_CASE("a step is at least every rank's work and one micro-batch's way through the model") {
  CHECK(rc::check([] {
    Case c = any_case();
    const PipelineWork work = c.view();
    const Pipeline pipeline = c.pipeline();
    Timeline timeline;
    const double step = timeline.simulate(work).value * (1 + 1e-12);
    double way = 0.0;
    for (int64_t n = 0; n < pipeline.pieces(); ++n) {
      const ChunkLoad& load = c.chunks[static_cast<std::size_t>(n)];
      if (pipeline.first(n)) way = 0.0;
      way += (load.forward + std::min(load.backward, load.input)).value;
      const auto sends = [&](int64_t to) { return pipeline.rank(to) != pipeline.rank(n); };
      if (!pipeline.last(n) && sends(n + 1)) way += load.send_forward.value;
      if (!pipeline.first(n) && sends(n - 1)) way += load.send_backward.value;
      if (pipeline.last(n)) RC_ASSERT(step >= way + work.meet.value);
    }
    for (std::size_t r = 0; r < c.updates.size(); ++r) {
      const StageTimes& times = timeline.stages()[r];
      RC_ASSERT(
          step >=
          (times.compute + times.sending + work.meet + c.updates[r].optimizer + c.updates[r].gather).value);
    }
  }));
}

// The schedule's order is fixed, so times are maxima of sums of durations: no anomalies.
TEST_CASE("lengthening anything never shortens the step") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline;
    const double before = timeline.simulate(c.view()).value;
    const Seconds more(tenths(30));
    ChunkLoad& load = c.chunks[*rc::gen::inRange<std::size_t>(0, c.chunks.size())];
    StageUpdate& update = c.updates[*rc::gen::inRange<std::size_t>(0, c.updates.size())];
    // A pass longer at its end keeps the distance of its buckets to that end, so those come later too.
    std::vector<Seconds*> durations = {
        &load.forward,       &load.backward,    &load.input,    &load.weight, &load.send_forward,
        &load.send_backward, &update.optimizer, &update.gather, &c.work.meet, &c.work.embedding_exchange};
    for (std::vector<Bucket>& buckets : c.buckets) {
      for (Bucket& bucket : buckets) durations.push_back(&bucket.seconds);
    }
    *durations[*rc::gen::inRange<std::size_t>(0, durations.size())] += more;
    RC_ASSERT(timeline.simulate(c.view()).value >= before * (1 - 1e-12));
  }));
}

TEST_CASE("more micro-batches never take less time, nor less memory") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline;
    const double before = timeline.simulate(c.view()).value;
    std::vector<Bytes> peaks;
    for (const StageTimes& times : timeline.stages()) peaks.push_back(times.peak);
    c.work.micro_batches += c.work.schedule == ScheduleKind::kInterleaved ? c.pipeline().stages
                            : c.work.schedule == ScheduleKind::kDualpipe  ? 2
                                                                          : 1;
    RC_ASSERT(timeline.simulate(c.view()).value >= before * (1 - 1e-12));
    for (std::size_t r = 0; r < peaks.size(); ++r) RC_ASSERT(timeline.stages()[r].peak >= peaks[r]);
  }));
}

TEST_CASE("messages that block are never faster than messages that do not, nor on both sides than on one") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline;
    c.work.blocking_sends = c.work.blocking_receives = true;
    const double both = timeline.simulate(c.view()).value;
    c.work.blocking_receives = false;
    const double blocking = timeline.simulate(c.view()).value;
    RC_ASSERT(blocking <= both * (1 + 1e-12));
    c.work.blocking_sends = false;
    RC_ASSERT(timeline.simulate(c.view()).value <= blocking * (1 + 1e-12));
  }));
}

TEST_CASE("no rank does two things at once, and nothing happens before the start or after the end") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline;
    std::vector<Event> events;
    const Seconds step = timeline.simulate(c.view(), &events);
    std::map<int64_t, Seconds> busy, reducing;
    for (const Event& event : events) {
      RC_ASSERT(event.start.value >= 0);
      RC_ASSERT(event.start <= event.end);
      RC_ASSERT(event.end <= step);
      // Reductions run beside passes, and so do sends that do not block.
      const bool beside = event.kind == EventKind::kSend && !c.work.blocking_sends;
      if (beside) continue;
      Seconds& free = event.kind == EventKind::kReduce ? reducing[event.stage] : busy[event.stage];
      RC_ASSERT(event.start >= free);
      free = event.end;
    }
  }));
}

TEST_CASE("every micro-batch goes forward through the chunks in turn, and back, its weights last") {
  CHECK(rc::check([] {
    Case c = any_case();
    const Pipeline pipeline = c.pipeline();
    Timeline timeline;
    std::vector<Event> events;
    timeline.simulate(c.view(), &events);
    std::map<std::pair<int64_t, int64_t>, Seconds> forward, backward;
    for (const Event& event : events) {
      const int64_t piece = pipeline.piece(event.stage, event.chunk);
      const auto at = [&](int64_t n) { return std::pair(n, event.micro_batch); };
      if (event.kind == EventKind::kForward) {
        if (!pipeline.first(piece)) RC_ASSERT(event.start >= forward.at(at(piece - 1)));
        forward[at(piece)] = event.end;
      } else if (event.kind == EventKind::kBackward || event.kind == EventKind::kInput) {
        RC_ASSERT(event.start >= forward.at(at(piece)));
        if (!pipeline.last(piece)) RC_ASSERT(event.start >= backward.at(at(piece + 1)));
        backward[at(piece)] = event.end;
      } else if (event.kind == EventKind::kWeight) {
        RC_ASSERT(event.start >= backward.at(at(piece)));
      }
    }
    RC_ASSERT(forward.size() == backward.size());
    RC_ASSERT(static_cast<int64_t>(forward.size()) == pipeline.pieces() * c.work.micro_batches_per_chunk());
  }));
}

TEST_CASE("recording events changes nothing, and neither does repeating") {
  CHECK(rc::check([] {
    Case c = any_case(), other = any_case();
    Timeline fresh, used;
    std::vector<Event> events;
    const Seconds recorded = used.simulate(c.view(), &events);
    RC_ASSERT(fresh.simulate(c.view()) == recorded);
    used.simulate(other.view());
    RC_ASSERT(used.simulate(c.view()) == recorded);
  }));
}

TEST_CASE("no step is shorter than its lower bound, nor longer than its upper one") {
  CHECK(rc::check([] {
    Case c = any_case();
    // Halves as long as the whole; a split that lost or gained time would bound nothing.
    for (ChunkLoad& load : c.chunks) load.backward = load.input + load.weight;
    Timeline timeline;
    const double step = timeline.simulate(c.view()).value;
    RC_ASSERT(timeline.least(c.view()).value <= step * (1 + 1e-12));
    RC_ASSERT(timeline.most(c.view()).value >= step * (1 - 1e-12));
  }));
}

TEST_CASE("equal stages without messages: both bounds are the step, under gpipe, 1f1b and interleaved") {
  for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved})
    for (const int64_t p : {1, 2, 4, 8})
      for (const int64_t m : {p, 2 * p, 5 * p}) {
        const auto chunks = equal_chunks(kind, p, 3, 1, 1.25, 0.75);
        const PipelineWork work = work_of(kind, chunks, 3, m);
        Timeline timeline;
        const Seconds step = timeline.simulate(work);
        CHECK(timeline.least(work) == step);
        CHECK(timeline.most(work) == step);
      }
}

TEST_CASE("bytes are the same whether measured alone or with the times") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline, alone;
    timeline.simulate(c.view());
    alone.measure(c.view());
    for (std::size_t r = 0; r < c.updates.size(); ++r) {
      RC_ASSERT(alone.stages()[r].peak == timeline.stages()[r].peak);
      RC_ASSERT(alone.stages()[r].in_flight == timeline.stages()[r].in_flight);
    }
  }));
}

// A rank's order is gone through when it is weighed for the first time, and tabulated from then on.
TEST_CASE("bytes by table are those of going through the order: peak, moment and what is held then") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline used;
    for (int i = 0; i < 4; ++i) {
      Timeline fresh;
      const PipelineWork work = c.view();
      fresh.simulate(work);
      used.simulate(work);
      for (std::size_t r = 0; r < c.updates.size(); ++r) {
        const StageTimes &a = used.stages()[r], &b = fresh.stages()[r];
        RC_ASSERT(a.peak == b.peak);
        RC_ASSERT(a.in_flight == b.in_flight);
        RC_ASSERT(a.moment.pass == b.moment.pass);
        RC_ASSERT(a.moment.piece == b.moment.piece);
        RC_ASSERT(a.moment.at_end == b.moment.at_end);
      }
      RC_ASSERT(std::ranges::equal(used.held_at_peak(), fresh.held_at_peak()));
      RC_ASSERT(std::ranges::equal(used.waiting_at_peak(), fresh.waiting_at_peak()));
      RC_ASSERT(std::ranges::equal(used.chunks(), fresh.chunks()));
      for (ChunkLoad& load : c.chunks) {
        load.held = Bytes(*rc::gen::inRange(i < 2 ? 1 : 0, 100));
        load.held_for_weight = Bytes(*rc::gen::inRange(i < 2 ? 1 : 0, 100));
        load.backward_extra = Bytes(*rc::gen::inRange(0, 100));
      }
    }
  }));
}

TEST_CASE("a step with the passes of the step before, but another end, is as if it were alone") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline fresh, used;
    used.simulate(c.view());
    for (auto& buckets : c.buckets)
      for (Bucket& bucket : buckets) bucket.seconds = bucket.seconds * 2;
    c.work.embedding_exchange += Seconds(1);
    c.work.reduce_beside = !c.work.reduce_beside;
    RC_ASSERT(used.simulate(c.view()) == fresh.simulate(c.view()));
    for (std::size_t r = 0; r < c.updates.size(); ++r)
      RC_ASSERT(used.stages()[r].reduce_end == fresh.stages()[r].reduce_end);
  }));
}

// Where events are recorded every pass is simulated; else what repeats is passed over, of these two to the same bits.
TEST_CASE("under gpipe and 1f1b passing over what repeats changes no bit") {
  CHECK(rc::check([] {
    Case c = any_case(200);
    c.work.schedule = *rc::gen::element(ScheduleKind::kGpipe, ScheduleKind::k1f1b);
    c.work.chunks_per_rank = 1;
    c.chunks.resize(c.updates.size());
    if (*rc::gen::arbitrary<bool>())  // as inner stages mostly are, with ends of their own
      for (std::size_t s = 2; s + 1 < c.chunks.size(); ++s) c.chunks[s] = c.chunks[1];
    c.buckets.resize(c.updates.size());
    const PipelineWork work = c.view();
    Timeline timeline;
    std::vector<Event> events;
    const Seconds full = timeline.simulate(work, &events);
    const std::vector<StageTimes> ranks(timeline.stages().begin(), timeline.stages().end());
    RC_ASSERT(timeline.simulate(work) == full);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      RC_ASSERT(timeline.stages()[r].pipeline_end == ranks[r].pipeline_end);
      RC_ASSERT(timeline.stages()[r].reduce_end == ranks[r].reduce_end);
    }
  }));
}

// Likewise.
TEST_CASE("passing over the steady state changes nothing but the rounding") {
  CHECK(rc::check([] {
    Case c = any_case(200);
    Timeline timeline;
    std::vector<Event> events;
    const double full = timeline.simulate(c.view(), &events).value;
    const std::vector<StageTimes> ranks(timeline.stages().begin(), timeline.stages().end());
    const double passed_over = timeline.simulate(c.view()).value;
    RC_ASSERT(std::abs(passed_over - full) <= 1e-10 * full);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const StageTimes& times = timeline.stages()[r];
      RC_ASSERT(std::abs((times.pipeline_end - ranks[r].pipeline_end).value) <= 1e-10 * full);
      RC_ASSERT(std::abs((times.reduce_end - ranks[r].reduce_end).value) <= 1e-10 * full);
      RC_ASSERT(times.peak == ranks[r].peak);
    }
  }));
}

}  // namespace
}  // namespace foretrain
