// Gathers and scatters of units (ZeRO 2 and 3) on the data-parallel stream: closed forms, and the shortcut
// over equal units against all of them written out.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "segment/contention.h"
#include "segment/segment.h"

using namespace foretrain;

namespace {

// Prices operators by their first two sizes: so many us on the GPU, so many on the host.
class Priced final : public CostSource {
 public:
  OperatorCost cost(const Operator& op) const override {
    OperatorCost cost;
    cost.gpu = microseconds(static_cast<double>(op.flat().at(0)));
    cost.host = microseconds(static_cast<double>(op.flat().at(1)));
    return cost;
  }
};

// NVLink of 1 GB/s: over two ranks half of the bytes pass, after a start that `collective` sets off.
const Network& two_ranks() {
  static const Cluster cluster = [] {
    Cluster c;
    c.gpus_per_node = c.nvlink_domain = 8;
    c.intra.bandwidth = c.inter.bandwidth = gigabytes_per_second(1);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce})
      c.collectives.push_back({.kind = kind, .latency_scale = 0});
    return c;
  }();
  static const Network network(cluster, {.dp = 2});
  return network;
}

Task work(std::int64_t gpu_us, std::int64_t host_us = 0) {
  Task task;
  task.op.set_flat({gpu_us, host_us});
  return task;
}

// A collective of so many us.
Task collective(CollectiveKind kind, double us) {
  Task task;
  task.kind = Task::Kind::kCollective;
  task.collective = {kind, GroupKind::kShard, Bytes(0)};
  const double start = two_ranks().cost(task.collective).seconds.value * 1e6;
  task.collective.bytes = Bytes((us - start) * 2000);
  task.blocking = false;
  return task;
}
Task gather(double us, Prefetch prefetch) {
  Task task = collective(CollectiveKind::kAllGather, us);
  task.prefetch = prefetch;
  return task;
}
Task scatter(double us) {
  Task task = collective(CollectiveKind::kReduceScatter, us);
  task.direction = Direction::kWeight;
  return task;
}

Segment run(const Pass& pass, double launch_us = 0) {
  return lay_out(pass, Priced(), two_ranks(), microseconds(launch_us), Seconds(0));
}
Segment run(std::vector<Task> unit, std::int64_t count) { return run(Pass{{Repeat{count, true, unit}}}); }
double us(Seconds s) { return s.value * 1e6; }
double exposed(const Segment& segment) {
  return us(segment.by_cause[static_cast<std::size_t>(Cause::kDataParallel)]);
}

constexpr double kSlower = kComputeBeside - 1;
static_assert(kComputeBeside == kCollectiveBeside);  // the forms below

}  // namespace

TEST_CASE("Prefetched gathers shorter than the work hide behind it, all but the first") {
  // Each but the last unit works beside one gather, and takes what the two cost each other.
  const Segment segment = run({gather(40, Prefetch::kBefore), work(100)}, 10);
  CHECK(us(segment.duration) == doctest::Approx(40 + 10 * 100 + 9 * kSlower * 40));
  CHECK(exposed(segment) == doctest::Approx(40 + 9 * kSlower * 40));
}

TEST_CASE("Prefetched gathers longer than the work follow one another, the last unit's work after them") {
  const Segment segment = run({gather(100, Prefetch::kBefore), work(40)}, 10);
  CHECK(us(segment.duration) == doctest::Approx(10 * 100 + 9 * kSlower * 40 + 40));
}

TEST_CASE("Without prefetch every unit waits for its own gather") {
  const Segment segment = run({gather(40, Prefetch::kNone), work(100)}, 10);
  CHECK(us(segment.duration) == doctest::Approx(10 * (40 + 100)));
  CHECK(exposed(segment) == doctest::Approx(10 * 40));
}

TEST_CASE("A gather sent for after the work goes before the scatter, which the next unit's work hides") {
  const Segment segment = run({gather(40, Prefetch::kAfter), work(100), scatter(50)}, 10);
  CHECK(us(segment.duration) == doctest::Approx(10 * (40 + 100) + 9 * kSlower * 50 + 50));
}

TEST_CASE("Scatters hide behind the next unit's work but for the last; a queue of them is waited for") {
  CHECK(us(run({work(100), scatter(50)}, 10).duration) == doctest::Approx(10 * 100 + 9 * kSlower * 50 + 50));
  // 900 us of work after the first unit's, beside all of it, then the rest of the queue.
  CHECK(us(run({work(100), scatter(200)}, 10).duration) == doctest::Approx(100 + 10 * 200 + 900 * kSlower));
  Task blocking = scatter(50);
  blocking.blocking = true;
  CHECK(us(run({work(100), blocking}, 10).duration) == doctest::Approx(10 * 150));
}

TEST_CASE("A synchronisation of the device waits for scatters too, a read of what compute made does not") {
  Task wait;
  wait.kind = Task::Kind::kHost;
  CHECK(us(run({work(100), scatter(50), wait}, 10).duration) ==
        doctest::Approx(10 * 100 + 9 * kSlower * 50 + 50));
  wait.device = true;
  CHECK(us(run({work(100), scatter(50), wait}, 10).duration) == doctest::Approx(10 * 150));
}

TEST_CASE("Links are shared: a scatter delays the gather behind it") {
  // Each unit's 100 us of work see a gather and a scatter of 60 us each: the stream is what counts.
  const Segment segment = run({gather(60, Prefetch::kBefore), work(100), scatter(60)}, 20);
  CHECK(us(segment.duration) > 20 * 120);
  CHECK(us(segment.duration) < 20 * (120 + kSlower * 100) + 2 * 120);
}

