#include "formats/foreign_run.h"

#include <doctest/doctest.h>

#include "formats/shell_words.h"

namespace foretrain {
namespace {

ForeignRun read(const std::string& text, const std::string& file = "f") {
  auto run = read_foreign_run(text, file);
  REQUIRE_MESSAGE(run.has_value(), (run ? "" : run.error().text()));
  REQUIRE(run->has_value());
  return **std::move(run);
}

std::string error_of(const std::string& text) {
  const auto run = read_foreign_run(text, "f");
  return run ? "" : run.error().text();
}

std::string plan(const ForeignRun& run, std::string_view key) {
  const Node* node = run.run.find("plan")->find(key);
  return node == nullptr ? "" : node->scalar;
}
std::string model(const ForeignRun& run, std::string_view key) {
  const Node* of = run.run.find("model");
  const Node* node = of == nullptr ? nullptr : of->find(key);
  return node == nullptr ? "" : node->scalar;
}
std::string said(const ForeignRun& run, std::string_view key) {
  const Node* node = run.run.find(key);
  return node == nullptr ? "" : node->scalar;
}

const std::string kScript = R"(#!/bin/bash
# SBATCH is not this
TP=${TP:-2}
NODES=${NODES:-"2"}
SIZES=(
  --num-layers 4 --hidden-size 256
  # --hidden-size 512
  --num-attention-heads 8 --seq-length 1024
)
OPTIONS=" \
  --swiglu \
  --tensor-model-parallel-size $TP --sequence-parallel \
"
SIZES+=(--bf16 "--micro-batch-size 2")
torchrun --nproc_per_node 8 --nnodes=$NODES pretrain_gpt.py "${SIZES[@]}" $OPTIONS \
  --global-batch-size 64 --use-distributed-optimizer --save $1 --made-up-flag | tee log
)";

TEST_CASE("a script is read as far as assignments, arrays, defaults and continued lines go") {
  const ForeignRun run = read(kScript);
  CHECK(model(run, "layers") == "4");
  CHECK(model(run, "hidden") == "256");
  CHECK(model(run, "mlp") == "swiglu");
  CHECK(model(run, "ffn") == "640");  // 4 x 256 x 2 / 3 = 682, in multiples of 64
  CHECK(plan(run, "tp") == "2");
  CHECK(plan(run, "sp") == "true");
  CHECK(plan(run, "zero") == "1");
  CHECK(plan(run, "micro_batch") == "2");
  CHECK(said(run, "gpus") == "16");
  CHECK(said(run, "global_batch") == "64");
  CHECK(run.unknown_flags == std::vector<std::string>{"made-up-flag"});
  CHECK(run.contradictions.empty());
}

TEST_CASE("what hangs on a condition is refused with the reason, and capture is named") {
  const std::string conditional =
      "#!/bin/bash\nif [ -n \"$X\" ]; then\n  ARGS=\"--fp16\"\nfi\n"
      "torchrun pretrain_gpt.py --num-layers 4 $ARGS\n";
  const std::string error = error_of(conditional);
  CHECK(error.find("f:5: error: $ARGS hangs on a condition") == 0);
  CHECK(error.find("line 2") != std::string::npos);
  CHECK(error.find("foretrain capture") != std::string::npos);
  CHECK(error_of("#!/bin/bash\nfor i in 1 2; do torchrun a.py --num-layers 4; done\n").find("hangs on") !=
        std::string::npos);
  CHECK(error_of("#!/bin/bash\nA=\"no end\n").find("does not end") != std::string::npos);
}

TEST_CASE("GPUs that do not go with the degrees are told, not resolved") {
  const ForeignRun run = read(
      "torchrun --nproc_per_node 8 --nnodes 1 a.py --num-layers 4 --hidden-size 64 "
      "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --bf16\n");
  REQUIRE(run.contradictions.size() == 1);
  CHECK(run.contradictions[0] == "8 GPUs (1 nodes x 8) are not a multiple of tp 8 x pp 2 x cp 1 = 16");
}

TEST_CASE("one reader stands behind all forms of Megatron's flags") {
  const std::string block =
      "junk\n------------------------ arguments ------------------------\n"
      "  num_layers ...................................... 4\n"
      "  hidden_size ..................................... 256\n"
      "  num_attention_heads ............................. 8\n"
      "  swiglu .......................................... True\n"
      "  add_bias_linear ................................. False\n"
      "  bf16 ............................................ True\n"
      "  fp16 ............................................ False\n"
      "  mamba_state_dim ................................. 128\n"
      "  tensor_model_parallel_size ...................... 2\n"
      "  world_size ...................................... 8\n"
      "-------------------- end of arguments ---------------------\n";
  const std::string yaml =
      "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 256\n  --num-attention-heads: 8\n"
      "  --swiglu: true\n  --disable-bias-linear: true\n  --bf16: true\n"
      "  --tensor-model-parallel-size: ${TP:2}\n";
  const std::string list =
      R"(["--num-layers", "4", "--hidden-size", "256", "--num-attention-heads", "8", "--swiglu",
    "--disable-bias-linear", "--bf16", "--tensor-model-parallel-size=2"])";
  for (const std::string& text : {block, yaml, list}) {
    const ForeignRun run = read(text);
    CHECK(model(run, "layers") == "4");
    CHECK(model(run, "biases") == "false");
    CHECK(plan(run, "tp") == "2");
    CHECK(plan(run, "precision") == "bf16");
  }
  CHECK(said(read(block), "gpus") == "8");
}

