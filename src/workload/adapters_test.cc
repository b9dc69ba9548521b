#include <doctest/doctest.h>

#include "operators/dequantise.h"
#include "operators/product.h"
#include "spec/plan_text.h"
#include "workload/block.h"
#include "workload/parameter_share.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

const Chunk kWhole{32, true, true};
constexpr std::int64_t kTokens = 4096;

Model llama() { return Catalog().model("llama-3-8b").value(); }

PassShape shape_with(const std::string& stack_name, std::string_view plan) {
  return shape_of(llama(), parse_plan(plan).value(), stack(stack_name), kTokens, false);
}

ParameterShare share_of(const std::string& stack_name, std::string_view plan, const Chunk& chunk = kWhole) {
  const PassShape shape = shape_with(stack_name, plan);
  return parameter_share(llama(), stack(stack_name), shape.weight_ranks(), chunk, true, shape.adapters);
}

ChunkWork work_of(const std::string& stack_name, std::string_view plan, const Chunk& chunk = kWhole) {
  return build_chunk(llama(), stack(stack_name), shape_with(stack_name, plan), chunk);
}

template <class Visit>
void for_each_task(const ChunkWork& work, Visit visit) {
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) visit(task, static_cast<double>(repeat.count));
}

double linear_flops(const ChunkWork& work) {
  double sum = 0;
  for_each_task(work, [&](const Task& task, double count) {
    if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kLinear)
      sum += flops(task.op).value * static_cast<double>(task.times) * count;
  });
  return sum;
}

double collective_bytes(const ChunkWork& work, CollectiveKind kind) {
  double sum = 0;
  for_each_task(work, [&](const Task& task, double count) {
    if (task.kind == Task::Kind::kCollective && task.collective.kind == kind)
      sum += task.collective.bytes.value * count;
  });
  return sum;
}

// Matrices of a layer: queries and projection, keys and values, the three of the MLP.
constexpr double kLayerMatrices = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336;
constexpr double kMatrices = 32 * kLayerMatrices;
constexpr double kEnds = 2.0 * 128256 * 4096;
constexpr std::int64_t kAdapters = 41'943'040;

}  // namespace

TEST_CASE("adapters of rank 16 beside every product of Llama-3-8B are 41,943,040 numbers") {
  // r (in + out) for each of seven products of a layer:
  const std::int64_t layer = 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336));
  CHECK(32 * layer == kAdapters);
  for (const char* name : {"hf-eager", "hf-peft", "generic", "torchtune"}) {
    CAPTURE(name);
    const ParameterShare share = share_of(name, "lora=16");
    CHECK(share.elements == kAdapters);
    CHECK(share.tensors == 32 * 7 * 2);
    CHECK(share.embedding_elements == 0);
    CHECK(share.frozen.elements[WeightClass::kCommon] == 8'030'261'248);
    CHECK(static_cast<double>(share.frozen.quantised) == kMatrices);
  }
  CHECK(share_of("hf-eager", "lora=8").elements == kAdapters / 2);
}

TEST_CASE("targets name the products that have an adapter") {
  const auto of = [](std::string_view targets) {
    return share_of("hf-eager", "lora=16,lora_targets=" + std::string(targets)).elements / (32 * 16);
  };
  CHECK(of("q_proj") == 4096 + 4096);
  CHECK(of("v_proj") == 4096 + 1024);
  CHECK(of("q_proj+v_proj") == 4096 + 4096 + 4096 + 1024);
  CHECK(of("attention") == 2 * (4096 + 4096) + 2 * (4096 + 1024));
  CHECK(of("mlp") == 3 * (4096 + 14336));
  CHECK(of("gate_proj") == of("up_proj"));
  CHECK(of("linear_fc2") == of("down_proj"));
  // Megatron has one adapter beside a product of several: A once, B as wide as all of them.
  const auto fused = [](std::string_view targets) {
    return share_of("megatron", "lora=16,lora_targets=" + std::string(targets)).elements / (32 * 16);
  };
  CHECK(fused("linear_qkv") == 4096 + 6144);
  CHECK(fused("linear_fc1") == 4096 + 2 * 14336);
}

TEST_CASE("tensor ranks divide B beside a divided output and A beside a divided input") {
  const std::int64_t columns = 16 * (4096 + 4096 / 2), kv = 16 * (4096 + 1024 / 2);
  const std::int64_t rows = 16 * (4096 / 2 + 4096);
  const std::int64_t up = 16 * (4096 + 14336 / 2), down = 16 * (14336 / 2 + 4096);
  CHECK(share_of("hf-eager", "lora=16,tp=2").elements == 32 * (columns + 2 * kv + rows + 2 * up + down));
}

TEST_CASE("frozen weights have no W: products take two thirds of full training, adapters' all three") {
  const double tokens = kTokens, weights = kMatrices + kEnds / 2;
  CHECK(linear_flops(work_of("hf-eager", "")) == doctest::Approx(6 * weights * tokens));
  CHECK(linear_flops(work_of("hf-eager", "lora=16")) ==
        doctest::Approx(4 * weights * tokens + 6.0 * kAdapters * tokens));
  for_each_task(work_of("hf-eager", "lora=16"), [](const Task& task, double) {
    if (task.kind != Task::Kind::kOperator || task.direction != Direction::kWeight) return;
    const auto sizes = task.op.as<LinearSizes>();
    CHECK((sizes.k == 16 || sizes.n == 16));
  });
}

