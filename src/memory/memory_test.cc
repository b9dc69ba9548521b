#include "memory/memory.h"

#include <doctest/doctest.h>

#include "operators/experts.h"
#include "operators/pointwise.h"
#include "operators/product.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "workload/testing.h"

using namespace foretrain;

TEST_CASE("What is gathered, and a unit's whole gradients, are there while a pass runs") {
  ChunkWork work;
  work.gathered = Bytes(30);
  work.unit_gradients = Bytes(10);
  CHECK(pass_bytes(work).forward_extra == Bytes(30));
  CHECK(pass_bytes(work).backward_extra == Bytes(40));
  CHECK(pass_bytes(work).weight_extra == Bytes(10));
  CHECK(pass_bytes(work).held == Bytes(0));
}

TEST_CASE("What a forward holds is what its tasks declare; recomputation moves it to the backward") {
  Model model;
  model.hidden = 1024;
  model.blocks = {{4, Block{{16, 16, 64}, {MlpKind::kGelu, 4096}}}};
  model.vocab = 51200;
  model.biases = model.qkv_bias = model.projection_bias = true;
  const Stack megatron = stack("megatron");
  Plan plan;
  const auto bytes_with = [&](Recompute recompute) {
    plan.recompute = recompute;
    return pass_bytes(
        build_chunk(model, megatron, shape_of(model, plan, megatron, 2048, true), Chunk{4, false, false}));
  };
  const PassBytes none = bytes_with(Recompute::kNone);
  const PassBytes full = bytes_with(Recompute::kFull);
  CHECK(full.held == Bytes(4 * 2.0 * 2048 * 1024));
  CHECK(full.held < none.held);
  // One layer's worth comes back while its backward runs.
  CHECK(full.backward_extra.value == doctest::Approx(none.backward_extra.value + none.held.value / 4));
}

TEST_CASE("A backward peaks where the sum is largest, not where its largest operator is") {
  // Head: a product that needs 1000 bytes; four layers that hold 600 each, make 500 again and need 100.
  const auto product = [](double bytes, PassKind pass) {
    Task task;
    // Backward: input and output.
    task.op = linear({.m = static_cast<std::int64_t>(bytes / 2) / 2, .k = 1, .n = 1}, {.pass = pass});
    return task;
  };
  ChunkWork work;
  Task layer_saves, head_saves;
  layer_saves.saved = Bytes(600);
  head_saves.saved = Bytes(50);
  work.forward.repeats = {{4, true, {layer_saves}, {}, {}, {}}, {1, false, {head_saves}, {}, {}, {}}};
  work.backward.repeats = {{1, false, {product(1000, PassKind::kInput)}, Bytes(50), {}, {}},
                           {4, true, {product(100, PassKind::kInput)}, Bytes(600), Bytes(500), {}}};
  CHECK(pass_bytes(work).held == Bytes(2450));
  CHECK(pass_bytes(work).backward_extra == Bytes(1000));
  work.backward.repeats[1].recomputes = Bytes(2000);  // when the head has let go of its 50
  CHECK(pass_bytes(work).backward_extra == Bytes(-50 + 2000 + 100));
  // Gradients that stay until the end, more than the layers let go: the last layer is the peak.
  work.backward.repeats[1].leaves = Bytes(1600);
  CHECK(pass_bytes(work).backward_extra == Bytes(-50 + 3 * 1000 + 2000 + 100));
  CHECK(pass_bytes(work).backward_end == Bytes(4 * 1600));
}

TEST_CASE("Some layers of a chunk can be recomputed: the others hold everything") {
  Model model;
  model.hidden = 1024;
  model.blocks = {{4, Block{{16, 16, 64}, {MlpKind::kGelu, 4096}}}};
  model.vocab = 51200;
  const Stack megatron = stack("megatron");
  const auto held = [&](std::string_view text) {
    const Plan plan = parse_plan(text).value();
    return pass_bytes(
               build_chunk(model, megatron, shape_of(model, plan, megatron, 2048, true), {4, false, false}))
        .held.value;
  };
  const double none = held("recompute=none"), full = held("recompute=full");
  CHECK(held("recompute=full,recompute_layers=1") == doctest::Approx(none * 3 / 4 + full / 4));
  CHECK(held("recompute=full,recompute_layers=4") == full);
  CHECK(held("recompute=full,recompute_layers=9") == full);
}

