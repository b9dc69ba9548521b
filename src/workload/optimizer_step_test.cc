#include "workload/optimizer_step.h"

#include <doctest/doctest.h>

#include "operators/optimizer.h"
#include "operators/pointwise.h"
#include "spec/plan_text.h"
#include "workload/parameter_share.h"
#include "workload/testing.h"

using namespace foretrain;

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
  Job job;
  job.choices = choices_of(gpt(), megatron, plan);
  const UpdateFormat format = update_format(job, megatron);
  const Pass pass = build_optimizer(megatron, format, 1024, 1024, 10);
  for (const Task& task : pass.repeats.front().tasks)
    if (task.op.kind == OperatorKind::kAdamw) CHECK(bytes(task.op).value == 1024 * (4 + 4 + 8) + 4 * 16);
}

TEST_CASE("Muon multiplies each matrix three times in each of five iterations") {
  // Of n rows and l columns, n the fewer: 2 n l n + 2 n^3 + 2 n n l FLOPs each.
  MatrixKinds matrices;
  matrices.add(64, 256, 2);
  matrices.add(256, 64, 1);  // lies the other way
  matrices.add(128, 128, 4);
  CHECK(matrices.size == 2);
  const Pass pass = build_optimizer(stack("megatron"), {}, 1000, 1000, 10, {}, matrices);
  double flops_of_products = 0;
  for (const Task& task : pass.repeats.front().tasks)
    if (task.op.kind == OperatorKind::kLinear)
      flops_of_products += flops(task.op).value * static_cast<double>(task.times);
  const auto iteration = [](double n, double l) { return 4 * n * n * l + 2 * n * n * n; };
  CHECK(flops_of_products == doctest::Approx(5 * (3 * iteration(64, 256) + 4 * iteration(128, 128))));
  // Dealt whole to four ranks, each has one of three and one of four.
  CHECK(matrices.share(0.25).kinds[0].count == 1);
  CHECK(matrices.share(0.25).kinds[1].count == 1);
}

TEST_CASE("A chunk's matrices are those of its blocks, as tensor ranks divide them") {
  // Of a GPT block: qkv, projection and two of the MLP.
  const Model model = gpt();
  const MatrixKinds matrices = matrices_of(model, stack("megatron"), {.tp = 2}, Chunk(3, true, true));
  std::int64_t elements = 0, count = 0;
  for (std::size_t i = 0; i < matrices.size; ++i) {
    elements += matrices.kinds[i].shorter * matrices.kinds[i].longer * matrices.kinds[i].count;
    count += matrices.kinds[i].count;
  }
  CHECK(count == 3 * 4);
  CHECK(elements ==
        parameter_share(model, stack("megatron"), {.tp = 2}, Chunk(3, true, true), true).matrix_elements);
}

TEST_CASE("A rank without weights updates nothing") {
  CHECK(build_optimizer(stack("generic"), {}, 0, 0, 0).repeats.front().tasks.empty());
}

TEST_CASE("ZeRO 1 updates its shard and zeroes every gradient") {
  const Pass pass = build_optimizer(stack("megatron"), {}, 1000, 125, 10);
  for (const Task& task : pass.repeats.front().tasks)
    CHECK(task.op.as<StateSizes>().parameters == (task.op.kind == OperatorKind::kZeroGrads ? 1000 : 125));
}

// Elements that casts of weights go through, whole or of the rank's own.
TEST_CASE("Weights in fewer bits are cast anew after the update") {
  const Stack megatron = stack("megatron");
  const auto casts = [&](const char* text) {
    Plan plan = parse_plan(text).value();
    plan.dp = 8;
    Job job;
    job.choices = choices_of(gpt(), megatron, plan);
    const Pass pass =
        build_optimizer(megatron, update_format(job, megatron), 8 << 20, 1 << 20, 10, {8 << 20, 1 << 20});
    std::vector<std::pair<OperatorKind, double>> found;
    for (const Task& task : pass.repeats.front().tasks)
      if (!is_optimizer(task.op.kind)) found.emplace_back(task.op.kind, bytes(task.op).value);
    return found;
  };
  using Found = std::vector<std::pair<OperatorKind, double>>;
  using enum OperatorKind;
  const double all = 8 << 20, own = 1 << 20;
  CHECK(casts("precision=bf16,zero=1") == Found{});
  CHECK(casts("precision=fp8-current,zero=1") == Found{{kAmax, 2 * all}, {kQuantise, 4 * all}});
  CHECK(casts("precision=fp8-delayed,zero=1") == Found{{kQuantise, 4 * all}});
  // By who owns them, gathered in eight bits, then transposed.
  CHECK(casts("precision=fp8-current,zero=1,fp8_params=1") ==
        Found{{kAmax, 2 * own}, {kQuantise, 3 * own}, {kTranspose, 2 * all}});
  // Gathered in bf16, then cast both ways.
  CHECK(casts("precision=mxfp8,zero=1,fp8_params=1") == Found{{kQuantise, (2 + 2 * 1.03125) * all}});
}

TEST_CASE("nanotron copies each tensor's share of each rank to its place after the gather") {
  const Stack nanotron = stack("nanotron");
  const auto copies = [&](const char* text) {
    Plan plan = parse_plan(text).value();
    plan.dp = 8;
    Job job;
    job.choices = choices_of(gpt(), nanotron, plan);
    const Pass update = build_optimizer(nanotron, update_format(job, nanotron), 80'000, 10'000, 10);
    std::vector<Task> found;
    for (const Task& task : update.repeats.front().tasks)
      if (task.op.kind == OperatorKind::kCopy) found.push_back(task);
    return found;
  };
  CHECK(copies("zero=0").empty());
  const auto sharded = copies("zero=1");
  REQUIRE(sharded.size() == 1);
  CHECK(sharded[0].times == 10 * 8);
  CHECK(sharded[0].op.as<TokenSizes>().width == 80'000 / (10 * 8));
  CHECK(sharded[0].calls == 10 * 8 * nanotron.host.calls_per_shard);
}
