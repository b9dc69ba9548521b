#include "workload/workload.h"

#include "workload/testing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "operators/attention.h"
#include "operators/optimizer.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "workload/block.h"
#include "workload/optimizer_step.h"
#include "workload/parameter_share.h"
#include "workload/split.h"

using namespace foretrain;

namespace {

Model gpt(std::int64_t layers = 4, std::int64_t hidden = 1024, std::int64_t heads = 16) {
  Model model;
  model.name = "gpt";
  model.hidden = hidden;
  model.blocks = {{layers, Block{heads, heads, hidden / heads, 4 * hidden, MlpKind::kGelu}}};
  model.norm = Norm::kLayernorm;
  model.positions = Positions::kLearned;
  model.max_positions = 2048;
  model.vocab = 51200;
  model.biases = model.qkv_bias = model.norm_bias = true;
  model.dropout = 0.1;
  return model;
}

Stack stack(std::string_view name) {
  auto found = Catalog().stack(name);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().text()));
  return *found;
}

PassShape shape(const Model& model, const Stack& s, Plan plan, std::int64_t seq = 2048) {
  return shape_of(model, plan, s, seq, true);
}

double layer_bytes(const Model& model, const Stack& s, const PassShape& c) {
  const ChunkWork one = build_chunk(model, s, c, Chunk{1, false, false});
  return saved_bytes(one.forward).value;
}

std::map<CollectiveKind, int> collectives(const Pass& pass, bool recomputed = false) {
  std::map<CollectiveKind, int> counts;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kCollective && task.recompute == recomputed)
        counts[task.collective.kind] += static_cast<int>(repeat.count);
  return counts;
}

}  // namespace

TEST_CASE("A Megatron layer keeps the bytes of Korthikanti et al., table 2") {
  // s tokens, b batch, h hidden, a heads, t tensor ranks; normalisation statistics (8 bytes a row) aside.
  const Model model = gpt();
  const Stack megatron = stack("megatron");
  const double s = 2048, b = 2, h = 1024, a = 16, t = 4;
  const double stats = 2 * 8 * s * b;
  Plan plan;
  plan.micro_batch = 2;
  plan.precision = Dtype::kFp16;
  plan.attention = AttentionKind::kUnfused;

  CHECK(layer_bytes(model, megatron, shape(model, megatron, plan)) ==
        s * b * h * (34 + 5 * a * s / h) + stats);
  plan.tp = 4;
  CHECK(layer_bytes(model, megatron, shape(model, megatron, plan)) ==
        s * b * h * (10 + 24 / t + 5 * a * s / (h * t)) + stats);
  plan.sp = true;
  CHECK(layer_bytes(model, megatron, shape(model, megatron, plan)) ==
        s * b * h / t * (34 + 5 * a * s / h) + stats / t);
  plan.recompute = Recompute::kSelective;
  CHECK(layer_bytes(model, megatron, shape(model, megatron, plan)) == 34 * s * b * h / t + stats / t);
  plan.recompute = Recompute::kFull;
  plan.sp = false;
  CHECK(layer_bytes(model, megatron, shape(model, megatron, plan)) == 2 * s * b * h);
}

TEST_CASE("Between its two backwards a Megatron layer keeps 32 sbh bytes, whatever is recomputed") {
  // Qi et al. 2023 (arXiv 2401.10241), table 1. Inputs of the four products 2, 2, 2 and 8, gradients of their
  // outputs 6, 2, 8 and 2 bytes a token and width.
  const Model model = gpt();
  const Stack megatron = stack("megatron");
  const double s = 2048, b = 2, h = 1024, t = 4;
  const auto kept = [&](const Plan& plan, std::int64_t layers) {
    const ChunkWork work =
        build_chunk(model, megatron, shape(model, megatron, plan), Chunk{layers, false, false});
    return work.held_for_weight.value;
  };
  Plan plan;
  plan.micro_batch = 2;
  plan.precision = Dtype::kFp16;
  CHECK(kept(plan, 1) == 32 * s * b * h);
  CHECK(kept(plan, 3) == 96 * s * b * h);
  plan.recompute = Recompute::kFull;
  CHECK(kept(plan, 1) == 32 * s * b * h);
  // What enters a column-parallel product and what leaves a row-parallel one is whole; with sp the former is
  // a shard, gathered again for W.
  plan.tp = 4;
  CHECK(kept(plan, 1) == s * b * h * (8 + 24 / t));
  plan.sp = true;
  CHECK(kept(plan, 1) == s * b * h * (4 + 28 / t));
}

