// The closed forms of the papers, exactly. Times are quarters and small, so their sums are exact.
#include <doctest/doctest.h>

#include <algorithm>

#include "timeline/testing.h"

namespace foretrain {
namespace {

using std::int64_t;

double step(ScheduleKind kind, int64_t p, int64_t vpp, int64_t m, double f, double b, double w) {
  const auto chunks = equal_chunks(kind, p, vpp, f, b, w);
  Timeline timeline;
  return timeline.simulate(work_of(kind, chunks, vpp, m)).value;
}

double d(int64_t n) { return static_cast<double>(n); }

// Seconds beside a rank's own work, with equal chunks.
double idle(ScheduleKind kind, int64_t p, int64_t vpp, int64_t m, double f, double b, double w) {
  const double on_a_rank = runs_both_ways(kind) ? 1 : d(chunks_per_rank(kind, vpp));
  return step(kind, p, vpp, m, f, b, w) - on_a_rank * d(m) * (f + b + w);
}

struct Times {
  double f, b, w;
};
constexpr Times kThirds{1, 1, 1};
// Weights no longer than the passes that they fill in for.
constexpr Times kUnequal[] = {kThirds, {1, 1.5, 0.5}, {1, 1.25, 1}, {2, 1.25, 1.25}, {1, 3, 0}};

TEST_CASE("interleaved: the bubble is (p - 1)/(m v) of the work") {
  for (const int64_t p : {2, 3, 4, 8}) {
    for (const int64_t v : {2, 3, 5}) {
      for (const int64_t groups : {1, 2, 3, 8}) {
        const int64_t m = groups * p;
        const double work = d(m * v) * 3.75;
        const double bubble = idle(ScheduleKind::kInterleaved, p, v, m, 1.25, 1.5, 1);
        CHECK(bubble == d(p - 1) * 3.75);
        CHECK(bubble * d(m * v) == d(p - 1) * work);
      }
    }
  }
}

TEST_CASE("zb-h1: (p - 1)(F + B - W), a third of 1f1b's bubble where the three are equal") {
  for (const int64_t p : {2, 3, 4, 8}) {
    for (const int64_t m : {p, p + 1, 2 * p, 5 * p}) {
      for (const auto& [f, b, w] : kUnequal)
        CHECK(idle(ScheduleKind::kZbH1, p, 1, m, f, b, w) == d(p - 1) * (f + b - w));
      CHECK(3 * idle(ScheduleKind::kZbH1, p, 1, m, 1, 1, 1) == idle(ScheduleKind::k1f1b, p, 1, m, 1, 1, 1));
    }
  }
}

TEST_CASE("zb-h2: (p - 1)(F + B - 2W) or the slant, whichever is more") {
  // The slant: the last rank starts p - 1 forwards late, and all ranks meet at the end.
  for (const int64_t p : {2, 3, 4, 8})
    for (const int64_t m : {2 * p - 1, 2 * p, 5 * p})
      for (const auto& [f, b, w] : kUnequal)
        CHECK(idle(ScheduleKind::kZbH2, p, 1, m, f, b, w) == d(p - 1) * std::max(f, f + b - 2 * w));
}

TEST_CASE("zb-h2 and zbv with F = B = W: no rank is idle between its first and its last pass") {
  for (const ScheduleKind kind : {ScheduleKind::kZbH2, ScheduleKind::kZbv}) {
    for (const int64_t p : {2, 3, 4, 8}) {
      for (const int64_t m : {2 * p - 1, 2 * p, 5 * p}) {
        const auto chunks = equal_chunks(kind, p, 1, 1, 1, 1);
        Timeline timeline;
        std::vector<Event> events;
        timeline.simulate(work_of(kind, chunks, 1, m), &events);
        std::vector<double> begin(static_cast<std::size_t>(p), 1e9);
        for (const Event& event : events) {
          double& first = begin[static_cast<std::size_t>(event.stage)];
          first = std::min(first, event.start.value);
        }
        for (int64_t r = 0; r < p; ++r) {
          const StageTimes& times = timeline.stages()[static_cast<std::size_t>(r)];
          CHECK(begin[static_cast<std::size_t>(r)] == d(r));
          CHECK(times.pipeline_end.value - d(r) == times.compute.value);
        }
      }
    }
  }
}

TEST_CASE("dualpipe: (p/2 - 1)(F&B + B - 3W), dualpipev the same of 2p stages") {
  // Published with B the whole backward, here b + w; a pair F&B takes F + B.
  const auto published = [](double half, const Times& t) {
    const double whole = t.b + t.w;
    return (half - 1) * (t.f + whole + whole - 3 * t.w);
  };
  for (const int64_t p : {2, 4, 6, 8}) {
    for (const int64_t m : {2 * p, 2 * p + 2, 5 * p}) {
      CHECK(idle(ScheduleKind::kDualpipe, p, 1, m, 1, 1, 1) == published(d(p) / 2, kThirds));
      CHECK(idle(ScheduleKind::kDualpipev, p, 1, m, 1, 1, 1) == published(d(p), kThirds));
      // Where the halves differ, F no longer than B, messages may leave sooner than the published count has it.
      for (const Times& t : kUnequal) {
        if (t.f > t.b) continue;
        CHECK(idle(ScheduleKind::kDualpipe, p, 1, m, t.f, t.b, t.w) <= published(d(p) / 2, t));
        CHECK(idle(ScheduleKind::kDualpipev, p, 1, m, t.f, t.b, t.w) <= published(d(p), t));
      }
    }
  }
}

// The most bytes and micro-batches on each rank, of chunks that hold `held` for B and `for_weight` for W.
std::vector<StageTimes> peaks(ScheduleKind kind, int64_t p, int64_t vpp, int64_t m, double held,
                              double for_weight) {
  auto chunks = equal_chunks(kind, p, vpp, 1, 1, 1);
  for (ChunkLoad& load : chunks) load.held = Bytes(held), load.held_for_weight = Bytes(for_weight);
  Timeline timeline;
  timeline.simulate(work_of(kind, chunks, vpp, m));
  return {timeline.stages().begin(), timeline.stages().end()};
}

TEST_CASE("interleaved holds 2(p - 1 - r) + (v - 1)p + 1 chunks' micro-batches on rank r") {
  for (const int64_t p : {2, 4, 8}) {
    for (const int64_t v : {2, 3}) {
      for (const int64_t m : {p, 2 * p, 8 * p}) {
        const auto ranks = peaks(ScheduleKind::kInterleaved, p, v, m, 10, 0);
        for (int64_t r = 0; r < p; ++r) {
          const StageTimes& times = ranks[static_cast<std::size_t>(r)];
          CHECK(times.in_flight == std::min(m * v, 2 * (p - 1 - r) + (v - 1) * p + 1));
          CHECK(times.peak == Bytes(10 * d(times.in_flight)));
        }
      }
    }
  }
}

TEST_CASE("zb-h1 holds p - r micro-batches for B and r for W, zb-h2 2(p - r) - 1 and 2r") {
  for (const int64_t p : {2, 4, 8}) {
    for (const int64_t m : {2 * p - 1, 2 * p, 8 * p}) {
      const auto h1 = peaks(ScheduleKind::kZbH1, p, 1, m, 34, 32);
      const auto h2 = peaks(ScheduleKind::kZbH2, p, 1, m, 34, 32);
      for (int64_t r = 0; r < p; ++r) {
        const auto i = static_cast<std::size_t>(r);
        CHECK(h1[i].in_flight == p - r);
        CHECK(h1[i].peak == Bytes(34 * d(p - r) + 32 * d(r)));
        CHECK(h2[i].in_flight == 2 * (p - r) - 1);
        CHECK(h2[i].peak == Bytes(34 * d(2 * (p - r) - 1) + 32 * d(2 * r)));
      }
      // The first rank's is the most: 1f1b's p for H1, 2p - 1 for H2.
      for (std::size_t i = 0; i < h1.size(); ++i) CHECK(h1[i].peak <= Bytes(34 * d(p)));
      for (std::size_t i = 0; i < h2.size(); ++i) CHECK(h2[i].peak <= Bytes(34 * d(2 * p - 1)));
    }
  }
}

TEST_CASE("zbv holds 1f1b's memory: 2p micro-batches of half a stage, on every rank") {
  for (const int64_t p : {2, 4, 8}) {
    for (const int64_t m : {2 * p - 1, 2 * p, 8 * p}) {
      for (const StageTimes& times : peaks(ScheduleKind::kZbv, p, 1, m, 10, 10)) {
        CHECK(times.in_flight == 2 * p);
        CHECK(times.peak == Bytes(10 * d(2 * p)));
      }
    }
  }
}

TEST_CASE("dualpipe holds p + 1 micro-batches, dualpipev 2p + 1 of half a stage") {
  for (const int64_t p : {4, 6, 8}) {
    for (const int64_t m : {2 * p, 2 * p + 2, 8 * p}) {
      for (const auto& [kind, most] :
           {std::pair{ScheduleKind::kDualpipe, p + 1}, std::pair{ScheduleKind::kDualpipev, 2 * p + 1}}) {
        int64_t worst = 0;
        for (const StageTimes& times : peaks(kind, p, 1, m, 10, 10)) {
          worst = std::max(worst, times.in_flight);
          CHECK(times.peak <= Bytes(10 * d(most)));
        }
        CHECK(worst == most);
      }
    }
  }
}

}  // namespace
}  // namespace foretrain
