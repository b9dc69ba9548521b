// What autograd keeps of a Hugging Face block of experts or of latent attention, and what such blocks launch,
// counted by hand from integrations/moe and modeling_deepseek_v3 of transformers 5 and the derivatives of
// PyTorch. u is one bf16 tensor of hidden width.
#include <doctest/doctest.h>

#include "operators/attention.h"
#include "operators/experts.h"
#include "operators/optimizer.h"
#include "operators/pointwise.h"
#include "operators/product.h"
#include "spec/catalog.h"
#include "workload/block.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

constexpr std::int64_t kSeq = 1024, kHidden = 1024, kHeads = 16;
constexpr double kTokens = kSeq;
constexpr double kU = 2.0 * kTokens * kHidden;
constexpr double kRows = 8 * kTokens;             // mean and deviation, fp32
constexpr double kSums = 4.0 * kTokens * kHeads;  // attention: an fp32 number a row and head

Model model_with(const Attention& attention, const FeedForward& feed_forward) {
  Model model;
  model.hidden = kHidden;
  model.blocks = {{4, Block{attention, feed_forward}}};
  model.norm = Norm::kRmsnorm;
  model.positions = Positions::kRope;
  model.vocab = 32000;
  return model;
}

const Attention kGrouped = {.heads = kHeads, .kv_heads = kHeads, .head_dim = 64};
const Attention kLatent = {.heads = kHeads,
                           .kv_heads = kHeads,
                           .head_dim = 192,
                           .q_rank = 512,
                           .kv_rank = 256,
                           .nope_dim = 128,
                           .rope_dim = 64,
                           .v_dim = 128};
const FeedForward kDense = {.mlp = MlpKind::kSwiglu, .ffn = 3072};
const FeedForward kExperts = {.mlp = MlpKind::kSwiglu, .experts = 8, .top_k = 2, .expert_ffn = 512};

std::vector<BlockItem> items_of(const Model& model, const Plan& plan = {}) {
  const Stack s = stack("hf-eager");
  return block_items(model, s, shape_of(model, plan, s, kSeq, false), model.blocks[0].block);
}

double saved(const Model& model) {
  Bytes sum;
  for (const BlockItem& item : items_of(model)) sum += item.saved;
  return sum.value;
}

std::vector<Operator> operators_of(const Model& model, OperatorKind kind) {
  std::vector<Operator> found;
  for (const BlockItem& item : items_of(model))
    if (!item.exchange && item.op.kind == kind) found.push_back(item.op);
  return found;
}

}  // namespace

TEST_CASE("A block of experts keeps rows at five places, and the router's logits in fp32") {
  // Norms, queries, keys, values and attention's output as of a dense block: 12 u. The router's input is the
  // norm's output. Of each of the two rows of a token: what enters the first product (u), what it made with
  // rows of nobody cleared (2 x 512 wide: u), silu's output and its product with the other half (u / 2 each),
  // and what the second product made, for the gradients of the weights (u).
  const double rows = 2 * (kU + kU + kU / 2 + kU / 2 + kU);
  CHECK(saved(model_with(kGrouped, kExperts)) == 12 * kU + rows + 4 * kTokens * 8 + 2 * kRows + kSums);
}

TEST_CASE("A router in fp32 keeps a copy of its input, and shared experts the input itself") {
  FeedForward shared = kExperts;
  shared.shared_ffn = 256;
  const double half = saved(model_with(kGrouped, shared));
  shared.router = Router::kFp32;
  CHECK(saved(model_with(kGrouped, shared)) == half + 2 * kU);
  for (const Operator& op : operators_of(model_with(kGrouped, shared), OperatorKind::kLinear))
    CHECK((op.dtype == Dtype::kFp32) == (op.as<LinearSizes>().n == 8));
}

