#include "formats/trainer.h"

#include <algorithm>

#include "base/json_node.h"
#include "formats/tree_tables.h"

namespace foretrain {
namespace {

constexpr KeyUse kBoth = KeyUse::kBoth;

// transformers/training_args.py, and ModelArguments and DataTrainingArguments of run_clm.py (transformers 4.5x and 5).
constexpr KeyRow kRows[] = {
    {"config_name", "model", kBoth},
    {"model_name_or_path", "model"},
    {"block_size", "seq", kBoth},
    {"per_device_train_batch_size", "plan.micro_batch", kBoth},
    {"gradient_accumulation_steps", "accumulation", kBoth},
    {"gradient_checkpointing", "plan.recompute=full|none", kBoth},
    {"bf16", "plan.precision=bf16", kBoth},
    {"fp16", "plan.precision=fp16", kBoth},
    {"optim", "hf_optimizer", kBoth},
    {"deepspeed", "deepspeed_file"},
    {"fsdp", "fsdp"},
    {"nproc_per_node", "gpus_per_node"},
    {"num_gpus", "gpus_per_node"},
    {"nnodes", "nodes"},
    {"num_nodes", "nodes"},
    {"torch_compile", "!time"},
    {"tokenizer_*", ""},
    {"dataset_*", ""},
    {"train_file", ""},
    {"validation_*", ""},
    {"output_dir", ""},
    {"overwrite_output_dir", ""},
    {"do_*", ""},
    {"max_steps", ""},
    {"num_train_epochs", ""},
    {"learning_rate", ""},
    {"lr_scheduler_type", ""},
    {"warmup_*", ""},
    {"weight_decay", ""},
    {"adam_*", ""},
    {"max_grad_norm", ""},
    {"logging_*", ""},
    {"save_*", ""},
    {"eval_*", ""},
    {"report_to", ""},
    {"seed", ""},
    {"preprocessing_num_workers", ""},
    {"dataloader_*", ""},
    {"ddp_*", ""},
};

}  // namespace

std::span<const KeyRow> trainer_rows() { return kRows; }

bool is_trainer(const Settings& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const KeySetting& s) {
    return s.key == "--per_device_train_batch_size" || s.key == "--per-device-train-batch-size";
  });
}

Result<ForeignRun> read_trainer(Settings settings, const std::optional<Source>& deepspeed,
                                const std::optional<Source>& accelerate) {
  for (KeySetting& setting : settings) {
    setting.key.erase(0, std::min(setting.key.find_first_not_of('-'), setting.key.size()));
    std::replace(setting.key.begin(), setting.key.end(), '-', '_');
  }
  Facts f;
  apply_table(kRows, settings, f);
  if (f.has("gpus_per_node") && find(settings, "nnodes") == nullptr && find(settings, "num_nodes") == nullptr)
    f.set_usual("nodes", "1");
  if (deepspeed) {
    TRY_ASSIGN(const Node tree, parse_json(deepspeed->text, deepspeed->name));
    apply_table(deepspeed_table(), settings_of(tree), f);
  } else if (accelerate) {
    TRY_ASSIGN(const Node tree, parse_yaml(accelerate->text, accelerate->name));
    apply_table(accelerate_table(), settings_of(tree), f);
  }
  finish_trainer(f);
  return foreign_run("transformers' Trainer", std::move(f));
}

}  // namespace foretrain
