#include <doctest/doctest.h>

#include "workload/parameter_share.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

// The collectives of the data-parallel stream, "kind bytes" in order, equal layers once.
std::vector<std::pair<CollectiveKind, double>> on_data_stream_of(const Pass& pass) {
  std::vector<std::pair<CollectiveKind, double>> found;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (on_data_stream(task)) found.emplace_back(task.collective.kind, task.collective.bytes.value);
  return found;
}

ChunkWork sharded(const Model& model, const Stack& s, int zero, std::int64_t shard = 0) {
  Plan plan;
  plan.dp = 8;
  plan.zero = zero;
  plan.shard = shard;
  plan.reduce_dtype = Dtype::kFp32;
  return build_chunk(model, s, shape(model, s, plan), Chunk{model.layers(), true, true});
}

}  // namespace

TEST_CASE("ZeRO 3 gathers units before both passes and scatters them after the backward") {
  Model model = gpt();
  model.tied = false;
  const Stack megatron = stack("megatron");
  const auto elements = [&](const Chunk& chunk) {
    return static_cast<double>(parameter_share(model, megatron, {1}, chunk, true).elements);
  };
  const double block = elements({1, false, false}), first = elements({0, true, false}),
               last = elements({0, false, true});
  CHECK(4 * block + first + last == elements({4, true, true}));  // nothing is left out

  const ChunkWork work = sharded(model, megatron, 3);
  constexpr auto kGather = CollectiveKind::kAllGather;
  constexpr auto kScatter = CollectiveKind::kReduceScatter;
  using Found = std::vector<std::pair<CollectiveKind, double>>;
  CHECK(on_data_stream_of(work.forward) ==
        Found{{kGather, 2 * first}, {kGather, 2 * block}, {kGather, 2 * last}});
  // Gradients in fp32; the ends' weights are still there.
  CHECK(on_data_stream_of(work.backward) ==
        Found{{kScatter, 4 * last}, {kGather, 2 * block}, {kScatter, 4 * block}, {kScatter, 4 * first}});
  const auto layers = std::find_if(work.backward.repeats.begin(), work.backward.repeats.end(),
                                   [](const Repeat& repeat) { return repeat.is_layer; });
  REQUIRE(layers != work.backward.repeats.end());
  CHECK(layers->tasks.front().prefetch == Prefetch::kBefore);
  CHECK(work.gathered.value == 2 * (first + last) + 2 * 2 * block);
  CHECK(work.unit_gradients.value == (2 + 4) * std::max(first, last));

  // A tied head is the embedding's unit.
  model.tied = true;
  CHECK(on_data_stream_of(sharded(model, megatron, 3).forward).size() == 2);

  // ZeRO 1 leaves the passes alone.
  CHECK(on_data_stream_of(sharded(model, megatron, 1).backward).empty());
}

TEST_CASE("ZeRO 2 scatters in every backward, and gathers there only if the stack drops weights after it") {
  Model model = gpt();
  model.tied = true;
  Stack s = stack("megatron");
  CHECK(on_data_stream_of(sharded(model, s, 2).forward).empty());
  CHECK(on_data_stream_of(sharded(model, s, 2).backward).size() == 2);
  CHECK(sharded(model, s, 2).gathered == Bytes(0));
  s.data_parallel.zero2_gather = Zero2Gather::kForward;
  CHECK(on_data_stream_of(sharded(model, s, 2).forward).size() == 2);
  CHECK(on_data_stream_of(sharded(model, s, 2).backward).size() == 2);
  // ZeRO 3 that keeps what it gathered is the same.
  s.data_parallel.reshard_after_forward = false;
  CHECK(sharded(model, s, 3).backward == sharded(model, s, 2).backward);
}