TEST_CASE("Rows are weighed in the format of the router's weights") {
  const auto impl = [](Router router) {
    FeedForward experts = kExperts;
    experts.router = router;
    const auto found = operators_of(model_with(kGrouped, experts), OperatorKind::kUnpermute);
    REQUIRE(found.size() == 1);
    return found[0].impl;
  };
  CHECK(impl(Router::kHalf) == Impl::kEager);
  CHECK(impl(Router::kFp32Weights) == Impl::kFp32Scale);
  CHECK(impl(Router::kFp32) == Impl::kFp32Scale);
}

TEST_CASE("Blocks of experts and of latent attention call more that launches nothing") {
  const Stack s = stack("hf-eager");
  const auto calls = [&](const Attention& attention, const FeedForward& feed_forward) {
    const Model model = model_with(attention, feed_forward);
    const ChunkWork work = build_chunk(model, s, shape_of(model, {}, s, kSeq, false), Chunk{1, false, false});
    std::int64_t sum = 0;
    for (const Repeat& repeat : work.forward.repeats)
      for (const Task& task : repeat.tasks)
        if (task.kind == Task::Kind::kOperator) sum += task.calls;
    return sum;
  };
  const std::int64_t plain = calls(kGrouped, kDense);
  CHECK(plain == s.host.calls_per_layer[0]);
  CHECK(calls(kGrouped, kExperts) == plain + s.host.calls_of_experts[0]);
  CHECK(calls(kLatent, kExperts) == plain + s.host.calls_of_experts[0] + s.host.calls_of_latent[0]);
}

TEST_CASE("Experts are two grouped products over the rows that tokens send") {
  const Model model = model_with(kGrouped, kExperts);
  const auto products = operators_of(model, OperatorKind::kGroupedProduct);
  REQUIRE(products.size() == 2);
  CHECK(products[0].as<GroupedSizes>() ==
        GroupedSizes{.experts = 8, .m = 2 * kSeq, .k = kHidden, .n = 2 * 512});
  CHECK(products[1].as<GroupedSizes>() == GroupedSizes{.experts = 8, .m = 2 * kSeq, .k = 512, .n = kHidden});
  const auto gates = operators_of(model, OperatorKind::kSwiglu);
  REQUIRE(gates.size() == 1);
  CHECK(gates[0].as<TokenSizes>() == TokenSizes{.tokens = 2 * kSeq, .width = 512});
  const auto permutes = operators_of(model, OperatorKind::kPermute);
  REQUIRE(permutes.size() == 1);
  CHECK(permutes[0].as<SentSizes>() == SentSizes{.tokens = kSeq, .width = kHidden, .top_k = 2});
  const auto routes = operators_of(model, OperatorKind::kRoute);
  REQUIRE(routes.size() == 1);
  CHECK(routes[0].as<RouteSizes>() == RouteSizes{.tokens = kSeq, .experts = 8, .top_k = 2});
}

TEST_CASE("A loop over experts launches for each, and adds gradients as large as all weights") {
  const Model model = model_with(kGrouped, kExperts);
  Plan plan;
  plan.expert_products = ExpertProducts::kLoop;
  std::int64_t products = 0, added = 0;
  for (const BlockItem& item : items_of(model, plan)) {
    CHECK(item.op.kind != OperatorKind::kMaskRows);
    if (item.op.kind == OperatorKind::kGroupedProduct) {
      CHECK(item.op.impl == Impl::kEager);
      CHECK(item.launches == std::array<std::int64_t, 3>{8, 8, 8});
      CHECK(item.op.as<GroupedSizes>().m == 2 * kSeq);
      ++products;
    }
    // Eight times 8 x 1024 rows of weights.
    if (item.op.kind == OperatorKind::kAdd && item.times == 8) {
      CHECK(item.op.as<TokenSizes>().tokens == 8 * kHidden);
      added += item.times * item.op.as<TokenSizes>().width;
    }
  }
  CHECK(products == 2);
  CHECK(added == 8 * 3 * 512);
}