TEST_CASE("layers of state spaces are refused") {
  CHECK(error_of("torchrun a.py --num-layers 4 --hidden-size 64 --hybrid-layer-pattern M-M*\n")
            .find("state spaces") != std::string::npos);
}

TEST_CASE("flags that change time or memory are named as such") {
  const ForeignRun run = read("torchrun a.py --num-layers 4 --hidden-size 64 --deterministic-mode --bf16\n");
  REQUIRE(run.not_modelled.size() == 1);
  CHECK(run.not_modelled[0] == std::pair<std::string, std::string>("deterministic-mode", "time"));
}

TEST_CASE("torchtitan by its file and by its command line") {
  const std::string toml =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 4096\n"
      "[parallelism]\ntensor_parallel_degree = 4\ndata_parallel_shard_degree = -1\n"
      "[activation_checkpoint]\nmode = \"full\"\n[compile]\nenable = true\n";
  const std::string line =
      "torchrun --nproc_per_node=8 -m torchtitan.train --model.name llama3 --model.flavor 8B "
      "--training.local_batch_size 2 --training.seq_len=4096 --parallelism.tensor_parallel_degree 4 "
      "--activation_checkpoint.mode full --compile.enable\n";
  for (const std::string& text : {toml, line}) {
    const ForeignRun run = read(text);
    CHECK(said(run, "model") == "llama-3-8b");
    CHECK(said(run, "stack") == "torchtitan-compile");
    CHECK(said(run, "seq") == "4096");
    CHECK(plan(run, "tp") == "4");
    CHECK(plan(run, "sp") == "true");
    CHECK(plan(run, "zero") == "3");
    CHECK(plan(run, "micro_batch") == "2");
    CHECK(plan(run, "recompute") == "full");
  }
}

TEST_CASE("trees are told apart by their keys") {
  const ForeignRun nanotron = read(
      "parallelism: {dp: 4, tp: 2, pp: 1, tp_mode: REDUCE_SCATTER}\n"
      "tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 8, sequence_length: 512}\n"
      "model: {dtype: bfloat16, model_config: {hidden_size: 64, num_hidden_layers: 2}}\n");
  CHECK(said(nanotron, "gpus") == "8");
  CHECK(said(nanotron, "global_batch") == "64");  // 2 x 8 x 4
  CHECK(plan(nanotron, "sp") == "true");
  const ForeignRun deepspeed =
      read(R"({"train_batch_size": "auto", "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})");
  CHECK(plan(deepspeed, "zero") == "2");
  CHECK(said(deepspeed, "global_batch").empty());
  CHECK(said(deepspeed, "stack") == "deepspeed");
  const ForeignRun axolotl = read(
      "base_model: meta-llama/Llama-3.2-3B\nsequence_len: 512\nmicro_batch_size: 4\n"
      "adapter: qlora\nlora_r: 16\ngradient_checkpointing: true\n");
  CHECK(plan(axolotl, "lora") == "16");
  CHECK(plan(axolotl, "base") == "nf4");
  const ForeignRun neox = read(
      "{\"pipe_parallel_size\": 2, \"model_parallel_size\": 1, # comment\n"
      "\"num_layers\": 4, \"hidden_size\": 64, \"no_weight_tying\": True, }\n");
  CHECK(model(neox, "tied") == "false");
  CHECK(plan(neox, "pp") == "2");
}