TEST_CASE("The unit after the last of equal ones is sent for in time") {
  Pass pass{{Repeat{10, true, {gather(40, Prefetch::kBefore), work(100)}},
             Repeat{1, false, {gather(80, Prefetch::kBefore), work(10)}}}};
  CHECK(us(run(pass).duration) == doctest::Approx(40 + 1000 + 9 * kSlower * 40 + kSlower * 80 + 10));
  // The ends of the model may gather nothing, and send for the blocks all the same.
  Pass backward{
      {Repeat{1, false, {work(100)}}, Repeat{10, true, {gather(40, Prefetch::kBefore), work(100)}}}};
  CHECK(us(run(backward).duration) == doctest::Approx(1100 + 10 * kSlower * 40));
}

TEST_CASE("Before the host's own work nothing is sent for: the first gather comes after it") {
  Task calls;
  calls.kind = Task::Kind::kHost;
  calls.blocking = false;
  calls.calls = 10;
  for (const Prefetch prefetch : {Prefetch::kBefore, Prefetch::kAfter, Prefetch::kNone}) {
    const Pass pass{{Repeat{1, false, {calls}}, Repeat{1, true, {gather(40, prefetch), work(100)}}}};
    // Ten calls, the gather's launch and the gather, one after the other.
    CHECK(us(run(pass, 20).duration) == doctest::Approx(10 * 20 + 20 + 40 + 100));
  }
}

TEST_CASE("Sums over replicas leave the gathers alone where these stay inside a node") {
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = 2;
  cluster.intra.bandwidth = cluster.inter.bandwidth = gigabytes_per_second(1);
  for (const Mesh mesh : {Mesh{.dp = 4, .shard = 2}, Mesh{.dp = 8, .shard = 4}}) {
    const Network network(cluster, mesh);
    Task weights = gather(0, Prefetch::kBefore), gradients = scatter(0), sum = scatter(0);
    weights.collective.bytes = gradients.collective.bytes = Bytes(20'000);
    sum.collective = {CollectiveKind::kAllReduce, GroupKind::kReplica, Bytes(200'000)};
    const auto seconds = [&](const Task& task) { return us(network.cost(task.collective).seconds); };
    const Pass pass{{Repeat{10, true, {weights, work(10), gradients, sum}}}};
    const double step = us(lay_out(pass, Priced(), network, Seconds(0), Seconds(0)).duration);
    // The sums are what counts. Where all use the NICs, the others take their turn.
    const double sums = 10 * seconds(sum), others = 10 * (seconds(weights) + seconds(gradients));
    CHECK(step > sums);
    CHECK((step > sums + 0.8 * others) == (mesh.shard == 4));
  }
}

TEST_CASE("The host pays for calls around a gather") {
  Task own = gather(10, Prefetch::kNone);
  own.calls = 9;
  // Ten calls of 20 us each before every gather; work of 1 us hides nothing.
  CHECK(us(run(Pass{{Repeat{5, true, {own, work(1)}}}}, 20).duration) >= 5 * 200);
}

TEST_CASE("Causes sum to the duration, and equal units added up are as if written out") {
  CHECK(rc::check([] {
    const auto prefetch = *rc::gen::element(Prefetch::kNone, Prefetch::kAfter, Prefetch::kBefore);
    const bool gathers = *rc::gen::arbitrary<bool>();
    std::vector<Task> unit;
    if (gathers) unit.push_back(gather(*rc::gen::inRange(10, 200), prefetch));
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i)
      unit.push_back(work(*rc::gen::inRange(0, 100), *rc::gen::inRange(0, 60)));
    if (*rc::gen::arbitrary<bool>()) unit.push_back(scatter(*rc::gen::inRange(10, 200)));
    const Repeat head{1, false, {gather(*rc::gen::inRange(10, 200), prefetch), work(50)}};
    const int count = *rc::gen::inRange(1, 40);
    Pass pass{{Repeat{count, true, unit}}}, written;
    for (int i = 0; i < count; ++i) written.repeats.push_back(Repeat{1, true, unit});
    if (*rc::gen::arbitrary<bool>()) pass.repeats.push_back(head), written.repeats.push_back(head);
    const Segment short_cut = run(pass), exact = run(written);
    double causes = 0;
    for (const Seconds s : short_cut.by_cause) {
      RC_ASSERT(us(s) >= -1e-9);
      causes += us(s);
    }
    RC_ASSERT(std::abs(causes - us(short_cut.duration)) <= 1e-6 * causes + 1e-6);
    RC_ASSERT(std::abs(us(exact.duration) - us(short_cut.duration)) <= 1e-6 * us(exact.duration) + 1e-6);
    for (std::size_t i = 0; i < kCauseCount; ++i)
      RC_ASSERT(std::abs(us(exact.by_cause[i]) - us(short_cut.by_cause[i])) <=
                1e-5 * us(exact.duration) + 1e-6);
  }));
}

TEST_CASE("Prefetching is never slower than not, and both never faster than either stream alone") {
  CHECK(rc::check([] {
    const double g = *rc::gen::inRange(10, 200), c = *rc::gen::inRange(1, 200);
    const int n = *rc::gen::inRange(1, 30);
    const auto with = [&](Prefetch prefetch) {
      return us(run({gather(g, prefetch), work(static_cast<std::int64_t>(c))}, n).duration);
    };
    RC_ASSERT(with(Prefetch::kBefore) <= with(Prefetch::kNone) + 1e-6);
    RC_ASSERT(with(Prefetch::kBefore) >= std::max(g + n * c, n * g + c) - 1e-6);
  }));
}