TEST_CASE("Shared experts are the MLP at their own width") {
  FeedForward shared = kExperts;
  shared.shared_ffn = 256;
  // Gate, up, silu and their product; the input is the router's, which keeps it already.
  const double apart = saved(model_with(kGrouped, shared)) - saved(model_with(kGrouped, kExperts));
  CHECK(apart == 4 * 2 * kTokens * 256);
  const auto linears = operators_of(model_with(kGrouped, shared), OperatorKind::kLinear);
  REQUIRE(linears.size() == 3 + 1 + 3);  // of q; of k and v, twice; projection, router, MLP
  CHECK(linears.back().as<LinearSizes>() == LinearSizes{.m = kSeq, .k = 256, .n = kHidden});
}

TEST_CASE("Latent attention keeps queries and keys at full width, and the whole of what the latent makes") {
  // Two norms of the residual stream and the MLP as everywhere; of each latent 6 bytes an element for its
  // norm and 2 for the product that follows. q and k are 16 x 192 wide, what the latent makes 16 x 256, and
  // attention's output 16 x 128, kept before and after its copy.
  const double heads = 2 * kTokens * kHeads;
  const double latents = kTokens * (512 + 256) * 8 + 2 * kRows;
  const double wanted = 8 * kU + 4 * 3 * kU + 2 * kRows + latents + heads * (2 * 192 + 256 + 2 * 128) + kSums;
  CHECK(saved(model_with(kLatent, kDense)) == wanted);
  const auto attention = operators_of(model_with(kLatent, kDense), OperatorKind::kLatentAttention);
  REQUIRE(attention.size() == 1);
  CHECK(attention[0].as<LatentAttentionSizes>() ==
        LatentAttentionSizes{.batch = 1, .heads = kHeads, .seq = kSeq, .qk_dim = 192, .v_dim = 128});
}

TEST_CASE("Queries without a rank are one product from the input") {
  Attention whole = kLatent;
  whole.q_rank = 0;
  const auto of = [](const Attention& attention) {
    return operators_of(model_with(attention, kDense), OperatorKind::kLinear);
  };
  CHECK(of(kLatent).size() == 3 + 2 + 3);  // q down and up, kv down and up, projection; the MLP
  CHECK(of(whole).size() == 2 + 2 + 3);
  CHECK(operators_of(model_with(whole, kDense), OperatorKind::kRmsnorm).size() == 3);
  CHECK(operators_of(model_with(kLatent, kDense), OperatorKind::kRmsnorm).size() == 4);
}

TEST_CASE("Norms over all heads have one row a token") {
  Attention attention = kGrouped;
  attention.kv_heads = 4;
  attention.qk_norm = QkNorm::kWhole;
  const auto norms = operators_of(model_with(attention, kDense), OperatorKind::kRmsnorm);
  REQUIRE(norms.size() == 4);
  CHECK(norms[1].as<TokenSizes>() == TokenSizes{.tokens = kSeq, .width = 16 * 64});
  CHECK(norms[2].as<TokenSizes>() == TokenSizes{.tokens = kSeq, .width = 4 * 64});
}

TEST_CASE("Backward, a grouped product is two passes, as a linear is") {
  const Model model = model_with(kGrouped, kExperts);
  const Stack s = stack("hf-eager");
  const ChunkWork work = build_chunk(model, s, shape_of(model, {}, s, kSeq, true), Chunk{1, false, false});
  std::int64_t inputs = 0, weights = 0, accumulated = 0;
  for (const Repeat& repeat : work.backward.repeats)
    for (const Task& task : repeat.tasks) {
      if (task.kind != Task::Kind::kOperator) continue;
      if (task.op.kind == OperatorKind::kGroupedProduct) {
        inputs += task.op.pass == PassKind::kInput;
        weights += task.op.pass == PassKind::kWeight;
      }
      // Gradients of all experts' matrices are added: 8 x 1024 x 1024 and 8 x 512 x 1024.
      if (task.op.kind == OperatorKind::kAccumulate)
        accumulated += task.times * task.op.as<GradientSizes>().k * task.op.as<GradientSizes>().n;
    }
  CHECK(inputs == 2);
  CHECK(weights == 2);
  CHECK(accumulated == 8 * 1024 * 1024 + 8 * 512 * 1024 + 4 * 1024 * 1024 + 8 * 1024);
}
