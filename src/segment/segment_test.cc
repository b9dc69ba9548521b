#include "segment/segment.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "segment/contention.h"

using namespace foretrain;

namespace {

// Prices operators by their first two sizes: so many us on the GPU, so many on the host.
class Priced final : public CostSource {
 public:
  OperatorCost cost(const Operator& op) const override {
    OperatorCost cost;
    cost.gpu = microseconds(static_cast<double>(op.flat().at(0)));
    cost.host = microseconds(static_cast<double>(op.flat().at(1)));
    cost.spread = 0.1;
    return cost;
  }
};

// NVLink of 1 GB/s without latency: an all-gather over two ranks of B bytes takes B/2 ns.
const Network& two_ranks() {
  static const Cluster cluster = [] {
    Cluster c;
    c.gpus_per_node = c.nvlink_domain = 8;
    c.intra.bandwidth = c.inter.bandwidth = gigabytes_per_second(1);
    c.collectives = {{.kind = CollectiveKind::kAllGather, .latency_scale = 0}};
    return c;
  }();
  static const Network network(cluster, {.tp = 2});
  return network;
}

Task op(std::int64_t gpu_us, std::int64_t host_us, Direction direction = Direction::kForward) {
  Task task;
  task.op.set_flat({gpu_us, host_us});
  task.direction = direction;
  return task;
}

Task gather(double us, bool blocking) {
  Task task;
  task.kind = Task::Kind::kCollective;
  task.collective = {CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(us * 2000)};
  task.blocking = blocking;
  task.direction = Direction::kBackward;
  return task;
}

Task host_sync() {
  Task task;
  task.kind = Task::Kind::kHost;
  return task;
}

Segment run(std::vector<Task> tasks, std::int64_t count = 1, double lead_us = 0) {
  return lay_out(Pass{{Repeat{count, true, std::move(tasks)}}}, Priced(), two_ranks(), Seconds(0),
                 microseconds(lead_us));
}

double us(Seconds s) { return s.value * 1e6; }
double us(const Segment& segment, Cause cause) {
  return us(segment.by_cause[static_cast<std::size_t>(cause)]);
}

}  // namespace

TEST_CASE("A slow host shows as idle GPU: n operators take n launches and the last kernel") {
  const Segment segment = run({op(2, 10)}, 5);
  CHECK(us(segment.duration) == doctest::Approx(5 * 10 + 2));
  CHECK(us(segment, Cause::kLaunch) == doctest::Approx(5 * 8 + 2));
  CHECK(us(segment.lead) == doctest::Approx(2));
}

TEST_CASE("A fast host waits once, then runs ahead") {
  const Segment segment = run({op(10, 2)}, 5);
  CHECK(us(segment.duration) == doctest::Approx(2 + 5 * 10));
  CHECK(us(segment.lead) == doctest::Approx(52 - 10));
}

TEST_CASE("The lead of heavy operators pays for the launches of light ones") {
  // 100 us of work hide ten launches of 8 us each.
  std::vector<Task> tasks = {op(100, 5)};
  for (int i = 0; i < 10; ++i) tasks.push_back(op(2, 8));
  const Segment segment = run(tasks);
  CHECK(us(segment.duration) == doctest::Approx(5 + 100 + 20));
  // A lead from the pass before hides the first launch as well.
  CHECK(us(run(tasks, 1, 50).duration) == doctest::Approx(120));
}

TEST_CASE("Calls that launch nothing keep the host busy all the same") {
  Task task = op(2, 10);
  task.calls = 3;
  const Segment segment =
      lay_out(Pass{{Repeat{5, true, {task}}}}, Priced(), two_ranks(), microseconds(20), Seconds(0));
  CHECK(us(segment.duration) == doctest::Approx(5 * 70 + 2));
}

