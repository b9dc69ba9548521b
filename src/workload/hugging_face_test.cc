// What autograd keeps of a Hugging Face block, counted by hand from the modelling code of transformers 5 and
// the derivatives of PyTorch. u is one bf16 tensor of hidden width, f one of ffn width.
#include <doctest/doctest.h>

#include <algorithm>

#include "operators/attention.h"
#include "operators/pointwise.h"
#include "operators/product.h"
#include "spec/catalog.h"
#include "workload/block.h"
#include "workload/parameter_share.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

constexpr std::int64_t kSeq = 1024, kHidden = 1024, kHeads = 16;
constexpr double kTokens = kSeq;
constexpr double kU = 2.0 * kTokens * kHidden;
constexpr double kRows = 8 * kTokens;             // mean and deviation, fp32
constexpr double kSums = 4.0 * kTokens * kHeads;  // attention: an fp32 number a row and head

Model model_with(Norm norm, MlpKind mlp, std::int64_t ffn, std::int64_t kv_heads = kHeads) {
  Model model;
  model.hidden = kHidden;
  model.blocks = {{4, Block{{kHeads, kv_heads, kHidden / kHeads}, {mlp, ffn}}}};
  model.norm = norm;
  model.positions = Positions::kRope;
  model.vocab = 32000;
  return model;
}

Model llama(std::int64_t kv_heads = 4) {
  return model_with(Norm::kRmsnorm, MlpKind::kSwiglu, 3 * kHidden, kv_heads);
}

Model gpt2() {
  Model model = model_with(Norm::kLayernorm, MlpKind::kGelu, 4 * kHidden);
  model.positions = Positions::kLearned;
  model.fused_qkv = model.biases = model.qkv_bias = model.projection_bias = model.norm_bias = true;
  model.gelu = Gelu::kTanh;
  return model;
}

Model pythia() {
  Model model = gpt2();
  model.positions = Positions::kRope;
  model.rotary_fraction = 0.25;
  model.residual = Residual::kParallel;
  model.gelu = Gelu::kErf;
  return model;
}

ChunkWork work_of(const Model& model, const char* name, Chunk chunk, Recompute recompute = Recompute::kNone) {
  const Stack stack = Catalog().stack(name).value();
  Plan plan;
  plan.recompute = recompute;
  return build_chunk(model, stack, shape_of(model, plan, stack, kSeq, false), chunk);
}

double layer_bytes(const Model& model, const char* name) {
  return saved_bytes(work_of(model, name, Chunk{1, false, false}).forward).value;
}

std::vector<Operator> operators(const Pass& pass) {
  std::vector<Operator> all;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator) all.push_back(task.op);
  return all;
}

int count(const Pass& pass, OperatorKind kind, bool recompute = false) {
  int sum = 0;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator && task.op.kind == kind && task.recompute == recompute)
        sum += static_cast<int>(task.times);
  return sum;
}

}  // namespace

TEST_CASE("Eager Llama keeps 10 u, 2 u for keys and values by their share, and 4 f a block") {
  // A norm: its fp32 input (2 u), the normalised value in bf16, the scaled one (the products' input): 4 u,
  // twice. Rotated q, k, v and attention's output, which is the projection's input. Gate, up, silu and their
  // product.
  const double f = 3 * kU;
  CHECK(layer_bytes(llama(), "hf-eager") == 2 * 4 * kU + 2 * kU + 2 * kU / 4 + 4 * f + 2 * kRows + kSums);
}

TEST_CASE("Norms of queries and keys keep six bytes an element and have rows of one head") {
  Model model = llama(4);
  const double plain = layer_bytes(model, "hf-eager");
  model.blocks[0].block.attention.qk_norm = QkNorm::kHead;
  const double heads = 16 + 4;
  CHECK(layer_bytes(model, "hf-eager") == plain + kTokens * heads * (6 * 64 + 8));
  std::vector<TokenSizes> norms;
  for (const Operator& op : operators(work_of(model, "hf-eager", Chunk{1, false, false}).forward))
    if (op.kind == OperatorKind::kRmsnorm) norms.push_back(op.as<TokenSizes>());
  REQUIRE(norms.size() == 4);
  CHECK(norms[1] == TokenSizes{.tokens = 16 * kSeq, .width = 64});
  CHECK(norms[2] == TokenSizes{.tokens = 4 * kSeq, .width = 64});
  const Stack stack = Catalog().stack("hf-eager").value();
  const auto share = [&] { return parameter_share(model, stack, {1}, Chunk{4, true, true}, true).elements; };
  CHECK(share() == parameters(model));
}

TEST_CASE("Eager GPT-2 keeps 28 u a block: 20 of them in the chain of its gelu") {
  // Norms' inputs and outputs (4 u), one product's output with q, k and v (3 u), attention's output. Of
  // gelu_new x, tanh, x / 2 and 1 + tanh, then the second product's input, each 4 u.
  CHECK(layer_bytes(gpt2(), "hf-eager") == 28 * kU + 2 * kRows + kSums);
}

TEST_CASE("Eager GPT-NeoX keeps 18 u a block") {
  // Both norms have one input (3 u). v is a view of the product's output, which keeps all of it (3 u), beside
  // the rotated q and k (2 u). Attention's output is copied for the projection (2 u). One kernel's gelu: 8 u.
  CHECK(layer_bytes(pythia(), "hf-eager") == 18 * kU + 2 * kRows + kSums);
}

