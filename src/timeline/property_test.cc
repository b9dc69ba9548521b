#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <utility>

#include "timeline/schedule.h"
#include "timeline/timeline.h"

namespace foretrain {
namespace {

using std::int64_t;

// Random work, with what its spans point to.
struct Case {
  std::vector<StageWork> stages;
  std::vector<std::vector<Bucket>> buckets;
  PipelineWork work;

  PipelineWork view() {
    for (std::size_t s = 0; s < stages.size(); ++s) stages[s].buckets = buckets[s];
    work.stages = stages;
    return work;
  }
};

// Tenths, so that sums are not exact and their order shows.
double tenths(int most) { return 0.1 * *rc::gen::inRange(0, most); }

Case any_case() {
  Case c;
  const int stages = *rc::gen::inRange(1, 10);
  for (int s = 0; s < stages; ++s) {
    StageWork stage;
    stage.forward = Seconds(tenths(30));
    stage.backward = Seconds(tenths(60));
    stage.send_forward = Seconds(tenths(20));
    stage.send_backward = Seconds(tenths(20));
    stage.held = Bytes(*rc::gen::inRange(0, 100));
    stage.forward_extra = Bytes(*rc::gen::inRange(0, 100));
    stage.backward_extra = Bytes(*rc::gen::inRange(0, 100));
    stage.optimizer = Seconds(tenths(20));
    stage.gather = Seconds(tenths(20));
    c.stages.push_back(stage);
    c.buckets.emplace_back();
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      c.buckets.back().push_back({Seconds(tenths(60)), Seconds(tenths(30))});
    }
  }
  c.work.micro_batches = *rc::gen::inRange<int64_t>(1, 20);
  c.work.schedule = *rc::gen::element(ScheduleKind::kGpipe, ScheduleKind::k1f1b);
  c.work.blocking_sends = *rc::gen::arbitrary<bool>();
  c.work.embedding_exchange = Seconds(tenths(10));
  c.work.meet = Seconds(tenths(10));
  return c;
}

struct Pass {
  double start = 0.0;
  double end = 0.0;
  double arrival = 0.0;  // of its message
};

// The rules one by one, evaluated again and again in no clever order until nothing changes.
struct Naive {
  const PipelineWork& work;
  int64_t p = static_cast<int64_t>(work.stages.size());
  int64_t m = work.micro_batches;
  std::map<std::pair<int64_t, int64_t>, Pass> passes;  // by stage and place in its order
  std::map<std::pair<int64_t, int64_t>, int64_t> forward_at, backward_at;

  explicit Naive(const PipelineWork& w) : work(w) {
    for (int64_t s = 0; s < p; ++s) {
      for (int64_t k = 0; k < 2 * m; ++k) {
        const ScheduledPass pass = order(s, k);
        (pass.forward ? forward_at : backward_at)[{s, pass.micro_batch}] = k;
      }
    }
    while (improve()) {
    }
  }

  ScheduledPass order(int64_t s, int64_t k) const { return pass_at(work.schedule, s, p, m, k); }

  double send(int64_t s, bool forward) const {
    if (forward ? s == p - 1 : s == 0) return 0.0;
    const StageWork& stage = work.stages[static_cast<std::size_t>(s)];
    return (forward ? stage.send_forward : stage.send_backward).value;
  }

  bool improve() {
    bool changed = false;
    for (int64_t s = 0; s < p; ++s) {
      const StageWork& stage = work.stages[static_cast<std::size_t>(s)];
      for (int64_t k = 0; k < 2 * m; ++k) {
        const auto [forward, i] = order(s, k);
        Pass pass;
        if (k > 0) {
          const Pass& before = passes[{s, k - 1}];
          const double busy = work.blocking_sends ? send(s, order(s, k - 1).forward) : 0.0;
          pass.start = before.end + busy;
        }
        if (forward && s > 0) {
          pass.start = std::max(pass.start, passes[{s - 1, forward_at[{s - 1, i}]}].arrival);
        }
        if (!forward && s < p - 1) {
          pass.start = std::max(pass.start, passes[{s + 1, backward_at[{s + 1, i}]}].arrival);
        }
        pass.end = pass.start + (forward ? stage.forward : stage.backward).value;
        pass.arrival = pass.end;
        if (!work.blocking_sends && i > 0) {
          const int64_t last = (forward ? forward_at : backward_at)[{s, i - 1}];
          pass.arrival = std::max(pass.arrival, passes[{s, last}].arrival);
        }
        pass.arrival += send(s, forward);
        Pass& known = passes[{s, k}];
        changed = changed || known.start != pass.start || known.end != pass.end;
        changed = changed || known.arrival != pass.arrival;
        known = pass;
      }
    }
    return changed;
  }

  double pipeline_end(int64_t s) {
    return passes[{s, 2 * m - 1}].end + (work.blocking_sends ? send(s, false) : 0.0);
  }

