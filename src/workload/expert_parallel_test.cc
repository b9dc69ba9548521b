// Experts over several ranks: what a rank holds of them, what it sends for them, and what it works on.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "job/expert_load.h"
#include "operators/experts.h"
#include "operators/product.h"
#include "workload/block.h"
#include "workload/parameter_share.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

constexpr std::int64_t kSeq = 1024, kHidden = 512, kTopK = 4, kExpertFfn = 256, kExpertCount = 16;
constexpr double kRow = 2.0 * kHidden;  // of a token, bf16

Model mixture(std::int64_t shared_ffn = 0) {
  Model model;
  model.name = "mixture";
  model.hidden = kHidden;
  model.blocks = {{2, Block{{8, 8, 64},
                            {.mlp = MlpKind::kSwiglu,
                             .experts = kExpertCount,
                             .top_k = kTopK,
                             .expert_ffn = kExpertFfn,
                             .shared_ffn = shared_ffn}}}};
  model.norm = Norm::kRmsnorm;
  model.positions = Positions::kRope;
  model.vocab = 32000;
  return model;
}

Plan plan_of(std::int64_t dp, std::int64_t ep) {
  Plan plan;
  plan.dp = dp;
  plan.ep = ep;
  plan.expert_imbalance = 1;
  return plan;
}

std::vector<BlockItem> items_of(const Model& model, const Plan& plan) {
  const Stack s = stack("megatron");
  return block_items(model, s, shape_of(model, plan, s, kSeq, true), model.blocks[0].block);
}

std::vector<Exchange> exchanges_of(const std::vector<BlockItem>& items) {
  std::vector<Exchange> found;
  for (const BlockItem& item : items)
    if (item.exchange) found.push_back(*item.exchange);
  return found;
}

std::vector<GroupedSizes> products_of(const std::vector<BlockItem>& items) {
  std::vector<GroupedSizes> found;
  for (const BlockItem& item : items)
    if (!item.exchange && !item.waits && item.op.kind == OperatorKind::kGroupedProduct)
      found.push_back(item.op.as<GroupedSizes>());
  return found;
}

}  // namespace

TEST_CASE("A token's row goes to each of its experts and comes back, the other way round backward") {
  const auto exchanges = exchanges_of(items_of(mixture(), plan_of(8, 8)));
  REQUIRE(exchanges.size() == 2);
  for (const Exchange& exchange : exchanges) {
    CHECK(exchange.group == GroupKind::kExpert);
    CHECK(exchange.forward == CollectiveKind::kAllToAll);
    CHECK(exchange.backward == CollectiveKind::kAllToAll);
    CHECK(exchange.bytes.value == kSeq * kTopK * kRow);
    CHECK(exchange.row.value == kRow);
  }
}

TEST_CASE("On one rank no token travels") { CHECK(exchanges_of(items_of(mixture(), plan_of(8, 1))).empty()); }

TEST_CASE("Experts of a rank get as many rows as its tokens send, a share of the experts wide") {
  const auto alone = products_of(items_of(mixture(), plan_of(8, 1)));
  const auto shared = products_of(items_of(mixture(), plan_of(8, 8)));
  REQUIRE(shared.size() == 2);
  CHECK(alone[0].experts == kExpertCount);
  CHECK(shared[0].experts == kExpertCount / 8);
  CHECK(shared[0].m == alone[0].m);
  CHECK(shared[0].m == kSeq * kTopK);
  CHECK(shared[0].n == 2 * kExpertFfn);
}

TEST_CASE("The fullest rank's rows, a capacity and padding to it") {
  Plan plan = plan_of(8, 8);
  const auto rows = [&] { return products_of(items_of(mixture(), plan))[0].m; };
  plan.expert_imbalance = 1.5;
  CHECK(rows() == kSeq * kTopK * 3 / 2);
  plan.capacity_factor = 1.25;  // more is dropped, of every expert: the fullest rank has emptier ones too
  CHECK(rows() == std::llround(kSeq * kTopK * fullest_rank({8, kExpertCount / 8, 1.5}, 1.25)));
  CHECK(rows() < kSeq * kTopK * 5 / 4);
  plan.capacity_factor = 100;
  CHECK(rows() == kSeq * kTopK * 3 / 2);
  plan.capacity_factor = 2;
  plan.capacity_pad = true;
  CHECK(rows() == kSeq * kTopK * 2);
  plan = plan_of(8, 8);
  plan.expert_imbalance.reset();
  CHECK(rows() == std::llround(kSeq * kTopK * kUsualImbalance));
}

