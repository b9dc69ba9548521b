#include "job/choices.h"

#include <doctest/doctest.h>

#include "job/job.h"
#include "spec/plan_text.h"

using namespace foretrain;

namespace {

Plan plan_of(const char* text) {
  auto plan = parse_plan(text);
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().text()));
  if (plan->dp == 0) plan->dp = 1;
  return *plan;
}

Choices choices(const Stack& stack, const char* plan) { return choices_of(Model{}, stack, plan_of(plan)); }

// A stack that decides everything against the built-in defaults.
Stack contrary() {
  Stack stack;
  stack.default_attention = AttentionKind::kUnfused;
  stack.default_dropout = 0.1;
  stack.gradients.dtype = stack.gradients.reduce_dtype = Dtype::kBf16;
  stack.states.master_weights = false;
  stack.tensor_parallel.sp_gather_again = true;
  stack.data_parallel.overlap = true;
  stack.data_parallel.overlap_param_gather = true;
  return stack;
}

}  // namespace

TEST_CASE("what a plan leaves open is its stack's") {
  const Choices c = choices(contrary(), "");
  CHECK(c.attention == AttentionKind::kUnfused);
  CHECK(c.dropout);
  CHECK(c.grad_dtype == Dtype::kBf16);
  CHECK(c.reduce_dtype == Dtype::kBf16);
  CHECK_FALSE(c.master_weights);
  CHECK(c.sp_gather_again);
  CHECK(c.overlap_grad_reduce);
  CHECK(c.overlap_param_gather);
  CHECK_FALSE(c.partition_activations);  // no stack decides it
}

TEST_CASE("what a plan states stands, whatever the stack") {
  const Choices c = choices(contrary(),
                            "attention=flash,grad_dtype=fp32,reduce_dtype=fp16,master_weights=true,"
                            "sp_gather_again=false,overlap_grad_reduce=false,overlap_param_gather=false,"
                            "partition_activations=true");
  CHECK(c.attention == AttentionKind::kFlash);
  CHECK(c.grad_dtype == Dtype::kFp32);
  CHECK(c.reduce_dtype == Dtype::kFp16);
  CHECK(c.master_weights);
  CHECK_FALSE(c.sp_gather_again);
  CHECK_FALSE(c.overlap_grad_reduce);
  CHECK_FALSE(c.overlap_param_gather);
  CHECK(c.partition_activations);
}

TEST_CASE("runs in fp16 keep their gradients in it where the stack says so, and no others do") {
  Stack stack;
  stack.gradients.fp16_stays = true;
  CHECK(choices(stack, "precision=fp16").grad_dtype == Dtype::kFp16);
  CHECK(choices(stack, "precision=fp16").reduce_dtype == Dtype::kFp16);
  CHECK(choices(stack, "precision=fp16,grad_dtype=fp32").grad_dtype == Dtype::kFp32);
  CHECK(choices(stack, "precision=bf16").grad_dtype == Dtype::kFp32);
}

TEST_CASE("weights that are kept in fp32 are their own master copy") {
  Stack stack;
  CHECK(choices(stack, "").keeps_master);
  CHECK_FALSE(choices(stack, "master_weights=false").keeps_master);
  CHECK(choices(stack, "").updates_fp32);
  CHECK_FALSE(choices(stack, "master_weights=false").updates_fp32);
  stack.states.fp32_weights = true;
  CHECK(choices(stack, "").master_weights);
  CHECK_FALSE(choices(stack, "").keeps_master);
  CHECK(choices(stack, "master_weights=false").updates_fp32);
}

TEST_CASE("moments are kept in the stack's format, or as the optimizer's name says") {
  Stack stack;
  CHECK(choices(stack, "").moment_width == 4);
  CHECK(choices(stack, "optimizer=muon").moment_width == 4);
  CHECK(choices(stack, "optimizer=adamw_bf16").moment_width == 2);
  CHECK(choices(stack, "optimizer=adamw_8bit").moment_width == 1);
  stack.states.moments = Dtype::kBf16;
  CHECK(choices(stack, "").moment_width == 2);
}

TEST_CASE("a model's own dropout comes before the stack's, and counts where the stack has operators of it") {
  Model model;
  Stack stack;
  stack.default_dropout = 0.1;
  CHECK(dropout_of(model, stack) == 0);
  CHECK(leaves_dropout_out(model, stack));
  PartOperator drop;
  drop.when = Condition::kDropout;
  stack.parts.loss = {drop};
  CHECK(dropout_of(model, stack) == 0.1);
  CHECK_FALSE(leaves_dropout_out(model, stack));
  model.dropout = 0.0;
  CHECK(dropout_of(model, stack) == 0);
  CHECK_FALSE(choices_of(model, stack, plan_of("")).dropout);
}

