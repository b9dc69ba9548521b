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

TEST_CASE("accelerate's configuration that is not at hand shards as its name says") {
  const std::string tail = " sft.py --model_name_or_path org/model --per_device_train_batch_size 1\n";
  CHECK(plan(read("accelerate launch --config_file conf/fsdp2.yaml" + tail, "a.sh"), "zero") == "3");
  CHECK(plan(read("accelerate launch --config_file conf/multi_gpu.yaml" + tail, "a.sh"), "zero") == "0");
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

std::string model(const ForeignRun& run, std::string_view key) {
  const Node* node = run.run.find("model")->find(key);
  return node == nullptr ? "" : node->scalar;
}

TEST_CASE("GPT-NeoX takes keys with hyphens as with underscores, in one file too") {
  const std::string keys =
      "\"model-parallel-size\": 2, \"num-layers\": 4, \"hidden-size\": 64, \"num-attention-heads\": 4,\n"
      "\"seq-length\": 128, \"pos-emb\": \"none\", \"no_weight_tying\": True, \"num_experts\": 8,\n"
      "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": True,},\n}\n";
  // With a comment in front it is YAML, without one nearly JSON.
  for (const char* front : {"# a comment\n", ""}) {
    const ForeignRun run = read(front + ("{\n\"pipe-parallel-size\": 2,\n" + keys), "n.yml");
    CHECK(run.format == "GPT-NeoX's configuration");
    CHECK(plan(run, "pp") == "2");
    CHECK(plan(run, "tp") == "2");
    CHECK(plan(run, "zero") == "1");
    CHECK(stated(run, "seq") == "128");
    CHECK(model(run, "layers") == "4");
    CHECK(model(run, "tied") == "false");
    CHECK(model(run, "positions") == "none");
    CHECK(model(run, "expert_every") == "2");
    CHECK(run.unknown_flags.empty());
  }
}

TEST_CASE("the arguments in a log of GPT-NeoX are its own, with where each comes from behind it") {
  const ForeignRun run = read(
      "-------------------- arguments --------------------\n"
      "  attention_config ................ ['flash', 'flash']..........updated\n"
      "  fp16 ............................ {'enabled': True, 'loss_scale': 0}updated\n"
      "  global_num_gpus ................. 16..........................updated\n"
      "  hidden_size ..................... 64..........................updated\n"
      "  made_up ......................... 7...........................updated\n"
      "  made_up_too ..................... 7...........................default\n"
      "  model_parallel_size ............. 2...........................updated\n"
      "  num_attention_heads ............. 4...........................updated\n"
      "  num_layers ...................... 4...........................updated\n"
      "  padded_vocab_size ............... 1024........................updated\n"
      "  pipe_parallel_size .............. 4...........................updated\n"
      "  precision ....................... fp16........................updated\n"
      "  seq_length ...................... 128.........................updated\n"
      "  train_batch_size ................ 8...........................updated\n"
      "  vocab_file ...................... None........................default\n"
      "---------------- end of arguments ----------------\n",
      "log");
  CHECK(run.format == "GPT-NeoX's configuration");
  CHECK(plan(run, "tp") == "2");
  CHECK(plan(run, "pp") == "4");
  CHECK(plan(run, "precision") == "fp16");
  CHECK(plan(run, "attention") == "flash");
  CHECK(stated(run, "gpus") == "16");
  CHECK(stated(run, "global_batch") == "8");
  CHECK(model(run, "vocab") == "1024");
  CHECK(run.unknown_flags == std::vector<std::string>{"made_up"});
}

const std::string kNemo =
    "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel: {tensor_model_parallel_size: 2, "
    "micro_batch_size: 1, global_batch_size: 8, num_layers: 2, hidden_size: 64, num_attention_heads: 4, "
    "encoder_seq_length: 128, normalization: layernorm1p, ";

TEST_CASE("NeMo's switch of fp8 says no more than the flag that says which") {
  const ForeignRun run =
      read(kNemo +
               "fp8: true, fp8_e4m3: false, fp8_hybrid: true, fp8_params: true, activation: fast-swiglu, "
               "ffn_hidden_size: '${multiply:3, ${.hidden_size}}'}\n",
           "n.yaml");
  CHECK(run.contradictions.empty());
  CHECK(run.unknown_flags.empty());
  CHECK(plan(run, "precision") == "fp8-delayed");
  CHECK(plan(run, "fp8_params") == "true");
  CHECK(model(run, "norm") == "layernorm");
  CHECK(model(run, "ffn") == "192");
  CHECK(run.assumed.size() == 1);  // the vocabulary alone
}

TEST_CASE("NeMo's FSDP divides weights by its strategy, and nothing where it is off") {
  const std::string adam = "optim: {name: fused_adam}}\n";
  CHECK(plan(read(kNemo + "fsdp: true, " + adam, "n.yaml"), "zero") == "3");
  CHECK(plan(read(kNemo + "fsdp: true, fsdp_sharding_strategy: grad, " + adam, "n.yaml"), "zero") == "2");
  CHECK(plan(read(kNemo + "fsdp: false, fsdp_sharding_strategy: full, " + adam, "n.yaml"), "zero") == "0");
}

