#include "formats/trainer.h"

#include <algorithm>

#include "base/json_node.h"
#include "formats/megatron_table.h"
#include "formats/tree_tables.h"
#include "formats/tuning_facts.h"

namespace foretrain {
namespace {

constexpr KeyUse kBoth = KeyUse::kBoth;

// transformers/training_args.py, and ModelArguments and DataTrainingArguments of run_clm.py (transformers 4.5x and 5).
constexpr KeyRow kRows[] = {
    {"config_name", "model", kBoth},
    {"model_name_or_path", "model"},
    {"model_name", "model"},
    {"model_id", "model"},
    {"block_size", "seq", kBoth},
    {"max_seq_length", "seq"},
    {"max_seq_len", "seq"},
    {"model_max_length", "seq"},
    {"max_length", "seq"},
    {"per_device_train_batch_size", "plan.micro_batch", kBoth},
    {"gradient_accumulation_steps", "accumulation", kBoth},
    {"gradient_checkpointing", "plan.recompute=full|none", kBoth},
    {"bf16", "plan.precision=bf16", kBoth},
    {"fp16", "plan.precision=fp16", kBoth},
    {"optim", "hf_optimizer", kBoth},
    {"deepspeed", "deepspeed_file"},
    {"fsdp", "fsdp"},
    {"fsdp_sharding_strategy", "sharding"},
    {"fsdp_*", ""},
    {"zero_stage", "plan.zero"},
    {"mixed_precision", "plan.precision{bf16:bf16,fp16:fp16,fp8:fp8,no:}"},
    {"lora_target_modules", "lora_target"},
    {"use_peft", "adapter=lora|none"},
    {"use_lora", "adapter=lora|none"},
    {"q_lora", "adapter=qlora|none"},
    {"lora_r", "plan.lora"},
    {"lora_rank", "plan.lora"},
    {"load_in_4bit", "four_bit=true|false"},
    {"load_in_8bit", "!memory"},
    {"attn_implementation",
     "plan.attention{flash_attention_2:flash,flash_attention_3:flash,sdpa:flash,flex_attention:flash,"
     "eager:unfused}"},
    {"use_flash_attn", "plan.attention=flash"},
    {"use_flash_attention_2", "plan.attention=flash"},
    {"use_liger_kernel", "plan.loss=fused"},
    {"nproc_per_node", "gpus_per_node"},
    {"num_gpus", "gpus_per_node"},
    {"nnodes", "nodes"},
    {"num_nodes", "nodes"},
    {"num_machines", "nodes"},
    {"num_processes", "gpus"},
    {"torch_compile*", "!time"},
    {"auto_find_batch_size", "!memory"},
    {"torch_empty_cache_steps", "!time"},
    {"packing", "packed=true|false"},
    {"per_device_eval_batch_size", ""},
    {"train_file", ""},
    {"train_data*", ""},
    {"data_*", ""},
    {"validation_*", ""},
    {"overwrite_*", ""},
    {"do_*", ""},
    {"num_train_epochs", ""},
    {"num_epochs", ""},
    {"lora_*", ""},
    {"peft_*", ""},
    {"preprocessing_*", ""},
    {"dtype", ""},
    {"model_revision", ""},
    {"ddp_*", ""},
    {"run_name", ""},
    {"cache_dir", ""},
    {"push_to_hub", ""},
    {"hub_*", ""},
    {"group_by_length", ""},
    {"length_column_name", ""},
    {"remove_unused_columns", ""},
    {"gradient_checkpointing_kwargs*", ""},
    {"lazy_preprocess", ""},
    {"streaming", ""},
    {"max_train_samples", ""},
    {"low_cpu_mem_usage", ""},
    {"local_rank", ""},
    {"config_file", ""},
    {"ray_*", ""},
    {"log_*", ""},
    {"disable_tqdm", ""},
    {"neftune_noise_alpha", ""},
    {"include_num_input_tokens_seen", ""},
};

}  // namespace

std::span<const KeyRow> trainer_rows() { return kRows; }

Settings trainer_keys(Settings settings) {
  for (KeySetting& setting : settings) {
    setting.key = megatron_key(setting.key);
    std::replace(setting.key.begin(), setting.key.end(), '-', '_');
  }
  return settings;
}

bool is_trainer(const Settings& settings) {
  return find(trainer_keys(settings), "per_device_train_batch_size") != nullptr;
}

Result<ForeignRun> read_trainer(const Settings& flags, const std::optional<Source>& deepspeed,
                                const std::optional<Source>& accelerate) {
  const Settings settings = trainer_keys(flags);
  Facts f;
  apply_table(kRows, settings, f);
  apply_further(tuning_rows(), settings, f);
  if (f.has("gpus_per_node") && !f.has("nodes")) f.set_usual("nodes", "1");
  if (deepspeed) {
    TRY_ASSIGN(const Node tree, parse_json(deepspeed->text, deepspeed->name));
    apply_table(deepspeed_table(), settings_of(tree), f);
  } else if (accelerate) {
    TRY_ASSIGN(const Node tree, parse_yaml(accelerate->text, accelerate->name));
    apply_table(accelerate_table(), settings_of(tree), f);
  }
  finish_trainer(f);
  return foreign_run(kTrainerWords, std::move(f));
}

void finish_trainer(Facts& f) {
  if (f.has("plan.lora")) f.set_usual("adapter", "lora");  // programs of adapters alone have no flag for them
  drop_auto(f);
  finish_adapter(f);
  finish_sharding(f);
  finish_optimizer(f);
  finish_half(f);
  f.set_usual("plan.zero", "0");
  f.set_usual("plan.recompute", "none");
  f.set_usual("accumulation", "1");
  const bool deepspeed = f.has("deepspeed_file") || f.word("distributed") == "DEEPSPEED";
  f.set_usual("stack", deepspeed ? "deepspeed" : f.has("plan.lora") ? "hf-peft" : "hf-trainer");
}

}  // namespace foretrain
