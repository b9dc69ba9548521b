// Sequences over several ranks: what a rank works on, what it sends for it and what it keeps, against closed forms.
#include <doctest/doctest.h>

#include <algorithm>

#include "operators/attention.h"
#include "operators/product.h"
#include "workload/block.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

constexpr std::int64_t kSeq = 65536, kHeads = 32, kKvHeads = 8, kHeadDim = 128, kHidden = 4096;
constexpr double kBf16 = 2;
// Of one sequence, in bytes: queries (and attention's output), keys and values.
constexpr double kQ = kBf16 * kSeq * kHeads * kHeadDim, kKv = kBf16 * kSeq * 2 * kKvHeads * kHeadDim;

Model llama() {
  Model model;
  model.name = "llama";
  model.hidden = kHidden;
  model.blocks = {{2, Block{{kHeads, kKvHeads, kHeadDim}, {.mlp = MlpKind::kSwiglu, .ffn = 14336}}}};
  model.norm = Norm::kRmsnorm;
  model.positions = Positions::kRope;
  model.vocab = 32000;
  return model;
}

// 64 heads of 128 + 64, and values of 128.
Model latent() {
  Model model = llama();
  Attention& a = model.blocks[0].block.attention;
  a = {.heads = 64, .kv_heads = 64, .head_dim = 192};
  a.q_rank = 1536, a.kv_rank = 512, a.nope_dim = 128, a.rope_dim = 64, a.v_dim = 128;
  return model;
}

Plan plan_of(std::int64_t cp, CpType type, std::int64_t cp_a2a = 0) {
  Plan plan;
  plan.cp = cp;
  if (cp > 1) plan.cp_type = type;
  plan.cp_a2a = cp_a2a;
  return plan;
}

std::vector<BlockItem> items_of(const Model& model, const Plan& plan) {
  const Stack s = stack("generic");
  return block_items(model, s, shape_of(model, plan, s, kSeq, true), model.blocks[0].block);
}

// What a rank sends, forward and backward, of n ranks: B (n-1)/n of a gather, a scatter or an all-to-all.
struct Volume {
  double forward = 0, backward = 0;
};
Volume volume_of(const Model& model, const Plan& plan) {
  Volume sum;
  Job job;
  job.mesh = mesh_of(plan);
  job.mesh.dp = 1;
  for (const BlockItem& item : items_of(model, plan)) {
    if (!item.exchange) continue;
    const Exchange& e = *item.exchange;
    const auto n = static_cast<double>(job.mesh.group(e.group).ranks());
    const auto sent = [&](CollectiveKind kind) {
      const double share = kind == CollectiveKind::kSendReceive ? 1.0 : (n - 1) / n;
      return e.bytes.value * share * static_cast<double>(e.times);
    };
    if (e.forward) sum.forward += sent(*e.forward);
    if (e.backward) sum.backward += sent(*e.backward);
  }
  return sum;
}

Flops attention_flops(const Model& model, const Plan& plan, Direction direction) {
  const Stack s = stack("generic");
  const ChunkWork work = build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk(1, false, false));
  Flops sum;
  for (const Repeat& repeat : (direction == Direction::kForward ? work.forward : work.backward).repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator &&
          (task.op.kind == OperatorKind::kAttention || task.op.kind == OperatorKind::kLatentAttention))
        sum += flops(task.op) * static_cast<double>(task.times * repeat.count);
  return sum;
}

Bytes saved_of(const Plan& plan, const Stack& s) {
  const Model model = llama();
  return saved_bytes(
      build_chunk(model, s, shape_of(model, plan, s, kSeq, true), Chunk(1, false, false)).forward);
}

}  // namespace

TEST_CASE("a ring sends keys and values n - 1 times forward, and their gradients with them backward") {
  for (const std::int64_t n : {2, 4, 8, 64}) {
    const double once = kKv * static_cast<double>(n - 1) / static_cast<double>(n);
    const Volume ring = volume_of(llama(), plan_of(n, CpType::kP2p));
    CHECK(ring.forward == doctest::Approx(once));
    CHECK(ring.backward == doctest::Approx(2 * once));
  }
}

