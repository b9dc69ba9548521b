#include <doctest/doctest.h>

#include "formats/foreign_run.h"

namespace foretrain {
namespace {

ForeignRun read(const std::string& text, const std::string& file) {
  auto run = read_foreign_run(text, file);
  REQUIRE(run);
  REQUIRE(*run);
  return **std::move(run);
}

std::string plan(const ForeignRun& run, std::string_view key) {
  const Node* node = run.run.find("plan")->find(key);
  return node == nullptr ? "" : node->scalar;
}
std::string stated(const ForeignRun& run, std::string_view key) {
  const Node* node = run.run.find(key);
  return node == nullptr ? "" : node->scalar;
}

TEST_CASE("axolotl's mesh says how many GPUs: replicas x shards x context x tensor ranks") {
  const ForeignRun run = read(
      "base_model: org/model\nmicro_batch_size: 1\ngradient_accumulation_steps: 3\nsequence_len: 512\n"
      "dp_shard_size: 4\ndp_replicate_size: 2\ncontext_parallel_size: 2\ntensor_parallel_size: 2\n"
      "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\nmade_up: 1\n",
      "a.yaml");
  CHECK(stated(run, "gpus") == "32");
  CHECK(stated(run, "global_batch") == "24");
  CHECK(plan(run, "zero") == "3");
  CHECK(plan(run, "shard") == "8");  // context ranks divide too
  CHECK(run.unknown_flags == std::vector<std::string>{"made_up"});
}

TEST_CASE("LLaMA-Factory has the Trainer's keys, and both list what they do not know") {
  const std::string common =
      "model_name_or_path: org/model\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\n"
      "gradient_checkpointing: true\nbf16: true\nmade_up: 1\n";
  const ForeignRun factory = read(common + "stage: sft\nfinetuning_type: lora\nlora_rank: 16\n", "f.yaml");
  CHECK(factory.format == "LLaMA-Factory's configuration");
  CHECK(plan(factory, "lora") == "16");
  const ForeignRun trainer = read(common + "use_peft: true\nlora_r: 16\nmax_length: 2048\n", "t.yaml");
  CHECK(trainer.format == "transformers' Trainer");
  CHECK(plan(trainer, "lora") == "16");
  CHECK(stated(trainer, "seq") == "2048");
  for (const ForeignRun& run : {factory, trainer}) {
    CHECK(plan(run, "micro_batch") == "2");
    CHECK(plan(run, "recompute") == "full");
    CHECK(plan(run, "precision") == "bf16");
    CHECK(stated(run, "stack") == "hf-peft");
    CHECK(run.unknown_flags == std::vector<std::string>{"made_up"});
  }
}

TEST_CASE("accelerate's launcher says ranks and sharding before the program") {
  const ForeignRun run = read(
      "accelerate launch --num_processes 16 --num_machines 2 --config_file conf/zero3.yaml sft.py "
      "--model_name_or_path org/model --per_device_train_batch_size 1 --gradient_accumulation_steps 2\n",
      "run.sh");
  CHECK(stated(run, "gpus") == "16");
  CHECK(stated(run, "global_batch") == "32");
  CHECK(plan(run, "zero") == "3");
  CHECK(run.unknown_flags.empty());
}

TEST_CASE("auto of both precisions of DeepSpeed is a choice, not a contradiction") {
  const ForeignRun run =
      read(R"({"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})",
           "d.json");
  CHECK(run.contradictions.empty());
  CHECK(plan(run, "zero") == "2");
  CHECK(plan(run, "precision").empty());
}

TEST_CASE("MaxText's batch is a device's; its command line is read as its file") {
  const ForeignRun run = read(
      "#!/bin/bash\npython3 -m MaxText.train MaxText/configs/base.yml model_name=llama2-7b "
      "per_device_batch_size=0.5 ici_tensor_parallelism=8 max_target_length=4096 remat_policy=full\n",
      "run.sh");
  CHECK(run.format == "MaxText's configuration");
  CHECK(plan(run, "tp") == "8");
  CHECK(plan(run, "micro_batch") == "4");
  CHECK(stated(run, "seq") == "4096");
}

TEST_CASE("NeMo states fp8's kind whether or not there is any, and biases of queries apart") {
  const ForeignRun run = read(
      "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel: {tensor_model_parallel_size: 2, "
      "micro_batch_size: 1, global_batch_size: 8, num_layers: 2, hidden_size: 64, num_attention_heads: 4, "
      "encoder_seq_length: 128, bias: false, qkv_bias: true, override_vocab_size: 1000, fp8: false, "
      "fp8_hybrid: true, made_up: 1}\n",
      "n.yaml");
  CHECK(run.contradictions.empty());
  CHECK(run.run.find("model")->find("qkv_bias")->scalar == "true");
  CHECK(run.run.find("model")->find("vocab")->scalar == "1000");
  CHECK(plan(run, "precision") == "bf16");
  CHECK(run.unknown_flags == std::vector<std::string>{"made-up"});
}

TEST_CASE("nanotron's experts are as wide as its feed-forward, the shared one too") {
  const ForeignRun run = read(
      "parallelism: {dp: 2, tp: 1, pp: 1}\ntokens: {micro_batch_size: 1, sequence_length: 64, "
      "batch_accumulation_per_replica: 1}\nmodel: {model_config: {hidden_size: 64, num_hidden_layers: 2, "
      "num_attention_heads: 4, intermediate_size: 96, vocab_size: 100, moe_config: {num_experts: 4, "
      "enable_shared_expert: true}}}\n",
      "n.yaml");
  const Node* model = run.run.find("model");
  CHECK(model->find("expert_ffn")->scalar == "96");
  CHECK(model->find("shared_ffn")->scalar == "96");
  CHECK(model->find("top_k")->scalar == "2");
}

}  // namespace
}  // namespace foretrain