TEST_CASE("Compiled Llama keeps what products and attention take, and the norms' inputs: 8 u and 3 f") {
  // Grouped keys and values are repeated for each query head, so their number does not matter.
  const double f = 3 * kU;
  CHECK(layer_bytes(llama(4), "hf-compile") == 8 * kU + 3 * f + 2 * kRows + kSums);
  CHECK(layer_bytes(llama(16), "hf-compile") == 8 * kU + 3 * f + 2 * kRows + kSums);
}

TEST_CASE("Compiled GPT-2 keeps 16 u a block, compiled GPT-NeoX 18 u") {
  // Of the gelu its input and output alone: 8 u where the eager chain keeps 20 u. GPT-NeoX keeps the whole
  // output of its product for v, beside the rotated q and k, and a copy of attention's output; its norms have
  // one input.
  CHECK(layer_bytes(gpt2(), "hf-compile") == 16 * kU + 2 * kRows + kSums);
  CHECK(layer_bytes(pythia(), "hf-compile") == 18 * kU + 2 * kRows + kSums);
}

TEST_CASE("Compiled products are padded to eight columns") {
  Model model = gpt2();
  model.vocab = 50257;
  const auto columns = [&](const char* name) {
    const auto all = operators(work_of(model, name, Chunk{1, false, true}).forward);
    std::int64_t most = 0;
    for (const Operator& op : all)
      if (op.kind == OperatorKind::kLinear) most = std::max(most, op.as<LinearSizes>().n);
    return most;
  };
  CHECK(columns("hf-eager") == 50257);
  CHECK(columns("hf-compile") == 50264);
}

TEST_CASE("A mask in memory computes whole squares for every query head") {
  const auto attention = [](const char* name) {
    for (const Operator& op : operators(work_of(llama(), name, Chunk{1, false, false}).forward))
      if (op.kind == OperatorKind::kAttention) return op.as<AttentionSizes>();
    return AttentionSizes{};
  };
  AttentionSizes sizes = {.batch = 1, .heads = 16, .kv_heads = 4, .seq = kSeq, .head_dim = 64};
  CHECK(attention("hf-eager") == sizes);
  sizes.kv_heads = 16;
  sizes.causal = 0;
  CHECK(attention("hf-compile") == sizes);
}

TEST_CASE("Recomputation that stops early leaves out the product that ends a block, and the residual") {
  // The down projection keeps its input before it runs; nothing after it is kept.
  const Pass backward = work_of(llama(), "hf-eager", Chunk{1, false, false}, Recompute::kFull).backward;
  CHECK(count(backward, OperatorKind::kLinear, true) == 6);
  CHECK(count(backward, OperatorKind::kAdd, true) == 1);
  const Pass whole = work_of(llama(), "hf-compile", Chunk{1, false, false}, Recompute::kFull).backward;
  CHECK(count(whole, OperatorKind::kLinear, true) == 7);
  // A residual's dropout keeps its mask, so the product before it runs.
  Model dropping = gpt2();
  dropping.dropout = 0.1;
  const Pass masks = work_of(dropping, "hf-eager", Chunk{1, false, false}, Recompute::kFull).backward;
  CHECK(count(masks, OperatorKind::kLinear, true) == 4);
}

TEST_CASE("The gradients of a tied table's two uses are added where one rank holds both") {
  Model model = llama();
  const auto adds = [&](bool tied, Chunk chunk) {
    model.tied = tied;
    return count(work_of(model, "hf-eager", chunk).backward, OperatorKind::kAccumulate);
  };
  CHECK(adds(true, Chunk{1, true, true}) == 1);
  CHECK(adds(false, Chunk{1, true, true}) == 0);
  CHECK(adds(true, Chunk{1, true, false}) == 0);
}

TEST_CASE("Tensors that an optimizer updates are counted as the stack stores them") {
  const auto tensors = [](const Model& model, const char* name) {
    const Stack stack = Catalog().stack(name).value();
    return parameter_share(model, stack, {1}, Chunk{1, false, false}, true).tensors;
  };
  CHECK(tensors(llama(), "hf-eager") == 7 + 2);       // q, k, v, o, gate, up, down and two norms
  CHECK(tensors(llama(), "megatron") == 4 + 2);       // one for q, k and v, one for gate and up
  CHECK(tensors(gpt2(), "hf-eager") == 2 * (4 + 2));  // each with a bias
}

TEST_CASE("The loss holds the logits in fp32 three times, a norm's backward 16 bytes an element more") {
  const ChunkWork work = work_of(llama(), "hf-eager", Chunk{1, false, true});
  Bytes loss, norm;
  for (const Repeat& repeat : work.backward.repeats)
    for (const Task& task : repeat.tasks) {
      if (task.op.kind == OperatorKind::kCrossEntropy) loss = task.extra.value();
      if (task.op.kind == OperatorKind::kRmsnorm) norm = task.extra.value();
    }
  CHECK(loss == Bytes(8 * kTokens * 32000));  // beside the log-softmax, which is kept
  CHECK(norm == Bytes(16 * kTokens * kHidden));
}