TEST_CASE("gathering keys and values takes what a ring takes, forward and backward") {
  for (const std::int64_t n : {2, 4, 16}) {
    const Volume ring = volume_of(llama(), plan_of(n, CpType::kP2p));
    const Volume gather = volume_of(llama(), plan_of(n, CpType::kAllGather));
    CHECK(gather.forward == doctest::Approx(ring.forward));
    CHECK(gather.backward == doctest::Approx(ring.backward));
  }
}

// The output is kept by tokens, so backward it goes to the heads' ranks once more.
TEST_CASE("all-to-alls move queries, keys, values and the output, an n-th of each") {
  for (const std::int64_t n : {2, 4, 8}) {
    const double r = static_cast<double>(n), share = (r - 1) / r / r;
    const Volume a2a = volume_of(llama(), plan_of(n, CpType::kA2a));
    CHECK(a2a.forward == doctest::Approx(share * (kQ + kKv + kQ)));
    CHECK(a2a.backward == doctest::Approx(share * (kQ + kKv + 2 * kQ)));
  }
}

TEST_CASE("fewer heads of keys and values than ranks: each is sent as often as it is needed") {
  const double share = 15.0 / 16 / 16;
  CHECK(volume_of(llama(), plan_of(16, CpType::kA2a)).forward ==
        doctest::Approx(share * (2 * kQ + 2 * kKv)));  // 8 heads for 16 ranks
}

// 8 ranks, 4 neighbours each: all-to-alls among 4 of an eighth of the tokens, then a ring of two with a quarter of
// the heads and half of the tokens.
TEST_CASE("a hierarchy is all-to-alls among neighbours and a ring of their groups") {
  const Volume both = volume_of(llama(), plan_of(8, CpType::kHierarchical, 4));
  const double a2a = 3.0 / 4 / 8 * (2 * kQ + kKv), ring = kKv / 4 / 2;
  CHECK(both.forward == doctest::Approx(a2a + ring));
  CHECK(both.backward == doctest::Approx(3.0 / 4 / 8 * (3 * kQ + kKv) + 2 * ring));
}

TEST_CASE("keys and values of latent attention travel as wide as attention reads them") {
  const double k = kBf16 * kSeq * 64 * 192, v = kBf16 * kSeq * 64 * 128;
  CHECK(volume_of(latent(), plan_of(4, CpType::kP2p)).forward == doctest::Approx((k + v) * 3 / 4));
}

// s^2 / 2 pairs of a sequence, four operations each and head_dim forward, ten backward.
TEST_CASE("every way has the same work, an n-th of the whole on each rank") {
  for (const Model& model : {llama(), latent()})
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const double whole = attention_flops(model, plan_of(1, CpType::kP2p), direction).value;
      for (const std::int64_t n : {2, 4, 8})
        for (const CpType type : {CpType::kP2p, CpType::kA2a, CpType::kAllGather})
          CHECK(attention_flops(model, plan_of(n, type), direction).value * static_cast<double>(n) ==
                doctest::Approx(whole));
      CHECK(attention_flops(model, plan_of(8, CpType::kHierarchical, 2), direction).value * 8 ==
            doctest::Approx(whole));
    }
  CHECK(attention_flops(llama(), plan_of(1, CpType::kP2p), Direction::kForward).value ==
        doctest::Approx(2.0 * kSeq * kSeq * kHeads * kHeadDim));
}

TEST_CASE("products and the loss are of a rank's own tokens") {
  const Model model = llama();
  const Stack s = stack("megatron");
  for (const CpType type : {CpType::kP2p, CpType::kA2a, CpType::kAllGather}) {
    const PassShape shape = shape_of(model, plan_of(4, type), s, kSeq, true);
    CHECK(shape.tokens() == kSeq / 4);
    for (const auto& items :
         {block_items(model, s, shape, model.blocks[0].block), head_items(model, s, shape)})
      for (const BlockItem& item : items)
        if (item.has_weights()) CHECK(item.product().m == kSeq / 4);
  }
}

