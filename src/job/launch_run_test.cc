#include "job/launch_run.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "formats/write_launch.h"
#include "job/parse_run.h"

namespace foretrain {
namespace {

Run run_of(const std::string& plan, const std::string& model = "gpt3-175b") {
  RunOptions options;
  options.model = model;
  options.cluster = "selene";
  options.stack = "megatron";
  options.gpus = 512;
  options.global_batch = 512;
  options.plan = plan;
  Run specs = parse_specs(nullptr, options, Catalog()).value();
  specs.stack.rules.clear();  // flags of what another stack found, too
  return parse_run(nullptr, options, std::move(specs)).value();
}

std::string flags(const std::string& plan, const std::string& model = "gpt3-175b") {
  return join(megatron_plan_flags(launch_run_of(run_of(plan, model))).flags, " ");
}
std::vector<std::string> unstated(const std::string& plan) {
  std::vector<std::string> out;
  for (const Unstated& one : megatron_plan_flags(launch_run_of(run_of(plan))).unstated)
    out.push_back(one.key + "=" + one.value);
  return out;
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("what a plan leaves to its stack is stated, where it means something") {
  const LaunchRun plain = launch_run_of(run_of("tp=8,pp=8"));
  CHECK(plain.plan.attention == AttentionKind::kFlash);
  CHECK(plain.plan.grad_dtype == Dtype::kFp32);
  CHECK(plain.plan.overlap_grad_reduce == false);
  CHECK_FALSE(plain.plan.dispatcher);  // no experts
  CHECK_FALSE(plain.plan.cp_type);     // no context ranks
  CHECK(plain.model.dropout == 0.1);   // Megatron's own
  CHECK(plain.own == plain.plan);
  const LaunchRun asked = launch_run_of(run_of("tp=8,pp=8,overlap_grad_reduce=1"));
  CHECK(asked.plan.overlap_grad_reduce == true);
  CHECK(asked.own.overlap_grad_reduce == false);
}

TEST_CASE("layers are counted by chunk, however a plan states them") {
  CHECK(launch_run_of(run_of("tp=8,pp=4,vpp=2,layers_per_stage=25-24-24-23")).layers ==
        std::vector<std::int64_t>{13, 12, 12, 12, 12, 12, 12, 11});
  CHECK(launch_run_of(run_of("tp=8,pp=8")).layers == std::vector<std::int64_t>(8, 12));
}

TEST_CASE("Megatron-LM's flags say what the plan says") {
  CHECK(flags("tp=8,sp=1,pp=8,vpp=3,micro_batch=2,recompute=selective,zero=1,overlap_grad_reduce=1,"
              "overlap_param_gather=1") ==
        R"(--tensor-model-parallel-size 8 --pipeline-model-parallel-size 8 --context-parallel-size 1 )"
        R"(--sequence-parallel --num-layers-per-virtual-pipeline-stage 4 --use-distributed-optimizer )"
        R"(--micro-batch-size 2 --bf16 --recompute-granularity selective --use-flash-attn )"
        R"(--overlap-grad-reduce --overlap-param-gather --seq-length 2048 --global-batch-size 512)");
  CHECK(contains(flags("tp=8,pp=4,layers_per_stage=23-25-25-23,recompute=full"),
                 R"(--decoder-first-pipeline-num-layers 23 --decoder-last-pipeline-num-layers 23)"));
  CHECK(contains(flags("tp=8,pp=4,layers_per_stage=25-24-25-22"),
                 R"(--pipeline-model-parallel-layout Et*25|t*24|t*25|t*22L)"));
  CHECK(contains(flags("tp=8,pp=8,recompute=full,recompute_layers=5"),
                 R"(--recompute-granularity full --recompute-method block --recompute-num-layers 5)"));
  CHECK(contains(flags("tp=8,zero=1,shard=8"), R"(--num-distributed-optimizer-instances 8)"));
  CHECK(contains(flags("zero=3"),
                 R"(--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params)"));
  CHECK(contains(flags("tp=8,sp=1,ep=8,etp=1,dispatcher=deepep", "mixtral-8x7b"),
                 R"(--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep)"));
}

TEST_CASE("what Megatron-LM has no flag for is listed") {
  CHECK(unstated("tp=8,pp=8").empty());
  CHECK(unstated("tp=8,pp=8,schedule=zbv") == std::vector<std::string>{"plan.schedule=zbv"});
  CHECK(unstated("tp=8,pp=8,mlp_chunks=4,offload=1") ==
        std::vector<std::string>{"plan.mlp_chunks=4", "plan.offload=true"});
}

}  // namespace
}  // namespace foretrain