TEST_CASE("sp is nothing without tensor parallelism") {
  CHECK(choices(Stack{}, "tp=2,sp=true").sp);
  CHECK_FALSE(choices(Stack{}, "sp=true").sp);
}

TEST_CASE("ZeRO divides among its shards, and nothing among one rank") {
  const auto sharding = [](const char* plan) { return sharding_of(Stack{}, plan_of(plan)); };
  CHECK(sharding("dp=8").shards[WeightClass::kCommon] == 1);
  CHECK(sharding("dp=8,zero=1").shards[WeightClass::kCommon] == 8);
  CHECK(sharding("dp=8,zero=1,shard=2").shards[WeightClass::kCommon] == 2);
  CHECK(sharding("zero=3").shards[WeightClass::kCommon] == 1);
  CHECK_FALSE(sharding("zero=3").units.scatters);
  CHECK(sharding("dp=8,zero=1").reduces_to_shard);
  CHECK_FALSE(sharding("zero=1").reduces_to_shard);
}

TEST_CASE("updated weights are put together by the step under ZeRO 1 and 2, by the unit under ZeRO 3") {
  Stack stack;
  const auto sharding = [&](const char* plan) { return sharding_of(stack, plan_of(plan)); };
  CHECK_FALSE(sharding("dp=4").gathers_by_step);
  CHECK(sharding("dp=4,zero=1").gathers_by_step);
  CHECK(sharding("dp=4,zero=2").gathers_by_step);
  CHECK_FALSE(sharding("dp=4,zero=2").units.gathers_forward);
  CHECK_FALSE(sharding("dp=4,zero=3").gathers_by_step);
  CHECK(sharding("dp=4,zero=3").units.gathers_forward);
  stack.data_parallel.zero2_gather = Zero2Gather::kForward;
  CHECK_FALSE(sharding("dp=4,zero=2").gathers_by_step);
  CHECK(sharding("dp=4,zero=2").units.gathers_forward);
}

TEST_CASE("units are scattered from ZeRO 2 on, and dropped between the passes where the stack does so") {
  Stack stack;
  const auto units = [&](const char* plan) { return sharding_of(stack, plan_of(plan)).units; };
  CHECK(units("dp=4,zero=1") == UnitSharding{});
  const UnitSharding three = units("dp=4,zero=3,shard=2,overlap_grad_reduce=true,reduce_dtype=bf16");
  CHECK(three.scatters);
  CHECK(three.beside);
  CHECK(three.shards[WeightClass::kCommon] == 2);
  CHECK(three.replicated[WeightClass::kCommon]);
  CHECK(three.reduce_dtype == Dtype::kBf16);
  CHECK(three.gathers_backward);
  CHECK_FALSE(three.keeps_gathered);
  stack.data_parallel.reshard_after_forward = false;
  CHECK_FALSE(units("dp=4,zero=3").gathers_backward);
  CHECK(units("dp=4,zero=3").keeps_gathered);
  CHECK_FALSE(units("dp=4,zero=3").replicated[WeightClass::kCommon]);
}

TEST_CASE("selective recomputation repeats something where a part in use says so") {
  Model model;
  Stack stack;
  PartOperator again;
  again.selective = true;
  stack.parts.attention[static_cast<std::size_t>(AttentionKind::kUnfused)] = {again};
  CHECK_FALSE(repeats_selectively(model, stack, plan_of("attention=flash")));
  CHECK(repeats_selectively(model, stack, plan_of("attention=unfused")));
}

TEST_CASE("a job has the batch of its data ranks, whatever tp and pp") {
  const Setting setting{{}, {}, {}, 2048};
  const Plan plan = plan_of("tp=2,pp=4,dp=4,micro_batch=2,layers_per_stage=3-3-3-3");
  const Job job = job_of(setting, plan, 64);
  CHECK(job.micro_batches == 8);
  CHECK(job.seq == 2048);
  CHECK(job.mesh.gpus() == 32);
  CHECK(job.pipeline.stages == 4);
  CHECK(job.layers_per_stage.data() == plan.layers_per_stage.data());
}

TEST_CASE("torch DDP reduces beside the backward, where there is no ZeRO") {
  Stack stack;
  stack.data_parallel.bucket_buffers = true;
  CHECK(choices(stack, "dp=4").overlap_grad_reduce);
  CHECK_FALSE(choices(stack, "dp=4,zero=1").overlap_grad_reduce);
  CHECK_FALSE(choices(stack, "dp=4,overlap_grad_reduce=false").overlap_grad_reduce);
}