TEST_CASE("What is held is told by operator, and sums to all of it") {
  Model model;
  model.hidden = 1024;
  model.blocks = {{4, Block{{16, 16, 64}, {MlpKind::kSwiglu, 4096}}}};
  model.vocab = 51200;
  const Stack megatron = stack("megatron");
  const PassBytes bytes = pass_bytes(
      build_chunk(model, megatron, shape_of(model, Plan{}, megatron, 2048, true), {4, true, true}));
  double sum = 0;
  for (const Bytes saved : bytes.saved) sum += saved.value;
  CHECK(sum == doctest::Approx(bytes.held.value));
  CHECK(bytes.saved[static_cast<std::size_t>(OperatorKind::kCrossEntropy)] == Bytes(4.0 * 2048 * 51200));
  CHECK(bytes.largest_block == Bytes(4.0 * 2048 * 51200));  // fp32 logits
}

TEST_CASE("A block that is run again and the loss are not there at once") {
  Model model;
  model.hidden = 1024;
  model.blocks = {{4, Block{{16, 16, 64}, {MlpKind::kGelu, 4096}}}};
  model.vocab = 51200;
  const Stack hf = stack("hf-eager");
  Plan plan;
  plan.recompute = Recompute::kFull;
  const auto extra_of = [&](Chunk chunk) {
    return pass_bytes(build_chunk(model, hf, shape_of(model, plan, hf, 2048, false), chunk)).backward_extra;
  };
  // Two fp32 tensors of logits are more than all that a block keeps.
  CHECK(extra_of({4, false, true}) == Bytes(8.0 * 2048 * 51200));
  CHECK(extra_of({4, false, false}) < Bytes(8.0 * 2048 * 51200));
}

TEST_CASE("A step's only backward grows by the gradients that it makes, and shrinks by what it lets go") {
  // Two layers that keep 100 bytes each. The first task of each lets 60 go; the second works on 30 bytes and
  // leaves a gradient of 70, its layer 80 in all.
  Task first, second;
  first.op = second.op = Operator(OperatorKind::kAdd, TokenSizes{.tokens = 1, .width = 1}, {});
  first.extra = Bytes(20), first.lets_go = Bytes(60);
  second.extra = Bytes(30), second.lets_go = Bytes(40), second.leaves = Bytes(70);
  Task kept = first;
  kept.saved = Bytes(100);
  ChunkWork work;
  work.forward.repeats = {{.count = 2, .tasks = {kept}}};
  work.backward.repeats = {{.count = 2, .tasks = {first, second}, .releases = Bytes(100)}};
  CHECK(pass_bytes(work).backward_growth == Bytes(0));  // gradients are there from the start
  work.backward.repeats[0].gradients = Bytes(80);
  // The first layer leaves 80 and lets 100 go, so the peak is in it: with 20 on top of all that is held.
  CHECK(pass_bytes(work).backward_growth == Bytes(20));
  // Where little is kept, the second layer begins with the gradients of the first.
  work.backward.repeats[0].releases = Bytes(10);
  CHECK(pass_bytes(work).backward_growth == Bytes(80 - 10 + 20));
  // What is made again is there while its layer runs.
  work.backward.repeats[0].recomputes = Bytes(90);
  CHECK(pass_bytes(work).backward_growth == Bytes(80 - 10 + 90 + 20));
}