TEST_CASE("Ranks that share experts gather all their rows, and work on a share of the width") {
  Plan plan = plan_of(4, 4);
  plan.tp = 2;
  plan.sp = true;
  const auto items = items_of(mixture(), plan);  // etp is tp
  const auto products = products_of(items);
  CHECK(products[0].m == kSeq / 2 * kTopK * 2);
  CHECK(products[0].n == 2 * kExpertFfn / 2);
  std::vector<Exchange> of_experts;
  for (const Exchange& exchange : exchanges_of(items))
    if (exchange.group == GroupKind::kExpertTensor) of_experts.push_back(exchange);
  REQUIRE(of_experts.size() == 2);
  CHECK(of_experts[0].forward == CollectiveKind::kAllGather);
  CHECK(of_experts[1].forward == CollectiveKind::kReduceScatter);
  CHECK(of_experts[0].bytes.value == kSeq * kTopK * kRow);
  plan.etp = 1;
  CHECK(products_of(items_of(mixture(), plan))[0].n == 2 * kExpertFfn);
}

TEST_CASE("DeepEP may send to experts in fp8 with a scale every 128 values, and back in bf16") {
  Plan plan = plan_of(8, 8);
  plan.dispatcher = Dispatcher::kDeepEp;
  CHECK(exchanges_of(items_of(mixture(), plan)).size() == 2);
  plan.dispatch_dtype = Dtype::kFp8;
  const auto exchanges = exchanges_of(items_of(mixture(), plan));
  REQUIRE(exchanges.size() == 4);  // one each way
  CHECK(exchanges[0].forward == CollectiveKind::kDispatch);
  CHECK(exchanges[0].row.value == kHidden * (1 + 4.0 / 128));
  CHECK_FALSE(exchanges[0].backward);
  CHECK(exchanges[1].backward == CollectiveKind::kCombine);
  CHECK(exchanges[1].row.value == kRow);
  CHECK(exchanges[2].forward == CollectiveKind::kCombine);
  CHECK(exchanges[3].backward == CollectiveKind::kDispatch);
}

TEST_CASE("The host waits for counts once a layer and forward, unless rows are padded") {
  const Model model = mixture();
  const Stack s = stack("megatron");
  const auto waits = [&](Plan plan) {
    const ChunkWork work =
        build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk{2, false, false});
    std::int64_t count = 0;
    for (const Repeat& repeat : work.forward.repeats)
      for (const Task& task : repeat.tasks)
        if (repeat.is_layer && task.kind == Task::Kind::kHost && task.blocking) count += repeat.count;
    return count;
  };
  Plan plan = plan_of(8, 8);
  CHECK(waits(plan) == 2);
  plan.expert_sync = false;
  CHECK(waits(plan) == 0);
  plan.expert_sync.reset();
  plan.capacity_factor = 1;
  plan.capacity_pad = true;
  CHECK(waits(plan) == 0);
}

// Megatron-LM's own functions, without its fused kernels: a masked_select for rows and one for weights; behind
// DeepEP the map of rows to experts takes three reads more.
TEST_CASE("Without fused kernels the host reads how many rows there are, and rows are added by index") {
  const auto reads = [](const Plan& plan) {
    std::int64_t count = 0;
    for (const BlockItem& item : items_of(mixture(), plan)) count += item.reads;
    return count;
  };
  const auto has = [](const Plan& plan, OperatorKind kind, Impl impl) {
    const auto items = items_of(mixture(), plan);
    return std::any_of(items.begin(), items.end(), [&](const BlockItem& item) {
      return !item.exchange && !item.waits && item.op.kind == kind && item.op.impl == impl;
    });
  };
  Plan plan = plan_of(8, 8);
  CHECK(reads(plan) == 0);
  CHECK(has(plan, OperatorKind::kPermute, Impl::kFused));
  plan.permute_fusion = false;
  CHECK(reads(plan) == 2);
  CHECK(has(plan, OperatorKind::kPermute, Impl::kAtomic));
  CHECK(has(plan, OperatorKind::kUnpermute, Impl::kAtomic));
  CHECK_FALSE(has(plan, OperatorKind::kPermute, Impl::kFused));
  plan.dispatcher = Dispatcher::kDeepEp;
  CHECK(reads(plan) == 5);
  plan.expert_sync = false;
  CHECK(reads(plan) == 0);
  CHECK(has(plan, OperatorKind::kRoute, Impl::kEager));
  plan.router_fusion = true;
  CHECK(has(plan, OperatorKind::kRoute, Impl::kFused));
}

TEST_CASE("Shared experts work while tokens travel: half of their MLP each way, in both directions") {
  const Model model = mixture(512);
  const Stack s = stack("megatron");
  Plan plan = plan_of(8, 8);
  plan.overlap_shared = true;
  const ChunkWork work = build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk{1, false, false});
  for (const Pass* pass : {&work.forward, &work.backward}) {
    std::vector<int> beside;  // how many tasks follow each exchange without waiting for it
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        if (task.kind == Task::Kind::kCollective) {
          CHECK_FALSE(task.blocking);
          beside.push_back(0);
        } else if (task.beside) {
          REQUIRE_FALSE(beside.empty());
          ++beside.back();
        }
      }
    REQUIRE(beside.size() == 2);
    CHECK(beside[0] > 0);
    CHECK(beside[1] > 0);
  }
  // The same work in all, whether or not it is beside.
  plan.overlap_shared = false;
  const ChunkWork apart = build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk{1, false, false});
  CHECK(flops(work.forward) == flops(apart.forward));
  CHECK(flops(work.backward) == flops(apart.backward));
  CHECK(saved_bytes(work.forward) == saved_bytes(apart.forward));
}