TEST_CASE("A sampled backward's own call into autograd is not paid in a pass, its launches are") {
  const auto host_us = [](OperatorKind kind, PassKind pass, std::int64_t sampled) {
    Task task = op(1, sampled, Direction::kBackward);
    task.op.kind = kind;
    task.op.pass = pass;
    task.op.launches = 2;
    const Segment segment =
        lay_out(Pass{{Repeat{1, true, {task}}}}, Priced(), two_ranks(), microseconds(10), Seconds(0));
    return us(segment.duration) - 0.5;  // the last of two kernels
  };
  CHECK(host_us(OperatorKind::kGelu, PassKind::kBackward, 200) == doctest::Approx(200 - 87));
  CHECK(host_us(OperatorKind::kGelu, PassKind::kBackward, 90) ==
        doctest::Approx(20));  // at least its launches
  CHECK(host_us(OperatorKind::kGelu, PassKind::kBackward, 15) == doctest::Approx(15));  // or what was sampled
  CHECK(host_us(OperatorKind::kGelu, PassKind::kForward, 200) == doctest::Approx(200));
  CHECK(host_us(OperatorKind::kAdd, PassKind::kBackward, 200) == doctest::Approx(200));  // sampled without
}

TEST_CASE("A synchronisation drains the lead: every layer pays its first launch") {
  const Segment segment = run({op(100, 5), host_sync()}, 4);
  CHECK(us(segment.duration) == doctest::Approx(4 * 105));
  CHECK(us(segment, Cause::kLaunch) == doctest::Approx(20));
}

TEST_CASE("Where the host reads what kernels make the two take turns, and no lead is left") {
  Task read = op(30, 20);
  read.turns = true;
  // 100 us of work hide the launches, until the read: then 20 us of launches and 30 of kernels, one after the other.
  const Segment segment = run({op(100, 1), read, op(10, 5)});
  CHECK(us(segment.duration) == doctest::Approx(1 + 100 + 20 + 30 + 5 + 10));
  CHECK(us(segment, Cause::kLaunch) == doctest::Approx(1 + 20 + 5));
}

TEST_CASE("A lead hides the host's own work, unless the pass before ended with a wait") {
  Task calls = host_sync();
  calls.blocking = false;
  calls.calls = 4;
  const Pass pass{{Repeat{1, false, {calls}}, Repeat{4, true, {op(100, 5)}}}};
  const auto with_lead = [&](double lead) {
    return lay_out(pass, Priced(), two_ranks(), microseconds(10), microseconds(lead));
  };
  CHECK(us(with_lead(0).duration) == doctest::Approx(40 + 5 + 400));
  CHECK(us(with_lead(1000).duration) == doctest::Approx(400));
  CHECK(us(with_lead(0).lead) == doctest::Approx(445 - 60));
  Pass timed = pass;
  timed.repeats.push_back(Repeat{1, false, {host_sync()}});
  CHECK(us(lay_out(timed, Priced(), two_ranks(), microseconds(10), Seconds(0)).lead) == 0);
}

TEST_CASE("A blocking collective stops compute, another runs beside work that does not need it") {
  const Task b = op(10, 0, Direction::kBackward), w = op(10, 0, Direction::kWeight);
  CHECK(us(run({b, gather(15, true), w, b}).duration) == doctest::Approx(45));
  // W takes longer beside the gather, and the gather beside W; the rest of it is alone, and B waits.
  const Segment beside = run({b, gather(15, false), w, b});
  const double both = 10 * kComputeBeside, rest = 15 - both / kCollectiveBeside;
  CHECK(us(beside.duration) == doctest::Approx(10 + both + rest + 10));
  CHECK(us(beside, Cause::kTensorParallel) == doctest::Approx(both - 10 + rest));
  // A gather for W: B goes on beside it, W waits.
  Task for_weight = gather(15, false);
  for_weight.direction = Direction::kWeight;
  CHECK(us(run({for_weight, b, w}).duration) == doctest::Approx(both + rest + 10));
  CHECK(us(run({for_weight, w, b}).duration) == doctest::Approx(15 + 10 + 10));
}