  // The bytes rule, pass by pass.
  Bytes peak(int64_t s) const {
    const StageWork& stage = work.stages[static_cast<std::size_t>(s)];
    Bytes held, most;
    for (int64_t k = 0; k < 2 * m; ++k) {
      const bool forward = order(s, k).forward;
      if (forward) held += stage.held;
      most = std::max(most, held + (forward ? stage.forward_extra : stage.backward_extra));
      if (!forward) held -= stage.held;
    }
    return most;
  }
};

TEST_CASE("the simulation equals the rules iterated to a fixed point, to the last bit") {
  CHECK(rc::check([] {
    Case c = any_case();
    const PipelineWork work = c.view();
    Naive naive(work);
    Timeline timeline;
    std::vector<Event> events;
    timeline.simulate(work, &events);
    for (int64_t s = 0; s < naive.p; ++s) {
      const StageTimes& times = timeline.stages()[static_cast<std::size_t>(s)];
      RC_ASSERT(times.pipeline_end.value == naive.pipeline_end(s));
      RC_ASSERT(times.peak == naive.peak(s));
    }
    // Each stage's passes appear in its schedule's order, at the naive times.
    std::map<int64_t, int64_t> seen;
    for (const Event& event : events) {
      if (event.kind != EventKind::kForward && event.kind != EventKind::kBackward) continue;
      const int64_t k = seen[event.stage]++;
      const ScheduledPass expected = naive.order(event.stage, k);
      RC_ASSERT(expected.forward == (event.kind == EventKind::kForward));
      RC_ASSERT(expected.micro_batch == event.micro_batch);
      RC_ASSERT(event.start.value == naive.passes[std::pair(event.stage, k)].start);
      RC_ASSERT(event.end.value == naive.passes[std::pair(event.stage, k)].end);
    }
    for (int64_t s = 0; s < naive.p; ++s) RC_ASSERT(seen[s] == 2 * naive.m);
  }));
}

TEST_CASE("a step is at least every stage's work and one micro-batch's way through all stages") {
  CHECK(rc::check([] {
    Case c = any_case();
    const PipelineWork work = c.view();
    Timeline timeline;
    const double step = timeline.simulate(work).value * (1 + 1e-12);
    double way = 0.0, before = 0.0, after = 0.0;
    for (std::size_t s = 0; s < c.stages.size(); ++s) {
      way += (c.stages[s].forward + c.stages[s].backward).value;
      if (s + 1 < c.stages.size()) way += c.stages[s].send_forward.value;
      if (s > 0) way += c.stages[s].send_backward.value;
    }
    RC_ASSERT(step >= way + work.meet.value);
    for (std::size_t s = 0; s < c.stages.size(); ++s) {
      // All its passes, after the first micro-batch has come and before the last has gone back.
      const StageTimes& times = timeline.stages()[s];
      const StageWork& stage = c.stages[s];
      RC_ASSERT(step >= before + (times.compute + work.meet + stage.optimizer + stage.gather).value + after);
      before += (stage.forward + stage.send_forward).value;
      after += stage.backward.value;
      if (s + 1 < c.stages.size()) after += c.stages[s + 1].send_backward.value;
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
    StageWork& stage = c.stages[*rc::gen::inRange<std::size_t>(0, c.stages.size())];
    std::vector<Seconds*> durations = {&stage.forward,       &stage.backward,           &stage.send_forward,
                                       &stage.send_backward, &stage.optimizer,          &stage.gather,
                                       &c.work.meet,         &c.work.embedding_exchange};
    for (std::vector<Bucket>& buckets : c.buckets) {
      for (Bucket& bucket : buckets) durations.push_back(&bucket.seconds);
    }
    *durations[*rc::gen::inRange<std::size_t>(0, durations.size())] += more;
    RC_ASSERT(timeline.simulate(c.view()).value >= before * (1 - 1e-12));
  }));
}

TEST_CASE("sends that block are never faster than sends that do not") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline;
    c.work.blocking_sends = true;
    const double blocking = timeline.simulate(c.view()).value;
    c.work.blocking_sends = false;
    RC_ASSERT(timeline.simulate(c.view()).value <= blocking * (1 + 1e-12));
  }));
}

TEST_CASE("no stage does two things at once, and nothing happens before the start or after the end") {
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

TEST_CASE("every micro-batch goes forward through the stages in turn, and back") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline timeline;
    std::vector<Event> events;
    timeline.simulate(c.view(), &events);
    std::map<std::pair<int64_t, int64_t>, Seconds> forward, backward;
    const auto last = static_cast<int64_t>(c.stages.size()) - 1;
    for (const Event& event : events) {
      const auto at = [&](int64_t stage) { return std::pair(stage, event.micro_batch); };
      if (event.kind == EventKind::kForward) {
        if (event.stage > 0) RC_ASSERT(event.start >= forward.at(at(event.stage - 1)));
        forward[at(event.stage)] = event.end;
      } else if (event.kind == EventKind::kBackward) {
        RC_ASSERT(event.start >= forward.at(at(event.stage)));
        if (event.stage < last) RC_ASSERT(event.start >= backward.at(at(event.stage + 1)));
        backward[at(event.stage)] = event.end;
      }
    }
  }));
}

TEST_CASE("recording events changes nothing, and neither does repeating") {
  CHECK(rc::check([] {
    Case c = any_case();
    Timeline fresh, used;
    std::vector<Event> events;
    const Seconds recorded = used.simulate(c.view(), &events);
    RC_ASSERT(fresh.simulate(c.view()) == recorded);
    RC_ASSERT(used.simulate(c.view()) == recorded);
  }));
}

}  // namespace
}  // namespace foretrain