TEST_CASE("Megatron-Bridge's tokenizer, precision and FSDP stand in parts of their own") {
  const ForeignRun run = read(
      "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 128}\n"
      "train: {micro_batch_size: 1, global_batch_size: 8}\ntokenizer: {vocab_size: 1000}\n"
      "dist: {use_megatron_fsdp: true, distributed_timeout_minutes: 60}\n"
      "ddp: {data_parallel_sharding_strategy: optim_grads_params}\n"
      "mixed_precision: bf16_with_fp8_current_scaling_mixed\n",
      "b.yaml");
  CHECK(plan(run, "zero") == "3");
  CHECK(plan(run, "precision") == "fp8-current");
  CHECK(model(run, "vocab") == "1000");
  CHECK(run.unknown_flags.empty());
}

TEST_CASE("MaxText's -1 is all the devices that are left, not one") {
  const std::string text = "per_device_batch_size: 1\nici_fsdp_parallelism: ";
  CHECK(plan(read(text + "-1\ndcn_fsdp_parallelism: -1\n", "m.yml"), "zero") == "3");
  CHECK(plan(read(text + "1\ndcn_fsdp_parallelism: 1\n", "m.yml"), "zero") == "0");
}

TEST_CASE("a script without a first line of its own may begin with an echo") {
  const ForeignRun run = read(
      "echo \"two nodes\"\nset -e\nexport RUN=x\npython3 -m MaxText.train MaxText/configs/base.yml "
      "run_name=$RUN model_name=llama2-7b per_device_batch_size=2 max_target_length=4096\n",
      "run.sh");
  CHECK(run.format == "MaxText's configuration");
  CHECK(plan(run, "micro_batch") == "2");
}

TEST_CASE("LLM Foundry's MPT has learned positions and biases unless it is told otherwise") {
  const std::string text =
      "max_seq_len: 64\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: 1\nmodel:\n  name: "
      "mpt_causal_lm\n  d_model: 32\n  n_heads: 2\n  n_layers: 2\n  expansion_ratio: 3\n  vocab_size: 100\n"
      "  max_seq_len: ${max_seq_len}\n";
  const ForeignRun plain = read(text, "f.yaml");
  CHECK(model(plain, "positions") == "learned");
  CHECK(model(plain, "max_positions") == "64");
  CHECK(model(plain, "biases") == "true");
  CHECK(model(plain, "ffn") == "96");
  const ForeignRun told =
      read(text + "  no_bias: true\n  attn_config: {alibi: true, kv_n_heads: 1}\n", "f.yaml");
  CHECK(model(told, "positions") == "alibi");
  CHECK(model(told, "biases") == "false");
  CHECK(model(told, "norm_bias") == "false");
  CHECK(model(told, "kv_heads") == "1");
  const ForeignRun experts =
      read(text + "  ffn_config: {ffn_type: mb_dmoe, moe_num_experts: 4, moe_top_k: 2}\n", "f.yaml");
  CHECK(model(experts, "experts") == "4");
  CHECK(model(experts, "top_k") == "2");
  CHECK(experts.unknown_flags.empty());
}

TEST_CASE("adapters are no full training, whoever says them in whatever words") {
  const ForeignRun foundry = read(
      "max_seq_len: 64\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: 1\nmodel:\n  "
      "pretrained_model_name_or_path: org/model\n  peft_config: {r: 32, peft_type: LORA, lora_dropout: 0.1, "
      "target_modules: [Wqkv, down_proj]}\n",
      "f.yaml");
  CHECK(plan(foundry, "lora") == "32");
  CHECK(plan(foundry, "lora_targets") == "linear_qkv+down_proj");
  CHECK(plan(foundry, "lora_dropout") == "true");
  CHECK(stated(foundry, "stack") == "hf-peft");
  const ForeignRun axolotl = read(
      "base_model: org/model\nmicro_batch_size: 1\nadapter: lora\nlora_r: 16\n"
      "lora_target_modules:\n  - q_proj\n  - router\n",
      "a.yaml");
  CHECK(plan(axolotl, "lora_targets") == "q_proj");
  CHECK(axolotl.assumed.back() == "an adapter beside router is not known: left out");
  const ForeignRun mindspeed = read(
      "torchrun --nproc_per_node 8 posttrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
      "--bf16 --stage sft --lora-r 8 --lora-alpha 16 --lora-target-modules linear_qkv linear_proj\n",
      "m.sh");
  CHECK(plan(mindspeed, "lora") == "8");
  CHECK(plan(mindspeed, "lora_targets") == "linear_qkv+linear_proj");
  CHECK(stated(mindspeed, "stack") == "megatron-bridge");
  CHECK(mindspeed.unknown_flags.empty());
}