TEST_CASE("The launch queue is bounded: the host is never further ahead than it holds") {
  // 4096 kernels of 10 us whose launch takes nothing: unbounded, the lead would be 40 ms.
  const Segment segment = run({op(10, 0)}, 4096);
  CHECK(us(segment.lead) <= 10.0 * kQueueDepth + 10.01);
}

TEST_CASE("Layers' gradients are ready one after the other, the last at the end") {
  const Segment segment = run({op(10, 1, Direction::kWeight)}, 4);
  REQUIRE(segment.ready_before_end.size() == 4);
  CHECK(us(segment.ready_before_end[0]) == doctest::Approx(30));
  CHECK(us(segment.ready_before_end[3]) == doctest::Approx(0));
}

TEST_CASE("Causes sum to the duration, which is at least the work of each queue") {
  CHECK(rc::check([] {
    std::vector<Task> tasks;
    const int n = *rc::gen::inRange(1, 12);
    double gpu = 0, host = 0;
    for (int i = 0; i < n; ++i) {
      const int what = *rc::gen::inRange(0, 6);
      if (what == 0) {
        tasks.push_back(host_sync());
      } else if (what == 1) {
        tasks.push_back(gather(*rc::gen::inRange(1, 50), *rc::gen::arbitrary<bool>()));
        if (*rc::gen::arbitrary<bool>()) tasks.back().direction = Direction::kWeight;
      } else {
        const int g = *rc::gen::inRange(0, 100), h = *rc::gen::inRange(0, 40);
        tasks.push_back(op(g, h, what == 2 ? Direction::kWeight : Direction::kForward));
        gpu += g, host += h;
      }
    }
    const int count = *rc::gen::inRange(1, 40);
    const Segment segment = run(tasks, count);
    double causes = 0;
    for (const Seconds s : segment.by_cause) causes += us(s);
    RC_ASSERT(std::abs(causes - us(segment.duration)) <= 1e-6 * causes + 1e-6);
    RC_ASSERT(us(segment.duration) >= gpu * count - 1e-6);
    RC_ASSERT(us(segment.duration) >= host * count - 1e-6);
    // Adding up settled layers equals laying all of them out.
    Pass unrolled;
    for (int i = 0; i < count; ++i) unrolled.repeats.push_back(Repeat{1, true, tasks});
    const Segment exact = lay_out(unrolled, Priced(), two_ranks(), Seconds(0), Seconds(0));
    RC_ASSERT(std::abs(us(exact.duration) - us(segment.duration)) <= 1e-6 * us(exact.duration) + 1e-6);
    RC_ASSERT(exact.ready_before_end.size() == segment.ready_before_end.size());
  }));
}

namespace {

Task captured(Task task, Capture as = Capture::kPart) {
  task.capture = as;
  return task;
}

Segment run_at(std::vector<Task> tasks, double launch_us, std::int64_t count = 1) {
  return lay_out(Pass{{Repeat{count, true, std::move(tasks)}}}, Priced(), two_ranks(),
                 microseconds(launch_us), Seconds(0));
}

}  // namespace

// Where the host needs 10 us for a kernel of 2 us, five take 5 x 10 + 2; in the step's graph only the GPU's time is left,
// shorter by what kernels of a graph gain (at most the share kGraphFloor stays: 2 us lose 0.5).
TEST_CASE("A step's graph leaves the GPU's time, whatever the host needs") {
  CHECK(us(run({op(2, 10)}, 5).duration) == doctest::Approx(52));
  const Segment graph = run({captured(op(2, 10), Capture::kStep)}, 5);
  CHECK(us(graph.duration) == doctest::Approx(5 * 1.5));
  CHECK(us(graph, Cause::kLaunch) == doctest::Approx(0));
  // Calls beside it are of its capture too.
  Task calls = captured(op(100, 10), Capture::kStep);
  calls.calls = 1000;
  CHECK(us(run_at({calls}, 6).duration) == doctest::Approx(99.5));
}