TEST_CASE("A layer's products are 24 b s h^2 + 4 b s^2 h forward and twice that backward") {
  // Narayanan et al. 2021, appendix: attention's two products count the full square when unfused.
  const Model model = gpt();
  const Stack megatron = stack("megatron");
  const double s = 2048, b = 2, h = 1024;
  Plan plan;
  plan.micro_batch = 2;
  plan.attention = AttentionKind::kUnfused;
  const ChunkWork work = build_chunk(model, megatron, shape(model, megatron, plan), Chunk{1, false, false});
  const double forward = 24 * b * s * h * h + 4 * b * s * s * h;
  CHECK(flops(work.forward).value == forward);
  CHECK(flops(work.backward).value == 2 * forward);
  CHECK(flops(only(work.backward, Direction::kWeight)).value == 24 * b * s * h * h);
}

TEST_CASE("Full recomputation adds one forward to the backward") {
  const Model model = gpt();
  const Stack megatron = stack("megatron");
  Plan plan;
  plan.recompute = Recompute::kFull;
  const ChunkWork work = build_chunk(model, megatron, shape(model, megatron, plan), Chunk{3, false, false});
  // Products: once again, then twice. Flash attention's backward is five products, not four, so half of its
  // forward (2 s^2 h a layer, causal) comes on top.
  const double attention = 3 * 2 * 2048.0 * 2048 * 1024;
  CHECK(flops(work.backward).value == 3 * flops(work.forward).value + 0.5 * attention);
}

TEST_CASE("Selective recomputation repeats the attention core only") {
  const Model model = gpt();
  const Stack megatron = stack("megatron");
  Plan plan;
  plan.attention = AttentionKind::kUnfused;
  const ChunkWork none = build_chunk(model, megatron, shape(model, megatron, plan), Chunk{1, false, false});
  plan.recompute = Recompute::kSelective;
  const ChunkWork selective =
      build_chunk(model, megatron, shape(model, megatron, plan), Chunk{1, false, false});
  const double core = 4.0 * 2048 * 2048 * 1024;
  CHECK(flops(selective.backward).value == flops(none.backward).value + core);
  CHECK(flops(selective.forward).value == flops(none.forward).value);
}

TEST_CASE("FLOPs, weights and sharded activations are conserved under tensor parallelism") {
  const Model model = gpt();
  for (const char* name : {"megatron", "nanotron", "neox", "hf-eager", "llm-foundry", "generic"}) {
    const Stack s = stack(name);
    Plan plan;
    const ChunkWork whole = build_chunk(model, s, shape(model, s, plan), Chunk{2, true, true});
    for (const std::int64_t tp : {2, 4, 8, 16}) {
      plan.tp = tp;
      const ChunkWork share = build_chunk(model, s, shape(model, s, plan), Chunk{2, true, true});
      CAPTURE(name);
      CAPTURE(tp);
      CHECK(flops(share.forward).value * static_cast<double>(tp) == flops(whole.forward).value);
      CHECK(flops(share.backward).value * static_cast<double>(tp) == flops(whole.backward).value);
      CHECK(saved_bytes(share.forward) <= saved_bytes(whole.forward));
    }
  }
}

TEST_CASE("Tensor parallelism reduces twice forward and twice backward a layer; sp gathers and scatters") {
  const Model model = gpt();
  const Stack megatron = stack("megatron");
  Plan plan;
  plan.tp = 4;
  ChunkWork work = build_chunk(model, megatron, shape(model, megatron, plan), Chunk{3, false, false});
  CHECK(collectives(work.forward) == std::map<CollectiveKind, int>{{CollectiveKind::kAllReduce, 6}});
  CHECK(collectives(work.backward) == std::map<CollectiveKind, int>{{CollectiveKind::kAllReduce, 6}});
  plan.sp = true;
  work = build_chunk(model, megatron, shape(model, megatron, plan), Chunk{3, false, false});
  CHECK(collectives(work.forward) ==
        std::map<CollectiveKind, int>{{CollectiveKind::kAllGather, 6}, {CollectiveKind::kReduceScatter, 6}});
  // Backward: the conjugates, and each column-parallel input gathered again for its weight gradient.
  CHECK(collectives(work.backward) ==
        std::map<CollectiveKind, int>{{CollectiveKind::kAllGather, 12}, {CollectiveKind::kReduceScatter, 6}});
}