TEST_CASE("nothing is trained below the first layer: the embedding has no backward") {
  const auto has_embedding = [](const Pass& pass) {
    for (const Repeat& repeat : pass.repeats)
      for (const Task& task : repeat.tasks)
        if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kEmbedding) return true;
    return false;
  };
  CHECK(has_embedding(work_of("hf-eager", "lora=16").forward));
  CHECK_FALSE(has_embedding(work_of("hf-eager", "lora=16").backward));
  CHECK(has_embedding(work_of("hf-eager", "").backward));
}

TEST_CASE("a frozen product keeps its input for an adapter alone") {
  const auto saved = [](const std::string& name, std::string_view plan) {
    return saved_bytes(work_of(name, plan, {1, false, false}).forward).value;
  };
  const double x = 2.0 * kTokens * 4096, ranks = 2.0 * kTokens * 16;
  // Queries, keys and values read one tensor: one adapter keeps it, and what A makes; three keep it once.
  const double q = saved("hf-eager", "lora=16,lora_targets=q_proj");
  const double qkv = saved("hf-eager", "lora=16,lora_targets=q_proj+k_proj+v_proj");
  CHECK(qkv - q == doctest::Approx(2 * ranks));
  // The projection's input is kept by the attention anyway; that of the MLP is another tensor.
  const double qo = saved("hf-eager", "lora=16,lora_targets=q_proj+o_proj");
  CHECK(qo - q == doctest::Approx(ranks));
  const double q_up = saved("hf-eager", "lora=16,lora_targets=q_proj+up_proj");
  CHECK(q_up - q == doctest::Approx(x + ranks));
  // PEFT's adapters in fp32 under autocast keep a copy each; so does dropout, with a mask of a byte.
  const double cast = saved("hf-trainer", "lora=16,lora_targets=q_proj+k_proj+v_proj");
  CHECK(cast - qkv == doctest::Approx(2 * x));
  const double dropped = saved("hf-eager", "lora=16,lora_targets=q_proj,lora_dropout=1");
  CHECK(dropped - q == doctest::Approx(x / 2));
  // Without autocast what they read, and what A makes, is kept in fp32.
  const double wide = saved("hf-eager", "lora=16,lora_targets=q_proj,lora_dtype=fp32");
  CHECK(wide - q == doctest::Approx(x + ranks));
  CHECK(saved("hf-peft", "lora=16,lora_targets=q_proj") == wide);
}

TEST_CASE("ZeRO 3 gathers frozen weights for both passes and scatters adapters' gradients alone") {
  const ChunkWork work = work_of("hf-eager", "lora=16,zero=3,dp=8");
  const double layers = 2 * (8'030'261'248.0 - kEnds - 4096) + 2.0 * kAdapters, ends = 2 * (kEnds + 4096);
  CHECK(collective_bytes(work, CollectiveKind::kAllGather) == doctest::Approx(2 * layers + ends));
  CHECK(collective_bytes(work, CollectiveKind::kReduceScatter) == doctest::Approx(2.0 * kAdapters));
  // Of four bits they travel as they lie.
  const ChunkWork four = work_of("hf-eager", "lora=16,zero=3,dp=8,base=nf4,double_quant=0");
  const double less = kMatrices * (2 - 0.5 - 4.0 / 64);
  CHECK(collective_bytes(four, CollectiveKind::kAllGather) == doctest::Approx(2 * (layers - less) + ends));
}

TEST_CASE("weights of four bits are written out before every product, forward, backward and once more") {
  const auto count = [](std::string_view plan) {
    double sum = 0;
    for_each_task(work_of("hf-eager", plan, {1, false, false}), [&](const Task& task, double) {
      if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kDequantise)
        sum += static_cast<double>(task.times) * made_bytes(task.op).value;
    });
    return sum;
  };
  CHECK(count("lora=16") == 0);
  CHECK(count("lora=16,base=nf4") == doctest::Approx(2 * 2 * kLayerMatrices));
  // Gradient checkpointing stops when B's input of the last adapter is there: its product has run by then.
  CHECK(count("lora=16,base=nf4,recompute=full") == doctest::Approx(3 * 2 * kLayerMatrices));
}

TEST_CASE("the matrix that a product takes is there whole while it runs") {
  const auto items = block_items(llama(), stack("hf-eager"), shape_with("hf-eager", "lora=16,base=nf4"),
                                 llama().blocks.front().block);
  bool found = false;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i - 1].op.kind != OperatorKind::kDequantise) continue;
    found = true;
    const double matrix = made_bytes(items[i - 1].op).value;
    CHECK((*items[i].extra)[0].value == working_bytes(items[i].op).value + matrix);
  }
  CHECK(found);
}