TEST_CASE("a run of ours is not taken for another's") {
  CHECK_FALSE(
      read_foreign_run("model: gpt2\ncluster: dgx-a100\ngpus: 8\nglobal_batch: 64\nplan: {tp: 2}\n", "f")
          ->has_value());
}

const std::string kFlags =
    "--num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 1024 --micro-batch-size 1 ";

TEST_CASE("whole numbers are computed from what is known") {
  const ForeignRun run = read(
      "#!/bin/bash\nN=${N:-2}\nTP=4\nW=$(($N * 8))\nGBS=$(( (W / TP) * 3 ))\ntorchrun "
      "pretrain_gpt.py " +
      kFlags + "--tensor-model-parallel-size $TP --global-batch-size $GBS\n");
  CHECK(said(run, "global_batch") == "12");
  const ForeignRun open =
      read("#!/bin/bash\nGBS=$((X * 8))\ntorchrun pretrain_gpt.py " + kFlags + "--global-batch-size $GBS\n");
  CHECK(said(open, "global_batch").empty());
  CHECK(open.assumed.size() > 0);
}

TEST_CASE("text of a here-document is no command") {
  const ForeignRun run =
      read("#!/bin/bash\ncat <<EOT > ds.json\n{\n  \"it's\": (\nEOT\ntorchrun pretrain_gpt.py " + kFlags +
           "--global-batch-size 8\n");
  CHECK(said(run, "global_batch") == "8");
}

TEST_CASE("a shell inside reads its words once more") {
  const ForeignRun run = read(
      "#!/bin/bash\nexport LAUNCHER=\"python -m torch.distributed.launch --nproc_per_node 8 --nnodes "
      "2\"\nexport "
      "CMD=\"pretrain_gpt.py " +
      kFlags +
      "--global-batch-size 16\"\nsrun bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' | tee log\n");
  CHECK(said(run, "global_batch") == "16");
  CHECK(said(run, "gpus") == "16");
}

TEST_CASE("what is added under a condition is let go where it changes nothing, and refused where it may") {
  const std::string begin = "#!/bin/bash\nARGS=(" + kFlags + "--global-batch-size 8)\nMORE=\"--bf16\"\n";
  const std::string end = "torchrun pretrain_gpt.py ${ARGS[@]} $MORE\n";
  const std::string silent = "if [ -n \"$KEY\" ]; then\n  ARGS+=(--wandb-project x --log-interval 1)\nfi\n";
  CHECK(said(read(begin + silent + end), "global_batch") == "8");
  CHECK(plan(read(begin + silent + end), "precision") == "bf16");
  const std::string added = "if [ $X = 1 ]; then\n  MORE=\"$MORE --log-interval 1\"\nfi\n";
  CHECK(plan(read(begin + added + end), "precision") == "bf16");
  const std::string loud = "if [ $X = 1 ]; then\n  MORE=\"$MORE --sequence-parallel\"\nfi\n";
  CHECK(error_of(begin + loud + end).find("line 4") != std::string::npos);
  const std::string test = "[ $X = 1 ] && MORE=\"--fp16\"\n";
  CHECK(error_of(begin + test + end).find("line 4") != std::string::npos);
  CHECK(error_of(begin + test + end).find("capture") != std::string::npos);
}

TEST_CASE("overrides of a command line are read as the file that they change would be") {
  const ForeignRun run = read(
      "python megatron_gpt_pretraining.py trainer.num_nodes=2 trainer.devices=8 "
      "model.tensor_model_parallel_size=4 +model.num_layers=32 model.hidden_size=4096 "
      "model.num_attention_heads=32 model.encoder_seq_length=4096 model.micro_batch_size=1 "
      "model.global_batch_size=128 exp_manager.exp_dir=/x/y\n");
  CHECK(plan(run, "tp") == "4");
  CHECK(model(run, "layers") == "32");
  CHECK(said(run, "global_batch") == "128");
  CHECK(said(run, "gpus") == "16");
}