TEST_CASE("NeoX with parallel residuals reduces once forward and twice backward a layer") {
  Model model = gpt();
  model.residual = Residual::kParallel;
  const Stack neox = stack("neox");
  Plan plan;
  plan.tp = 4;
  plan.recompute = Recompute::kFull;
  plan.partition_activations = true;
  const ChunkWork work = build_chunk(model, neox, shape(model, neox, plan), Chunk{1, false, false});
  CHECK(collectives(work.forward)[CollectiveKind::kAllReduce] == 1);
  CHECK(collectives(work.backward)[CollectiveKind::kAllReduce] == 2);
  // Recomputed: the forward's all-reduce, and the gather of the partitioned checkpoint.
  CHECK(collectives(work.backward, true) ==
        std::map<CollectiveKind, int>{{CollectiveKind::kAllReduce, 1}, {CollectiveKind::kAllGather, 1}});
}

TEST_CASE("With parallel residuals and sp each half gathers its input, and one scatter ends both") {
  Model model = gpt();
  model.residual = Residual::kParallel;
  Plan plan;
  plan.tp = 4;
  plan.sp = true;
  for (const char* name : {"megatron", "generic"}) {
    for (const std::int64_t backward : {1, 2}) {
      Stack s = stack(name);
      CHECK(s.tensor_parallel.parallel_all_reduces == std::array<std::int64_t, 2>{1, 2});
      s.tensor_parallel.parallel_all_reduces[1] = backward;  // counts without sp alone
      const ChunkWork work = build_chunk(model, s, shape(model, s, plan), Chunk{1, false, false});
      CHECK(collectives(work.forward) == std::map<CollectiveKind, int>{{CollectiveKind::kAllGather, 2},
                                                                       {CollectiveKind::kReduceScatter, 1}});
      // The conjugates, and both inputs gathered again for their weight gradients.
      CHECK(collectives(work.backward) == std::map<CollectiveKind, int>{{CollectiveKind::kAllGather, 3},
                                                                        {CollectiveKind::kReduceScatter, 2}});
    }
  }
}

TEST_CASE("A stack that adds the gradients of parallel halves reduces them once") {
  Model model = gpt();
  model.residual = Residual::kParallel;
  Stack merging = stack("megatron");
  Plan plan;
  plan.tp = 4;
  const auto reduces = [&] {
    const ChunkWork work = build_chunk(model, merging, shape(model, merging, plan), Chunk{1, false, false});
    return collectives(work.backward)[CollectiveKind::kAllReduce];
  };
  CHECK(reduces() == 2);
  merging.tensor_parallel.parallel_all_reduces[1] = 1;
  CHECK(reduces() == 1);
}

TEST_CASE("Ranks' parameters sum to the model's, padding and replicated tensors apart") {
  Model model = gpt();
  model.vocab = 51200;  // a multiple of 128 * 8: nothing is padded
  const Stack megatron = stack("megatron");
  CHECK(parameter_share(model, megatron, 1, Chunk{4, true, true}, true).elements == parameters(model));
  const std::int64_t replicated = 4 * (2 * norm_parameters(model) + 2 * model.hidden) +
                                  norm_parameters(model) + position_parameters(model);
  for (const std::int64_t tp : {2, 4, 8}) {
    const std::int64_t share = parameter_share(model, megatron, tp, Chunk{4, true, true}, true).elements;
    CHECK(tp * (share - replicated) + replicated == parameters(model));
  }
}

TEST_CASE("A tied head lives twice when first and last stage are apart") {
  Model model = gpt();
  model.tied = true;
  const Stack megatron = stack("megatron");
  const ParameterShare first = parameter_share(model, megatron, 1, Chunk{2, true, false}, false);
  const ParameterShare last = parameter_share(model, megatron, 1, Chunk{2, false, true}, false);
  CHECK(first.elements + last.elements == parameters(model) + model.vocab * model.hidden);
  CHECK(first.embedding_elements == model.vocab * model.hidden);
  CHECK(last.embedding_elements == model.vocab * model.hidden);
  CHECK(parameter_share(model, megatron, 1, Chunk{4, true, true}, true).embedding_elements == 0);
}