TEST_CASE("Copies of the model sum their shards: an all-reduce of one part in `shard`") {
  Model model = gpt();
  model.tied = true;
  const Stack s = stack("megatron");
  const auto whole = on_data_stream_of(sharded(model, s, 3, 8).backward);
  const auto hybrid = on_data_stream_of(sharded(model, s, 3, 4).backward);
  CHECK(whole == on_data_stream_of(sharded(model, s, 3).backward));
  REQUIRE(whole.size() == 3);  // of the blocks a gather and a scatter, of the ends a scatter
  REQUIRE(hybrid.size() == 5);
  CHECK(hybrid[2] == std::pair(CollectiveKind::kAllReduce, whole[1].second / 4));
}

TEST_CASE("Whole gradients that live for one backward are not accumulated") {
  const Model model = gpt();
  Stack s = stack("megatron");
  s.gradients.fused_accumulation = false;
  const auto accumulates = [&](int zero) {
    for (const Repeat& repeat : sharded(model, s, zero).backward.repeats)
      for (const Task& task : repeat.tasks)
        if (task.op.kind == OperatorKind::kAccumulate && task.kind == Task::Kind::kOperator) return true;
    return false;
  };
  CHECK(accumulates(1));
  CHECK_FALSE(accumulates(2));
}

TEST_CASE("shards that become whole tensor by tensor take as many gathers as a unit has tensors") {
  const Model model = gpt();
  Stack s = stack("megatron");
  const auto layer = [&] {
    const ChunkWork work = sharded(model, s, 3);
    return *std::find_if(work.forward.repeats.begin(), work.forward.repeats.end(),
                         [](const Repeat& repeat) { return repeat.is_layer; });
  };
  const Task whole = layer().tasks.front();
  CHECK(whole.times == 1);
  s.data_parallel.shard_exchange = ShardExchange::kTensor;
  const Task each = layer().tasks.front();
  CHECK(each.times == parameter_share(model, s, {1}, {1, false, false}, true).tensors);
  CHECK(each.collective.bytes.value * static_cast<double>(each.times) ==
        doctest::Approx(whole.collective.bytes.value));
  CHECK(layer().tasks[1].kind == Task::Kind::kOperator);
}

TEST_CASE(
    "shards that are waited for one by one: of t tensors t waits, t gathers and t copies of each rank's "
    "shard") {
  const Model model = gpt();
  Stack s = stack("megatron");
  s.data_parallel.shard_exchange = ShardExchange::kSynchronised;
  s.data_parallel.zero_reduce_scatter = false;
  s.host.calls_per_shard = 3;
  const ChunkWork work = sharded(model, s, 3);
  const auto tensors = parameter_share(model, s, {1}, {1, false, false}, true).tensors;
  const auto elements = static_cast<double>(parameter_share(model, s, {1}, {1, false, false}, true).elements);
  for (const Pass* pass : {&work.forward, &work.backward}) {
    const auto layer = std::find_if(pass->repeats.begin(), pass->repeats.end(),
                                    [](const Repeat& repeat) { return repeat.is_layer; });
    REQUIRE(layer != pass->repeats.end());
    // The first wait stands before everything else, so that nothing is sent for ahead of its unit.
    CHECK(layer->tasks.front().kind == Task::Kind::kHost);
    std::int64_t waits = 0, gathers = 0, copies = 0, calls = 0;
    double gathered = 0;
    for (const Task& task : layer->tasks) {
      if (task.kind == Task::Kind::kHost && task.device) ++waits;
      if (on_data_stream(task) && is_gather(task)) {
        CHECK(task.blocking);
        gathers += task.times;
        gathered += task.collective.bytes.value;
      }
      if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kCopy && task.times == 8) {
        copies += task.times;
        calls += task.calls;
      }
    }
    CHECK(waits == tensors);
    CHECK(gathers == tensors);
    CHECK(copies == 8 * tensors);
    CHECK(calls == 3 * 8 * tensors);
    CHECK(gathered == doctest::Approx(2 * elements));
  }
  // Gradients are all-reduced, of which each rank keeps its part: no reduce-scatter is there.
  for (const auto& [kind, bytes] : on_data_stream_of(work.backward))
    CHECK(kind != CollectiveKind::kReduceScatter);
}