TEST_CASE(
    "Beside tokens on their way, shared experts of tensor ranks exchange no more than apart from them") {
  const Model model = mixture(512);
  const Stack s = stack("megatron");
  Plan plan = plan_of(4, 4);
  plan.tp = 2;
  plan.sp = true;
  plan.dispatcher = Dispatcher::kDeepEp;
  plan.dispatch_dtype = Dtype::kFp8;
  const auto counts = [&](bool beside) {
    plan.overlap_shared = beside;
    const ChunkWork work =
        build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk{1, false, false});
    std::map<std::pair<GroupKind, CollectiveKind>, int> found;
    for (const Pass* pass : {&work.forward, &work.backward})
      for (const Repeat& repeat : pass->repeats)
        for (const Task& task : repeat.tasks) {
          if (task.kind != Task::Kind::kCollective) continue;
          ++found[{task.collective.group, task.collective.kind}];
          const bool of_tokens =
              is_routed(task.collective.kind) || task.collective.group == GroupKind::kExpertTensor;
          CHECK(task.blocking == !(beside && of_tokens));
        }
    return found;
  };
  auto apart = counts(false);
  // What a product's input was gathered from is gathered again for its weights, unless tokens leave in between.
  apart[{GroupKind::kTensor, CollectiveKind::kAllGather}] -= 1;
  CHECK(counts(true) == apart);
}

TEST_CASE("A rank holds its share of the experts, and the rest of the model whole") {
  const Model model = mixture(512);
  const Stack s = stack("megatron");
  const Chunk whole{2, true, true};
  const ParameterShare alone = parameter_share(model, s, {}, whole, true);
  CHECK(alone.experts.elements == 2 * kExpertCount * 3 * kHidden * kExpertFfn);
  const ParameterShare shared = parameter_share(model, s, {.ep = 8}, whole, true);
  CHECK(shared.experts.elements == alone.experts.elements / 8);
  CHECK(shared.of(WeightClass::kCommon).elements == alone.of(WeightClass::kCommon).elements);
  const ParameterShare divided = parameter_share(model, s, {.ep = 4, .etp = 2}, whole, true);
  CHECK(divided.experts.elements == alone.experts.elements / 8);
}

TEST_CASE("Modules that are run again keep what came in, and not what they made") {
  const Model model = mixture();
  const Stack s = stack("megatron");
  const auto kept = [&](std::initializer_list<RecomputeModule> modules) {
    Plan plan = plan_of(8, 8);
    if (modules.size() > 0) plan.recompute = Recompute::kSelective;
    for (const RecomputeModule module : modules) plan.recompute_modules.add(module);
    const ChunkWork work =
        build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk{1, false, false});
    return saved_bytes(work.forward).value;
  };
  const double rows = kSeq * kTopK, all = kept({});
  // The activation's output, which the second product would keep.
  CHECK(all - kept({RecomputeModule::kMoeActivation}) == 2.0 * rows * kExpertFfn);
  // Both norms' outputs, which the products after them would keep, and the norms' statistics.
  CHECK(all - kept({RecomputeModule::kLayernorm}) == 2 * (kSeq * kRow + 8.0 * kSeq));
  // Of experts and all around them, but for what the router keeps of the input.
  CHECK(kept({RecomputeModule::kMoe}) < all - 2.0 * rows * (kHidden + 3 * kExpertFfn));
  const double both = kept({RecomputeModule::kMoeActivation, RecomputeModule::kLayernorm});
  CHECK(all - both == 2.0 * rows * kExpertFfn + 2 * (kSeq * kRow + 8.0 * kSeq));
}

TEST_CASE("What is run again is run once more, exchanges among it") {
  const Model model = mixture();
  const Stack s = stack("megatron");
  const auto again = [&](RecomputeModule module) {
    Plan plan = plan_of(8, 8);
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules.add(module);
    const ChunkWork work =
        build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk{1, false, false});
    std::vector<Task> tasks;
    for (const Repeat& repeat : work.backward.repeats)
      for (const Task& task : repeat.tasks)
        if (task.recompute) tasks.push_back(task);
    return tasks;
  };
  const auto activation = again(RecomputeModule::kMoeActivation);
  REQUIRE(activation.size() == 1);
  CHECK(activation[0].op.kind == OperatorKind::kSwiglu);
  CHECK(again(RecomputeModule::kLayernorm).size() == 2);
  const auto all = again(RecomputeModule::kMoe);
  CHECK(std::count_if(all.begin(), all.end(),
                      [](const Task& task) { return task.kind == Task::Kind::kCollective; }) == 2);
}