TEST_CASE("axolotl's older and newer words") {
  const ForeignRun run = read(
      "base_model: org/model\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nsequence_len: 64_000\n"
      "expert_parallel_size: 2\ndp_shard_size: 4\nsequence_parallel_degree: 2\nattention: flash\n"
      "fsdp_config: {fsdp_activation_checkpointing: true}\nfsdp: [full_shard, auto_wrap]\n"
      "gradient_checkpointing: false\nactivation_offloading: legacy\n",
      "a.yaml");
  CHECK(stated(run, "gpus") == "16");  // 4 shards x 2 expert ranks x 2 context ranks
  CHECK(plan(run, "ep") == "2");
  CHECK(plan(run, "cp") == "2");
  CHECK(plan(run, "recompute") == "full");
  CHECK(plan(run, "offload") == "true");
  CHECK(plan(run, "attention") == "flash");
  CHECK(run.contradictions.empty());
  CHECK(run.unknown_flags.empty());
}

TEST_CASE("LLaMA-Factory's fp8 stands above its bf16") {
  const ForeignRun run = read(
      "model_name_or_path: org/model\nstage: sft\nper_device_train_batch_size: 1\nbf16: true\nfp8: true\n"
      "fp8_backend: torchao\n",
      "f.yaml");
  CHECK(plan(run, "precision") == "fp8");
  CHECK(run.contradictions.empty());
}

TEST_CASE("torchtitan's keys of 2024, and what its numbers mean") {
  const std::string text =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 2\nseq_len = 4096\n"
      "data_parallel_degree = 4\ntensor_parallel_degree = 2\n";
  const ForeignRun run = read(text + "[float8]\nenable_float8_linear = true\n", "t.toml");
  CHECK(stated(run, "gpus") == "8");
  CHECK(plan(run, "precision") == "fp8-current");
  const std::string each = "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = ";
  CHECK(plan(read(text + each + "\"op\"\n", "t.toml"), "recompute") == "selective");
  CHECK(plan(read(text + each + "\"1\"\n", "t.toml"), "recompute") == "full");
  const ForeignRun second = read(text + each + "\"2\"\n", "t.toml");
  REQUIRE(second.not_modelled.size() == 1);
  CHECK(second.not_modelled[0].first == "activation_checkpoint.selective_ac_option 2");
  const ForeignRun none = read(text + "[activation_checkpoint]\nmode = \"none\"\n", "t.toml");
  CHECK(plan(none, "recompute") == "none");
}

const std::string kSizes =
    "--num_layers 4 --hidden_size 64 --num_attention_heads 4 --seq_length 128 --micro_batch_size 1 --bf16 ";

TEST_CASE("the training is the command with sizes, with underscores as with hyphens") {
  const ForeignRun run = read(
      "#!/bin/bash\npython tools/preprocess_data.py --input a.json --workers 8\n"
      "mpirun -np 16 -npernode 8 python pretrain_gpt.py " +
          kSizes + "--tensor_model_parallel_size 2\n",
      "m.sh");
  CHECK(plan(run, "tp") == "2");
  CHECK(stated(run, "gpus") == "16");
  CHECK(model(run, "layers") == "4");
  CHECK(model(run, "max_positions") == "128");
}

TEST_CASE("DeepSpeed-Ulysses is context parallel by exchanged heads") {
  const ForeignRun run = read("deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py " + kSizes +
                                  "--ds-sequence-parallel-size 4 --zero-stage 3 --deepspeed\n",
                              "d.sh");
  CHECK(plan(run, "cp") == "4");
  CHECK(plan(run, "cp_type") == "a2a");
}

TEST_CASE("launches of encoders are refused by name") {
  for (const char* program : {"pretrain_bert.py", "examples/t5/pretrain_t5.py"}) {
    const auto run =
        read_foreign_run("torchrun --nproc_per_node 8 " + std::string(program) + " " + kSizes, "b");
    REQUIRE_FALSE(run);
    CHECK(run.error().text().find("trains an encoder") != std::string::npos);
  }
  const auto nemo = read_foreign_run(
      "model:\n  micro_batch_size: 4\n  num_layers: 24\n  hidden_size: 1024\n  bert_binary_head: true\n",
      "bert.yaml");
  REQUIRE_FALSE(nemo);
  CHECK(nemo.error().text().find("model.bert_binary_head is of an encoder") != std::string::npos);
}

TEST_CASE("torchtitan's run_train.sh with what stands before it") {
  const ForeignRun run = read(
      "NGPU=8 CONFIG_FILE=conf/llama3_8b.toml ./run_train.sh --training.seq_len 4096 "
      "--parallelism.tensor_parallel_degree 4\n",
      "t.sh");
  CHECK(stated(run, "model") == "llama-3-8b");
  CHECK(run.assumed.front().find("is not read, its model is known by its name") != std::string::npos);
  CHECK(plan(run, "tp") == "4");
  CHECK(stated(run, "gpus") == "8");
}

}  // namespace
}  // namespace foretrain