TEST_CASE("No kernel gets shorter than its share by being in a graph") {
  CHECK(us(run({captured(op(1, 0), Capture::kStep)}).duration) == doctest::Approx(kGraphFloor));
}

// One launch of the graph, 9 launches of 4 us, then three kernels of 100 - 0.5 us in a row; what follows it is launched
// as ever, while they run.
TEST_CASE("Neighbours of a layer are one graph, which costs the host one call") {
  const Segment one =
      run_at({captured(op(100, 50)), captured(op(100, 50)), captured(op(100, 50)), op(10, 20)}, 4);
  CHECK(us(one.duration) == doctest::Approx(9 * 4 + 3 * 99.5 + 10));
  CHECK(us(one, Cause::kLaunch) == doctest::Approx(9 * 4));
  CHECK(us(one.lead) == doctest::Approx(one.duration.value * 1e6 - (9 * 4 + 20)));
  // Something between them makes two graphs of them.
  const Segment two = run_at({captured(op(1, 50)), op(1, 50), captured(op(1, 50))}, 4);
  CHECK(us(two.duration) == doctest::Approx(9 * 4 + 50 + 9 * 4 + kGraphFloor));
  // Every layer has its own; backward the call is dearer.
  CHECK(us(run_at({captured(op(1, 50))}, 4, 3).duration) == doctest::Approx(3 * 9 * 4 + kGraphFloor));
  CHECK(us(run_at({captured(op(1, 50, Direction::kBackward))}, 4).duration) ==
        doctest::Approx(17 * 4 + kGraphFloor));
}

TEST_CASE("A collective of a graph is not launched, but lasts as long") {
  const Segment segment = run_at({captured(gather(30, true), Capture::kStep)}, 100);
  CHECK(us(segment.duration) == doctest::Approx(30));
}

TEST_CASE("The host's task that launches a step's graph adds that to its calls") {
  Task load = host_sync();
  load.blocking = false;
  load.calls = 3;
  load.capture = Capture::kStep;
  CHECK(us(run_at({load, op(1, 0)}, 5).duration) == doctest::Approx((3 + kStepGraphLaunches) * 5 + 1));
}

// Four graphs of more kernels than their call takes launches: only the first kernel of all can start later.
TEST_CASE("Graphs of many kernels make no pass longer, but for the first launch") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(20, 60);
    const double launch = *rc::gen::inRange(1, 12);
    std::vector<Task> plain;
    for (std::size_t i = 0; i < n; ++i)
      plain.push_back(op(*rc::gen::inRange(0, 30), static_cast<std::int64_t>(launch)));
    std::vector<Task> graph;
    for (const Task& task : plain) graph.push_back(captured(task));
    const Seconds first = microseconds(launch * kGraphLaunches[0]);
    RC_ASSERT(run_at(graph, launch, 4).duration <= run_at(plain, launch, 4).duration + first);
  }));
}

// Of 5 kernels that wait for launches of 10 us each: all but the last kernel itself.
TEST_CASE("What the host took is from where it was free to the last wait for it") {
  CHECK(us(run({op(2, 10)}, 5).host_bound) == doctest::Approx(50));
  // A fast host is waited for once, before the first kernel.
  CHECK(us(run({op(10, 2)}, 5).host_bound) == doctest::Approx(2));
  CHECK(us(run({op(10, 2)}, 5, 3).host_bound) == doctest::Approx(0));
  // 30 us of the GPU, during which the host issues what follows at 1 + 10; then the host waits, and 10 us of a launch
  // are its own again.
  CHECK(us(run({op(30, 1), op(1, 10), host_sync(), op(1, 10)}).host_bound) == doctest::Approx(1 + 10));
}