TEST_CASE("flags of Hugging Face's Trainer are read as a file's keys") {
  const ForeignRun run = read(
      "#!/bin/bash\naccelerate launch --num_processes 8 --config_file fsdp.yaml train.py "
      "--model_name_or_path meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 2 "
      "--gradient_accumulation_steps 4 --bf16 True --gradient_checkpointing True "
      "--max_seq_length 4096 --output_dir x --made_up 1\n");
  CHECK(said(run, "model") == "meta-llama/Meta-Llama-3-8B");
  CHECK(said(run, "gpus") == "8");
  CHECK(said(run, "global_batch") == "64");
  CHECK(said(run, "seq") == "4096");
  CHECK(plan(run, "recompute") == "full");
  CHECK(run.unknown_flags == std::vector<std::string>{"made_up"});
  REQUIRE_FALSE(run.assumed.empty());
  CHECK(run.assumed.back().find("fsdp.yaml is not read") == 0);
}

TEST_CASE("JSON by hand may have comments and commas too many") {
  const ForeignRun run = read(
      "{\n  // a comment\n  \"train_batch_size\": 64,  # another, \"x\"\n"
      "  \"zero_optimization\": {\"stage\": 3, /* and */ },\n}\n");
  CHECK(plan(run, "zero") == "3");
  CHECK(said(run, "global_batch") == "64");
  CHECK(error_of("{\"train_batch_size\": 64, \"x\": }").find("f:1:") != std::string::npos);
}

TEST_CASE("a container's script is read where it is written as a block") {
  const ForeignRun run = read(
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: a\n      command:\n"
      "        - bash\n        - -c\n        - |\n          TP=4\n"
      "          torchrun --nproc_per_node=8 --nnodes=2 pretrain_gpt.py " +
      kFlags + "\\\n            --tensor-model-parallel-size $TP --global-batch-size 8\n      env: []\n");
  CHECK(plan(run, "tp") == "4");
  CHECK(said(run, "gpus") == "16");
}

TEST_CASE("keys that nobody knows are listed, whatever the format") {
  const auto unknown = [](const std::string& text) { return read(text).unknown_flags; };
  const std::vector<std::string> one = {"made_up"};
  CHECK(unknown("pipe_parallel_size: 1\nnum_layers: 2\nlr_decay_style: cosine\nmade_up: 3\n") == one);
  CHECK(unknown("base_model: gpt2\nlearning_rate: 1\ndatasets:\n  - path: x\nmade_up: 3\n") == one);
  CHECK(unknown("model_name_or_path: gpt2\nstage: sft\ntemplate: x\nmade_up: 3\n") == one);
  CHECK(unknown("global_train_batch_size: 8\nmodel:\n  d_model: 64\nseed: 1\nmade_up: 3\n") == one);
  CHECK(unknown("---- arguments ----\n  num_layers ........ 2\n  hidden_size ....... 64\n  dino_x ....... "
                "3\n  made_up "
                "......... 3\n---- end of arguments ----\n") == std::vector<std::string>{"made-up"});
}

TEST_CASE("keys that change time or memory are named in every format") {
  const auto named = [](const std::string& text) {
    const ForeignRun run = read(text);
    return run.not_modelled.empty() ? ""
                                    : run.not_modelled.front().first + ": " + run.not_modelled.front().second;
  };
  CHECK(named("pipe_parallel_size: 1\nsynchronize_each_layer: true\n") == "synchronize_each_layer: time");
  CHECK(named("base_model: gpt2\nliger_rope: true\n") == "liger_rope: time");
  CHECK(named("model_name_or_path: gpt2\nstage: dpo\n") == "stage dpo: time and memory");
  CHECK(named("global_train_batch_size: 8\ncompile_config: {}\nmodel:\n  config_overrides:\n    x: 1\n") ==
        "model.config_overrides.x: time and memory");
  CHECK(named("---- arguments ----\n  num_layers ........ 2\n  gradient_accumulation_fusion ....... "
              "False\n---- end of "
              "arguments ----\n") == "gradient-accumulation-fusion turned off: time");
  // What nothing of the run needs is not told.
  CHECK(named("---- arguments ----\n  num_layers ........ 2\n  tp_comm_bulk_dgrad ...... True\n  "
              "overlap_p2p_comm ..... "
              "False\n---- end of arguments ----\n")
            .empty());
}

}  // namespace
}  // namespace foretrain