TEST_CASE("what a layer keeps is divided by the ranks, whichever way they attend") {
  const Stack s = stack("megatron");
  const double whole = saved_of(plan_of(1, CpType::kP2p), s).value;
  for (const std::int64_t n : {2, 8})
    for (const CpType type : {CpType::kP2p, CpType::kA2a, CpType::kAllGather})
      CHECK(saved_of(plan_of(n, type), s).value * static_cast<double>(n) == doctest::Approx(whole));
}

// Received blocks and partial outputs of a ring stay until its end: all keys and values, and the output for every
// rank's keys. Gathered: keys and values of all, and once more in the order of the sequence.
TEST_CASE("what attention holds while it runs") {
  const auto extra = [](const Plan& plan) {
    Bytes most;
    for (const BlockItem& item : items_of(llama(), plan))
      if (item.extra) most = std::max(most, (*item.extra)[0]);
    return most.value;
  };
  CHECK(extra(plan_of(8, CpType::kP2p)) == doctest::Approx(kQ + kKv));
  CHECK(extra(plan_of(8, CpType::kAllGather)) == doctest::Approx(2 * kKv + kQ / 8));
}

// A block's work hides its message; what adds up waits for both. Backward the messages go the other way round.
TEST_CASE("messages of a ring run beside its blocks, but none beside the last of the forward") {
  const Stack s = stack("megatron");
  const Model model = llama();
  const ChunkWork work =
      build_chunk(model, s, shape_of(model, plan_of(4, CpType::kP2p), s, kSeq, true), Chunk(1, false, false));
  const auto of_context = [](const Pass& pass) {
    std::vector<std::pair<char, std::int64_t>> steps;  // m(essage), a(ttention), +, and how often
    const auto layer =
        std::find_if(pass.repeats.begin(), pass.repeats.end(), [](const Repeat& r) { return r.is_layer; });
    for (const Task& task : layer->tasks) {
      if (task.kind == Task::Kind::kCollective && task.collective.group == GroupKind::kContext) {
        CHECK_FALSE(task.blocking);
        steps.emplace_back('m', task.times);
      }
      if (task.kind != Task::Kind::kOperator) continue;
      if (task.op.kind == OperatorKind::kAttention) {
        CHECK(task.beside);
        steps.emplace_back('a', task.times);
      } else if (!steps.empty() && steps.back().first == 'a' && task.op.kind == OperatorKind::kAdd) {
        CHECK_FALSE(task.beside);
        steps.emplace_back('+', task.times);
      }
    }
    return steps;
  };
  using Steps = std::vector<std::pair<char, std::int64_t>>;
  CHECK(of_context(work.forward) ==
        Steps{{'m', 1}, {'a', 1}, {'+', 1}, {'m', 2}, {'a', 2}, {'+', 2}, {'a', 1}, {'+', 1}});
  CHECK(of_context(work.backward) ==
        Steps{{'m', 1}, {'a', 1}, {'+', 1}, {'m', 2}, {'a', 2}, {'+', 2}, {'m', 1}, {'a', 1}, {'+', 1}});
}

TEST_CASE("the first block of a ring is causal, of the others half of the square counts") {
  std::vector<AttentionSizes> blocks;
  for (const BlockItem& item : items_of(llama(), plan_of(4, CpType::kP2p)))
    if (!item.exchange && item.op.kind == OperatorKind::kAttention)
      blocks.push_back(item.op.as<AttentionSizes>());
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].seq == kSeq / 4);
  CHECK(blocks[0].causal == 1);
  for (const std::size_t i : {1, 2}) {
    CHECK(blocks[i].batch == 2);
    CHECK(blocks[i].seq == kSeq / 8);
    CHECK(blocks[i].causal == 0);
  }
}

TEST_CASE("queries of a share of a sequence see what their window holds, whichever rank has the keys") {
  Model model = llama();
  model.blocks[0].block.attention.window = 1024;
  const double whole = attention_flops(model, plan_of(1, CpType::kP2p), Direction::kForward).value;
  for (const CpType type : {CpType::kA2a, CpType::kAllGather})
    CHECK(attention_flops(model, plan_of(4, type), Direction::kForward).value * 4 == doctest::Approx(whole));
}
