#include "workload/workload.h"

#include "workload/testing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "operators/attention.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "workload/block.h"

using namespace foretrain;

namespace {

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
  plan.precision = "fp16";
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
  plan.precision = "fp16";
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
  model.blocks.front().block.feed_forward.mlp = MlpKind::kSwiglu;
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

TEST_CASE("Flash attention saves no scores; grouped-query heads shrink keys and values") {
  Model model = gpt();
  model.blocks.front().block.attention.kv_heads = 4;
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

TEST_CASE("torchtitan's selective recomputation keeps the outputs of attention and of every second product") {
  // Of wq, wk, wv, wo, w1, w3, w2 the first, third, fifth and seventh, with attention's output and statistics
  // and the block's input: bytes a token and layer, h = 1024, 16 heads of 64, 4 of keys and values, ffn 4096.
  Model model = gpt();
  model.positions = Positions::kRope;
  model.norm = Norm::kRmsnorm;
  model.blocks = {{4, Block{{16, 4, 64}, {MlpKind::kSwiglu, 4096}}}};
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

TEST_CASE("a plan that names a kernel of attention runs that one, whatever the stack names") {
  const Model model = gpt();
  for (const char* name : {"megatron", "llm-foundry", "nanotron"}) {
    const auto impl_under = [&](std::string_view text) {
      const Stack of = stack(name);
      const ChunkWork work =
          build_chunk(model, of, shape(model, of, parse_plan(text).value()), Chunk{1, false, false});
      for (const Repeat& repeat : work.forward.repeats)
        for (const Task& task : repeat.tasks)
          if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kAttention)
            return task.op.impl;
      return Impl::kAten;
    };
    CHECK(impl_under("attention=flash2") == Impl::kFlash);
    CHECK(impl_under("attention=flash3") == Impl::kFlash3);
    CHECK(impl_under("attention=cudnn") == Impl::kCudnn);
    CHECK(impl_under("attention=flash") == impl_under(""));
  }
}

TEST_CASE("Chunks put together of units that others wrote are those written alone") {
  Model tied = gpt(8);
  tied.tied = true;
  for (const Model& model : {gpt(8), tied})
    for (const char* name : {"megatron", "hf-trainer", "torchtitan"}) {
      const Stack s = stack(name);
      Plan plan;
      plan.dp = 2;
      plan.zero = 3;
      plan.recompute = Recompute::kFull;
      const PassShape all = units_shape(shape(model, s, plan));
      WrittenUnits units;
      for (const std::int64_t again : {0, 1, 3}) {  // all of them share the units
        plan.recompute_layers = again;
        const PassShape passes = shape(model, s, plan);
        CHECK(units_shape(passes) == all);
        for (const std::int64_t layers : {0, 1, 2, 5})
          for (const bool first : {false, true})
            for (const bool last : {false, true}) {
              const Chunk chunk{layers, first, last};
              const ChunkWork shared = build_chunk(model, s, passes, chunk, units);
              const ChunkWork alone = build_chunk(model, s, passes, chunk);
              CHECK(shared.forward == alone.forward);
              CHECK(shared.backward == alone.backward);
              CHECK(shared.gathered == alone.gathered);
              CHECK(shared.unit_gradients == alone.unit_gradients);
              CHECK(shared.held_for_weight == alone.held_for_weight);
            }
      }
    }
}