TEST_CASE("The vocabulary is padded to a multiple of 128 tp by Megatron") {
  Model model = gpt();
  model.vocab = 50257;
  CHECK(padded_vocab(model, stack("megatron"), 1) == 50304);
  CHECK(padded_vocab(model, stack("megatron"), 8) == 51200);
  CHECK(padded_vocab(model, stack("hf-eager"), 1) == 50257);
}

TEST_CASE("Layers are dealt by each stack's own rule and none is lost") {
  using Layers = std::vector<std::int64_t>;
  CHECK(split_layers(gpt(44), StageSplit::kPipelineLayers, 4) == Layers{11, 12, 12, 9});
  CHECK(split_layers(gpt(32), StageSplit::kPipelineLayers, 4) == Layers{8, 9, 9, 6});
  CHECK(split_layers(gpt(48), StageSplit::kEven, 8) == Layers(8, 6));
  CHECK(split_layers(gpt(10), StageSplit::kEven, 4) == Layers{3, 3, 2, 2});
  // A head of four layers' cost: 16 + 4 = 20 units over two stages, and a block that passes the half closes it.
  Model llama;
  llama.hidden = 2048;
  llama.blocks = {{16, Block{32, 32, 64, 8192, MlpKind::kSwiglu}}};
  llama.vocab = 131072;
  CHECK(split_layers(llama, StageSplit::kCost, 2) == Layers{11, 5});
  for (const StageSplit rule : {StageSplit::kEven, StageSplit::kCost, StageSplit::kPipelineLayers})
    for (std::int64_t layers = 1; layers < 40; ++layers)
      for (std::int64_t stages = 1; stages <= layers; ++stages) {
        const Layers split = split_layers(gpt(layers), rule, stages);
        CHECK(std::accumulate(split.begin(), split.end(), std::int64_t{0}) == layers);
        CHECK(static_cast<std::int64_t>(split.size()) == stages);
      }
}

TEST_CASE("A Hugging Face layer keeps q, k, v and the projection's input whatever its attention is") {
  Model model = gpt();
  const Stack hf = stack("hf-eager");
  const double s = 2048, h = 1024, a = 16, t = 4 * a * s;  // t: one fp32 number a row and head
  Plan plan;
  const auto kept = [&](AttentionKind attention, double dropout, Recompute recompute = Recompute::kNone) {
    plan.attention = attention;
    plan.recompute = recompute;
    model.dropout = dropout;
    return layer_bytes(model, hf, shape(model, hf, plan));
  };
  const double flash = kept(AttentionKind::kFlash, 0);
  // The softmax in fp32 and what the product reads; with dropout a byte of mask more.
  CHECK(kept(AttentionKind::kUnfused, 0) == flash - t + 6 * a * s * s);
  const double masks = 2 * s * h;  // of the two residuals
  CHECK(kept(AttentionKind::kFlash, 0.1) == flash + masks);
  CHECK(kept(AttentionKind::kUnfused, 0.1) == flash - t + 7 * a * s * s + masks);
  CHECK(kept(AttentionKind::kUnfused, 0, Recompute::kSelective) == flash - t);
}

TEST_CASE("Two products of one input keep it once") {
  // 2 norms' inputs, q k v, the two inputs behind norms, projection's: 8 h; gate, up, silu and product: 4
  // ffn.
  Model model = gpt();
  model.blocks.front().block.mlp = MlpKind::kSwiglu;
  model.dropout = 0.0;
  const double s = 2048, h = 1024, stats = 2 * 8 * s + 4 * 16 * s;
  for (const char* name : {"neox", "llm-foundry"}) {
    const Stack stack_of = stack(name);
    CHECK(layer_bytes(model, stack_of, shape(model, stack_of, Plan{})) ==
          2 * s * (8 * h + 4 * 4 * h) + stats);
  }
}

TEST_CASE("A stack without dropout trains without it, whatever the model says") {
  const Model model = gpt();  // 0.1
  CHECK(dropout_of(model, stack("megatron")) == 0.1);
  CHECK(dropout_of(model, stack("hf-eager")) == 0.1);
  CHECK(dropout_of(model, stack("nanotron")) == 0.0);
  CHECK(dropout_of(model, stack("llm-foundry")) == 0.0);
}

