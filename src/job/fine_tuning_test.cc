#include "job/fine_tuning.h"

#include <doctest/doctest.h>

#include "job/parse_run.h"
#include "spec/plan_text.h"

using namespace foretrain;

namespace {

Result<Run> run_with(const std::string& task, const std::string& plan, const std::string& stack = "hf-peft",
                     const std::string& model = "llama-3-8b", std::int64_t gpus = 8) {
  RunOptions options;
  options.model = model;
  options.cluster = "dgx-h100";
  options.gpus = gpus;
  options.stack = stack;
  options.plan = plan;
  options.task = task;
  return parse_run(nullptr, options, Catalog());
}

std::string refusal_of(const std::string& task, const std::string& plan, const std::string& stack = "hf-peft",
                       const std::string& model = "llama-3-8b") {
  const auto run = run_with(task, plan, stack, model);
  return run ? "" : run.error().message;
}

bool assumes(const Run& run, std::string_view line) {
  for (const std::string& one : run.assumed)
    if (one.find(line) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a task fills in what its plan leaves open, and says so") {
  const Run lora = run_with("lora", "").value();
  CHECK(lora.plan.lora == 16);
  CHECK(assumes(lora, "lora=16: task lora states no rank"));
  CHECK(task_of(lora) == TrainingTask::kLora);
  const Run qlora = run_with("qlora", "lora=64").value();
  CHECK(qlora.plan.lora == 64);
  CHECK(qlora.plan.base == BaseFormat::kNf4);
  CHECK_FALSE(assumes(qlora, "states no rank"));
  CHECK(run_with("sft", "zero=3").value().plan.lora == 0);
}

TEST_CASE("without a task the plan says what is trained") {
  CHECK(task_of(parse_plan("").value()) == TrainingTask::kPretrain);
  CHECK(task_of(parse_plan("lora=8").value()) == TrainingTask::kLora);
  CHECK(task_of(parse_plan("lora=8,base=int8").value()) == TrainingTask::kLora);
  CHECK(task_of(parse_plan("lora=8,base=nf4").value()) == TrainingTask::kQlora);
}

TEST_CASE("fine-tuning without a batch has a micro-batch of each data rank a step; pretraining needs one") {
  const Run run = run_with("lora", "tp=2,micro_batch=3").value();
  CHECK(run.global_batch == 12);
  CHECK(assumes(run, "global_batch: 12"));
  CHECK(refusal_of("", "").find("no global_batch") == 0);
  CHECK(refusal_of("pretrain", "").find("no global_batch") == 0);
  CHECK(run_with("sft", "zero=3").value().global_batch == 8);
}

TEST_CASE("a plan that contradicts its task is refused in a line") {
  CHECK(refusal_of("sft", "lora=8").find("task sft trains all weights, but the plan has lora=8") !=
        std::string::npos);
  CHECK(refusal_of("qlora", "base=int8").find("task qlora has base nf4, but the plan has base=int8") !=
        std::string::npos);
  CHECK(refusal_of("lora", "lora=8,base=nf4").find("which is qlora") != std::string::npos);
  CHECK(refusal_of("finetune", "").find("unknown word 'finetune'") != std::string::npos);
}

TEST_CASE("what goes with adapters alone needs them, and a stack and a model that have them") {
  CHECK(refusal_of("sft", "lora_targets=q_proj").find("lora_targets needs lora") != std::string::npos);
  CHECK(refusal_of("sft", "base=nf4").find("base needs lora") != std::string::npos);
  CHECK(refusal_of("lora", "double_quant=1").find("double_quant needs base=nf4") != std::string::npos);
  CHECK(refusal_of("lora", "lora_dtype=fp8").find("lora_dtype fp8 is neither fp32 nor") != std::string::npos);
  CHECK(refusal_of("lora", "lora_targets=q_prj").find("did you mean 'q_proj'?") != std::string::npos);
  CHECK(refusal_of("lora", "", "nanotron").find("has no part adapter") != std::string::npos);
  CHECK(refusal_of("qlora", "", "megatron").find("has no part dequantise") != std::string::npos);
  CHECK(refusal_of("lora", "lora_targets=q_proj", "megatron").find("one adapter beside linear_qkv") !=
        std::string::npos);
  CHECK(refusal_of("lora", "lora_targets=gate_proj", "hf-peft", "gpt2").find("has none of these products") !=
        std::string::npos);
  CHECK(refusal_of("lora", "base=int8,zero=3").find("base int8 does not go with zero 3") !=
        std::string::npos);
  CHECK(refusal_of("qlora", "zero=3").empty());
}

TEST_CASE("states lie in one place, and a CPU's Adam is AdamW") {
  CHECK(refusal_of("sft", "paged=1,offload_optimizer=1").find("paged does not go with") != std::string::npos);
  CHECK(refusal_of("sft", "optimizer=adamw_8bit,offload_optimizer=1").find("needs optimizer adamw") !=
        std::string::npos);
  CHECK(assumes(run_with("sft", "offload_optimizer=1").value(), "the CPUs' memory: 200 GB/s a node"));
  const Plan paged = parse_plan("optimizer=paged_adamw_8bit").value();
  CHECK(paged.paged);
  CHECK(paged.optimizer == OptimizerKind::kAdamw8bit);
}

TEST_CASE("experts have no adapters, which is said") {
  CHECK(assumes(run_with("lora", "", "hf-peft", "mixtral-8x7b").value(), "experts are frozen"));
}

TEST_CASE("a model with queries, keys and values in one matrix takes one adapter beside it") {
  // PEFT finds no module q_proj in GPT-2 or GPT-NeoX: c_attn and query_key_value are one product.
  for (const char* model : {"gpt2", "gpt-neox-20b"}) {
    CHECK(refusal_of("lora", "lora_targets=q_proj+v_proj", "hf-peft", model)
              .find(std::string("model '") + model + "' has one adapter beside linear_qkv") !=
          std::string::npos);
    CHECK(refusal_of("lora", "lora_targets=linear_qkv", "hf-peft", model).empty());
    CHECK(refusal_of("lora", "lora_targets=o_proj", "hf-peft", model).empty());
  }
  CHECK(refusal_of("lora", "lora_targets=q_proj+v_proj").empty());
}

TEST_CASE("a task that trains adapters is not one without them") {
  CHECK(refusal_of("lora", "lora=0").find("task lora trains adapters, but the plan has lora=0") !=
        std::string::npos);
  CHECK(refusal_of("qlora", "lora=0").find("lora=0") != std::string::npos);
  CHECK(run_with("sft", "lora=0").value().plan.lora == 0);
  CHECK(run_with("lora", "").value().plan.lora == 16);
}
