// nanotron's configuration and the command that trains it. Keys are those of src/nanotron/config (config.py, commit 00708b80 of
// huggingface/nanotron; parallelism_config.py; models_config.py), the command that of its README. It refuses keys that it does
// not know, so that what is not of the plan is written as its examples have it.
#include <fmt/format.h>

#include "formats/launch_facts.h"
#include "formats/launch_writer.h"
#include "formats/tree_tables.h"
#include "formats/tree_text.h"

namespace foretrain {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

constexpr Instead kInstead[] = {
    {"plan.schedule", "has 1f1b, and gpipe as afab"},
    {"plan.zero", "divides optimizer states alone: zero 0 and 1"},
    {"plan.recompute", "repeats whole layers, all of them"},
    {"plan.precision", "has bf16 and fp16"},
    {"head_dim", "takes hidden over heads for the width of a head"},
    {"norm", "has models of Llama's kind: RMS norms"},
    {"mlp", "has models of Llama's kind: swiglu"},
    {"positions", "has models of Llama's kind: rope"},
    {"experts", "has experts of one width alone, which are not modelled for it"},
    {"kv_rank", "has no latent attention"},
    {"qk_norm", "has no norms of queries and keys"},
    {"window", "has no windows in models of Llama's kind"},
    {"blocks", "has layers of one kind"},
    {"dropout", "has no dropout"},
    {"documents", "packs by its data, which no key states"},
};

Statements nanotron_statements(const LaunchRun& run) {
  Statements s = statements_of(run);
  s.take("nodes");  // torchrun's
  s.take("gpus_per_node");
  s.accept("norm", "rmsnorm");
  s.accept("mlp", "swiglu");
  s.accept("positions", "rope");
  for (const char* key : {"biases", "projection_bias", "norm_bias"}) s.accept(key, "false");
  s.accept("dropout", "0");
  if (!run.model.blocks.empty()) {
    const std::int64_t heads = run.model.blocks.front().block.attention.heads;
    if (heads > 0 && run.model.hidden % heads == 0) s.accept("head_dim", digits(run.model.hidden / heads));
  }
  // Biases of queries, keys and values are Qwen's.
  const bool qwen = s.is("qkv_bias", "true");
  if (!qwen) s.take("qkv_bias");
  s.add(qwen ? "qwen" : "llama", "true");
  s.take("plan.layers_per_stage");  // dealt by cost, as its stack deals them; none is stated
  if (!s.has("plan.schedule")) s.add("plan.schedule", "1f1b");
  s.accept("plan.cuda_graph", "none");
  s.add("dp", digits(run.plan.dp));
  s.take("global_batch");
  s.add("accumulation", digits(run.micro_batches()));
  if (s.value("plan.reduce_dtype") == s.value("plan.grad_dtype")) s.take("plan.reduce_dtype");
  return s;
}

// What is not of the plan.
void add_training(const LaunchRun& run, Settings& out) {
  const auto add = [&](const char* key, const std::string& word) { out.push_back({key, {word}, {}}); };
  add("parallelism.tp_linear_async_communication", "false");
  add("parallelism.expert_parallel_size", "1");
  add("model.init_method.std", "0.02");
  add("model.make_vocab_size_divisible_by", "1");
  add("model.ddp_bucket_cap_mb", "25");
  add("model.model_config.hidden_act", "silu");
  add("model.model_config.initializer_range", "0.02");
  add("model.model_config.max_position_embeddings", digits(run.seq));
  add("model.model_config.rms_norm_eps", "1.0e-05");
  add("model.model_config.rope_theta", "${ROPE_THETA}");
  add("model.model_config.use_cache", "true");
  add("tokens.train_steps", "${TRAIN_STEPS}");
  add("tokens.val_check_interval", "-1");
  add("tokens.limit_val_batches", "0");
  add("tokens.limit_test_batches", "0");
  add("optimizer.clip_grad", "1.0");
  add("optimizer.weight_decay", "0.1");
  add("optimizer.optimizer_factory.name", "adamW");
  add("optimizer.optimizer_factory.adam_beta1", "0.9");
  add("optimizer.optimizer_factory.adam_beta2", "0.95");
  add("optimizer.optimizer_factory.adam_eps", "1.0e-08");
  add("optimizer.optimizer_factory.torch_adam_is_fused", "true");
  add("optimizer.learning_rate_scheduler.learning_rate", "${LR}");
  add("optimizer.learning_rate_scheduler.lr_warmup_steps", "${WARMUP_STEPS}");
  add("optimizer.learning_rate_scheduler.lr_warmup_style", "linear");
  add("optimizer.learning_rate_scheduler.lr_decay_style", "cosine");
  add("optimizer.learning_rate_scheduler.min_decay_lr", "${MIN_LR}");
  add("general.project", "foretrain");
  add("general.run", run.model.name);
  add("general.seed", "42");
  add("checkpoints.checkpoints_path", "${CHECKPOINT_PATH}");
  add("checkpoints.checkpoint_interval", "1000");
  add("tokenizer.tokenizer_name_or_path", "${TOKENIZER}");
  add("logging.log_level", "info");
  add("logging.iteration_step_info_interval", "1");
}

// A list of maps, which no setting is.
constexpr std::string_view kData = R"(data_stages:
  - name: training
    start_training_step: 1
    data:
      seed: 42
      num_loading_workers: 1
      dataset:
        hf_dataset_or_datasets: "${DATASET}"
        hf_dataset_splits: train
        text_column_name: text
)";

}  // namespace

WrittenLaunch nanotron_launch(const LaunchRun& run) {
  constexpr const char* kFile = "nanotron.yaml";
  WrittenLaunch out;
  Launch& launch = out.launch;
  launch.framework = "nanotron";
  start_by_torchrun(run, launch);
  launch.program = {"${NANOTRON_PATH}/run_train.py"};
  launch.flags = {{"--config-file", kFile}};
  Statements s = nanotron_statements(run);
  Settings settings = settings_of(nanotron_table(), s, Form::kValues);
  add_training(run, settings);
  launch.files.push_back({kFile, yaml_of(settings) + std::string(kData)});
  launch.env.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  launch.beyond.insert(launch.beyond.begin(),
                       {{"NANOTRON_PATH", "the folder of nanotron, with run_train.py", ""},
                        {"DATASET", "a dataset on the hub, with a column text", ""},
                        {"TOKENIZER", "the tokenizer: a name on the hub or a folder", run.hub}});
  for (const Launch::Blank& blank : std::initializer_list<Launch::Blank>{
           {"CHECKPOINT_PATH", "where checkpoints go", "checkpoints"},
           {"TRAIN_STEPS", "steps", "1000"},
           {"LR", "learning rate", "3.0e-4"},
           {"MIN_LR", "and at the end", "3.0e-5"},
           {"WARMUP_STEPS", "steps to reach it", "100"},
           {"ROPE_THETA", "base of rotary positions, which a plan does not know", "10000.0"}})
    launch.beyond.push_back(blank);
  out.unstated = unstated_of(s, kInstead);
  return out;
}

}  // namespace foretrain