TEST_CASE("The optimizer's step moves every state once") {
  // bf16 with fp32 master, moments and gradients: Adam reads the gradient and reads and writes master and two
  // moments (4 + 3 * 8 bytes), the cast reads 4 and writes 2.
  const Stack megatron = stack("megatron");
  const Pass pass = build_optimizer(megatron, {}, 1000, 1000, 10);
  double adam = 0, cast = 0;
  for (const Task& task : pass.repeats.front().tasks) {
    if (task.op.kind == OperatorKind::kAdamw) adam += bytes(task.op).value;
    if (task.op.kind == OperatorKind::kCastWeights) cast += bytes(task.op).value;
  }
  CHECK(adam == 1000 * 28);
  CHECK(cast == 1000 * 6);
}

TEST_CASE("Moments of eight bits are moved with their scales") {
  // Two of them read and written, of 1 byte and a 256th of an fp32 scale each: 4 (1 + 4/256) instead of the
  // 16 bytes of fp32, beside the gradient's 4 and 8 of the master copy.
  Plan plan;
  plan.dp = 1;
  plan.optimizer = OptimizerKind::kAdamw8bit;
  const Stack megatron = stack("megatron");
  const UpdateFormat format = update_format(choices_of(gpt(), megatron, plan));
  const Pass pass = build_optimizer(megatron, format, 1024, 1024, 10);
  for (const Task& task : pass.repeats.front().tasks)
    if (task.op.kind == OperatorKind::kAdamw) CHECK(bytes(task.op).value == 1024 * (4 + 4 + 8) + 4 * 16);
}

TEST_CASE("ZeRO 1 updates its shard and zeroes every gradient") {
  const Pass pass = build_optimizer(stack("megatron"), {}, 1000, 125, 10);
  for (const Task& task : pass.repeats.front().tasks)
    CHECK(task.op.as<StateSizes>().parameters == (task.op.kind == OperatorKind::kZeroGrads ? 1000 : 125));
}

TEST_CASE("Flash attention saves no scores; grouped-query heads shrink keys and values") {
  Model model = gpt();
  model.blocks.front().block.kv_heads = 4;
  const Stack generic = stack("generic");
  Plan plan;
  const ChunkWork work = build_chunk(model, generic, shape(model, generic, plan), Chunk{1, false, false});
  bool seen = false;
  for (const Task& task : work.forward.repeats.front().tasks)
    if (task.op.kind == OperatorKind::kAttention) {
      seen = true;
      CHECK(task.op.as<AttentionSizes>() ==
            AttentionSizes{.batch = 1, .heads = 16, .kv_heads = 4, .seq = 2048, .head_dim = 64});
      CHECK(task.saved.value == 4.0 * 16 * 2048);  // the log-sum-exp of each row
    }
  CHECK(seen);
}

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
    return static_cast<double>(parameter_share(model, megatron, 1, chunk, true).elements);
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

TEST_CASE("torchtitan's selective recomputation keeps the outputs of attention and of every second product") {
  // Of wq, wk, wv, wo, w1, w3, w2 the first, third, fifth and seventh, with attention's output and statistics
  // and the block's input: bytes a token and layer, h = 1024, 16 heads of 64, 4 of keys and values, ffn 4096.
  Model model = gpt();
  model.positions = Positions::kRope;
  model.norm = Norm::kRmsnorm;
  model.blocks = {{4, Block{16, 4, 64, 4096, MlpKind::kSwiglu}}};
  model.biases = model.qkv_bias = false;
  const Stack torchtitan = stack("torchtitan");
  const auto held = [&](std::string_view text) {
    const Plan plan = parse_plan(text).value();
    const ChunkWork work =
        build_chunk(model, torchtitan, shape_of(model, plan, torchtitan, 2048, true), {4, false, false});
    return saved_bytes(work.forward).value / (4.0 * 2048);
  };
  const double h = 1024, kv = 256, f = 4096, statistics = 4 * 16;
  CHECK(held("recompute=selective") == 2 * (h + h + kv + h + f + h) + statistics);
  // Without: two norms with an fp32 copy and the unscaled result; wq's input and q; keys and values repeated
  // for every head; attention's output; w1's input, both halves, silu's result and the product.
  CHECK(held("recompute=none") ==
        2 * (4 * h + 2 * h) + 2 * (h + h) + 2 * 2 * h + 2 * h + statistics + 2 * h + 8 * f);
}
