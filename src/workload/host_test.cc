// The host's work at the scale of passes, micro-batches and steps.
#include <doctest/doctest.h>

#include "workload/testing.h"
#include "workload/workload.h"

#include "spec/catalog.h"
#include "workload/optimizer_step.h"

using namespace foretrain;

namespace {

Model small() {
  Model model;
  model.hidden = 512;
  model.blocks = {{4, Block{{8, 8, 64}, {MlpKind::kGelu, 2048}}}};
  model.vocab = 1024;
  model.max_positions = 1024;
  return model;
}

Stack stack() {
  Stack stack = *Catalog().stack("generic");
  stack.host.calls_per_pass = {3, 5};
  stack.host.sync_after_pass = true;
  stack.host.calls_per_batch = 7;
  stack.host.copies_per_batch = 2;
  stack.host.calls_per_step = 11;
  return stack;
}

ChunkWork chunk(const Stack& stack, bool first, bool last) {
  const Model model = small();
  return build_chunk(model, stack, shape_of(model, Plan{}, stack, 1024, true), Chunk{2, first, last});
}

struct HostWork {
  std::int64_t calls = 0, waits = 0;
  bool operator==(const HostWork&) const = default;
};
HostWork host_work(const Repeat& repeat) {
  HostWork sum;
  for (const Task& task : repeat.tasks) {
    CHECK(task.kind == Task::Kind::kHost);
    sum.calls += task.calls;
    sum.waits += task.blocking;
  }
  return sum;
}

}  // namespace

TEST_CASE("The ends of the model load data, every chunk starts and times its passes") {
  for (const bool first : {true, false})
    for (const bool last : {true, false}) {
      const ChunkWork work = chunk(stack(), first, last);
      const bool loads = first || last;
      CHECK(host_work(work.forward.repeats.front()) == HostWork{loads ? 3 + 7 + 2 : 3, loads ? 2 : 0});
      CHECK(host_work(work.forward.repeats.back()) == HostWork{0, 1});
      CHECK(host_work(work.backward.repeats.front()) == HostWork{5, 0});
      CHECK(host_work(work.backward.repeats.back()) == HostWork{0, 2});
      // B and W each end with a wait of their own.
      for (const Direction direction : {Direction::kBackward, Direction::kWeight})
        CHECK(host_work(only(work.backward, direction).repeats.back()) == HostWork{0, 1});
    }
}

TEST_CASE("A stack without such counts adds no task") {
  const ChunkWork work = chunk(*Catalog().stack("generic"), true, true);
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) CHECK(task.kind != Task::Kind::kHost);
}

TEST_CASE("A step's logging stands before its update") {
  const Pass pass = build_optimizer(stack(), UpdateFormat{}, 1000, 1000, 10);
  CHECK(pass.repeats.front().tasks.front().calls == 11);
  CHECK(pass.repeats.front().tasks.front().kind == Task::Kind::kHost);
}

TEST_CASE("Calls beside messages are spread over each layer, whatever direction it runs in") {
  const Model model = small();
  const Stack generic = *Catalog().stack("generic");
  Plan plan;
  plan.recompute = Recompute::kFull;
  PassShape shape = shape_of(model, plan, generic, 1024, true);
  const auto calls = [&] {
    const ChunkWork work = build_chunk(model, generic, shape, Chunk{2, true, true});
    std::int64_t sum = 0;
    for (const Pass* pass : {&work.forward, &work.backward})
      for (const Repeat& repeat : pass->repeats)
        for (const Task& task : repeat.tasks) sum += task.calls * repeat.count;
    return sum;
  };
  const std::int64_t without = calls();
  shape.calls_beside_messages = 40;
  CHECK(calls() - without == 2 * 3 * 40);  // forward, forward again, backward
}
