#include "workload/graphs.h"

#include <doctest/doctest.h>

#include "spec/plan_text.h"
#include "workload/optimizer_step.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

ChunkWork work_of(const Model& model, const char* plan, const Chunk& chunk) {
  const Stack by = stack("megatron");
  return build_chunk(model, by, shape_of(model, parse_plan(plan).value(), by, 2048, true), chunk);
}

std::int64_t graphs_in(const Repeat& repeat) {
  std::int64_t graphs = 0;
  bool inside = false;
  for (const Task& task : repeat.tasks) {
    const bool captured = task.capture == Capture::kPart;
    if (captured && !inside) ++graphs;
    inside = captured;
  }
  return graphs;
}

const Repeat& layer(const Pass& pass) {
  for (const Repeat& repeat : pass.repeats)
    if (repeat.is_layer) return repeat;
  throw 0;
}

Model mixture() {
  Model model = gpt();
  FeedForward& f = model.blocks.front().block.feed_forward;
  f.mlp = MlpKind::kSwiglu;
  f.experts = 8;
  f.top_k = 2;
  f.expert_ffn = 2048;
  return model;
}

}  // namespace

TEST_CASE("without graphs nothing is captured, and nothing copied") {
  const ChunkWork work = work_of(gpt(), "", Chunk{4, true, true});
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) CHECK(task.capture == Capture::kNone);
}

TEST_CASE("neighbours are one graph, with one copy each way; a forward's is kept") {
  const double stream = 2048.0 * 1024 * 2;
  for (const char* plan : {"cuda_graph=attn", "cuda_graph=mlp", "cuda_graph=attn+mlp", "cuda_graph=layer"}) {
    const ChunkWork with = work_of(gpt(), plan, Chunk{4, false, false}),
                    without = work_of(gpt(), "", Chunk{4, false, false});
    CHECK(graphs_in(layer(with.forward)) == 1);
    CHECK(graphs_in(layer(with.backward)) == 1);
    CHECK(layer(with.forward).tasks.size() == layer(without.forward).tasks.size() + 1);
    CHECK(layer(with.backward).tasks.size() == layer(without.backward).tasks.size() + 1);
    CHECK(saved_bytes(with.forward).value == saved_bytes(without.forward).value + 4 * stream);
  }
  // All of a layer: but for the copy, nothing is launched by itself.
  const ChunkWork whole = work_of(gpt(), "cuda_graph=layer", Chunk{4, false, false});
  for (const Task& task : layer(whole.forward).tasks)
    CHECK((task.capture == Capture::kPart || task.op.kind == OperatorKind::kCopy));
}

TEST_CASE("the ends of the model are of no layer's graph") {
  const ChunkWork work = work_of(gpt(), "cuda_graph=layer", Chunk{4, true, true});
  for (const Repeat& repeat : work.forward.repeats)
    if (!repeat.is_layer) CHECK(graphs_in(repeat) == 0);
}

TEST_CASE(
    "a step's graph holds all of its passes, and the host loads data and launches it before the update") {
  const Stack megatron = stack("megatron");
  const ChunkWork work = work_of(gpt(), "cuda_graph=full", Chunk{4, true, true});
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        CHECK(task.capture == Capture::kStep);
        CHECK(task.kind != Task::Kind::kHost);
      }
  UpdateFormat format;
  format.loaded = 8;
  const Pass update = build_optimizer(megatron, format, 1000, 1000, 10);
  std::int64_t launched = 0, calls = 0;
  for (const Task& task : update.repeats.front().tasks)
    if (task.capture == Capture::kStep) {
      CHECK(task.kind == Task::Kind::kHost);  // the update itself is not captured
      ++launched;
      calls = task.calls;
    }
  CHECK(launched == 1);
  CHECK(calls == 8 * (megatron.host.calls_per_batch + megatron.host.copies_per_batch));
}

TEST_CASE("experts' rows are moved in the router's graph, and the wait for their numbers comes after") {
  const auto at = [](const Repeat& repeat, auto is) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < repeat.tasks.size(); ++i)
      if (is(repeat.tasks[i])) places.push_back(i);
    return places;
  };
  const auto waits = [](const Task& task) { return task.kind == Task::Kind::kHost; };
  const auto moves = [](const Task& task) {
    return task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kPermute;
  };
  const ChunkWork plain = work_of(mixture(), "dp=8,ep=8", Chunk{4, false, false}),
                  graphed = work_of(mixture(), "dp=8,ep=8,cuda_graph=attn+moe_router+moe_preprocess",
                                    Chunk{4, false, false});
  const Repeat &before = layer(plain.forward), &after = layer(graphed.forward);
  REQUIRE(at(before, waits).size() == 1);
  REQUIRE(at(after, waits).size() == 1);
  CHECK(at(before, waits).front() < at(before, moves).front());
  CHECK(at(after, waits).front() > at(after, moves).front());
  CHECK(after.tasks[at(after, moves).front()].capture == Capture::kPart);
  CHECK(graphs_in(after) == 1);  // attention, router and what moves rows are neighbours
  for (const Task& task : after.tasks)
    if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kGroupedProduct)
      CHECK(task.capture == Capture::kNone);
}