TEST_CASE("Operators of experts need room for every row that they send") {
  // 10 tokens of 6 elements, 3 rows each: 120 bytes a tensor of tokens, 360 one of rows.
  const auto room = [](OperatorKind kind, Impl impl, PassKind pass, const auto& sizes) {
    Task task;
    task.op = Operator(kind, sizes, {.impl = impl, .pass = pass});
    ChunkWork work;
    const bool forward = pass == PassKind::kForward;
    (forward ? work.forward : work.backward).repeats = {{.tasks = {task}}};
    const PassBytes bytes = pass_bytes(work);
    return (forward ? bytes.forward_extra : bytes.backward_extra).value;
  };
  using K = OperatorKind;
  using P = PassKind;
  const SentSizes sent = {.tokens = 10, .width = 6, .top_k = 3};
  const RouteSizes routed = {.tokens = 10, .experts = 8, .top_k = 2};
  CHECK(room(K::kPermute, Impl::kFused, P::kForward, sent) == 360);
  CHECK(room(K::kPermute, Impl::kEager, P::kBackward, sent) == 2 * 360 + 120);
  CHECK(room(K::kUnpermute, Impl::kFused, P::kForward, sent) == 120);
  CHECK(room(K::kUnpermute, Impl::kEager, P::kForward, sent) == 2 * 360 + 120);
  CHECK(room(K::kUnpermute, Impl::kFused, P::kBackward, sent) == 120 + 360);
  CHECK(room(K::kUnpermute, Impl::kEager, P::kBackward, sent) == 120 + 3 * 360);
  // Three tensors of rows in fp32, and one in half precision.
  CHECK(room(K::kUnpermute, Impl::kFp32Scale, P::kBackward, sent) == 120 + 3 * 720 + 360);
  CHECK(room(K::kRoute, Impl::kEager, P::kForward, routed) == 2 * 10 * 8 * 4);
  CHECK(room(K::kRoute, Impl::kFused, P::kForward, routed) == 10 * 8 * 4);
  // 100 rows of 30 through 4 matrices of 30 x 50.
  const GroupedSizes grouped = {.experts = 4, .m = 100, .k = 30, .n = 50};
  CHECK(room(K::kGroupedProduct, Impl::kAten, P::kForward, grouped) == 2 * 100 * 50);
  CHECK(room(K::kGroupedProduct, Impl::kAten, P::kInput, grouped) == 2 * (100 * 50 + 100 * 30));
  CHECK(room(K::kGroupedProduct, Impl::kAten, P::kWeight, grouped) ==
        2 * (100 * 50 + 100 * 30 + 4 * 30 * 50));
  // A gate on halves: gradients of both, that of silu, and all of them joined.
  const TokenSizes halves = {.tokens = 10, .width = 6};
  CHECK(room(K::kSwiglu, Impl::kHalves, P::kBackward, halves) == 4 * 120);
}

// A product in a graph works in what no other may use: 100 tokens of 8 numbers in and out, beside the same outside.
TEST_CASE("Graphs of parts of a layer have a pool of their own, which comes on top of the smaller need") {
  const auto work_with = [](Capture first, Capture second) {
    Task large, small;
    large.op = pointwise(OperatorKind::kCopy, {.tokens = 100, .width = 8}, {});
    large.extra = Bytes(1000);
    small = large;
    small.extra = Bytes(300);
    large.saved = Bytes(60);
    small.saved = Bytes(20);
    large.capture = first;
    small.capture = second;
    ChunkWork work;
    work.forward.repeats.push_back({2, true, {large, small}});
    return pass_bytes(work);
  };
  using enum Capture;
  CHECK(work_with(kNone, kNone).forward_extra == Bytes(1000));
  CHECK(work_with(kPart, kPart).forward_extra == Bytes(1000));
  CHECK(work_with(kPart, kNone).forward_extra == Bytes(1300));
  CHECK(work_with(kNone, kPart).forward_extra == Bytes(1300));
  CHECK(work_with(kStep, kStep).forward_extra == Bytes(1000));
  CHECK(work_with(kNone, kNone).graph_nodes == 0);
  CHECK(work_with(kPart, kNone).graph_nodes == 2);
  CHECK(work_with(kStep, kStep).graph_nodes == 4);
  CHECK(work_with(kNone, kNone).graph_pool == Bytes(0));
  CHECK(work_with(kNone, kPart).graph_pool == Bytes(300));
  CHECK(work_with(kStep, kStep).graph_pool == Bytes(1000));
  CHECK(work_with(kNone, kNone).captured == Bytes(0));
  CHECK(work_with(kPart, kNone).captured == Bytes(2 * 60));
  CHECK(work_with(kPart, kPart).captured == Bytes(2 * 80));
}
