#include "formats/tree_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/text.h"
#include "formats/block_table.h"
#include "formats/facts.h"
#include "formats/key_table.h"
#include "formats/megatron_table.h"
#include "formats/titan.h"
#include "formats/trainer.h"
#include "formats/tree_tables.h"

namespace foretrain {
namespace {

bool has(const Settings& settings, std::string_view key) {
  return std::any_of(settings.begin(), settings.end(), [&](const KeySetting& s) {
    return key.ends_with('*') ? s.key.starts_with(key.substr(0, key.size() - 1)) : s.key == key;
  });
}

// Settings under a prefix, without it.
Settings below(const Settings& settings, std::string_view prefix) {
  Settings out;
  for (const KeySetting& setting : settings) {
    if (!setting.key.starts_with(prefix)) continue;
    out.push_back(setting);
    out.back().key.erase(0, prefix.size());
  }
  return out;
}

// What "${.hidden_size}" beside a key, "${training.model.hidden_size}" (Hydra) or "${variables.max_seq_len}" (OmegaConf) names;
// null: nothing that is known.
const KeySetting* named_by(std::string_view reference, const std::string& key, const Settings& settings) {
  if (!reference.starts_with("${") || !reference.ends_with('}') || reference.find(':') != std::string::npos)
    return nullptr;
  std::string path(reference.substr(2, reference.size() - 3));
  if (path.starts_with('.')) path = key.substr(0, key.rfind('.') + 1) + path.substr(1);
  const KeySetting* named = find(settings, path);
  const std::size_t dot = path.find('.');
  if (named == nullptr && dot != std::string::npos) named = find(settings, path.substr(dot + 1));
  const bool is_known = named != nullptr && named->words.size() == 1 && named->key != key &&
                        !named->words.front().starts_with("${");
  return is_known ? named : nullptr;
}

// "${multiply:4, ${.hidden_size}}", of NeMo.
std::optional<std::int64_t> multiplied(std::string_view word, const std::string& key,
                                       const Settings& settings) {
  constexpr std::string_view kMultiply = "${multiply:";
  if (!word.starts_with(kMultiply) || !word.ends_with('}')) return std::nullopt;
  std::int64_t out = 1;
  for (const std::string_view part :
       split(word.substr(kMultiply.size(), word.size() - kMultiply.size() - 1), ',')) {
    const KeySetting* named = named_by(trim(part), key, settings);
    const auto factor = whole_word(named == nullptr ? trim(part) : std::string_view(named->words.front()));
    if (!factor || *factor < 1) return std::nullopt;
    out = product({out, *factor});
  }
  return out;
}

void follow_references(Settings& settings) {
  for (KeySetting& setting : settings) {
    if (setting.words.size() != 1) continue;
    std::string& word = setting.words.front();
    if (const KeySetting* named = named_by(word, setting.key, settings)) {
      word = std::string(named->words.front()), setting.open = named->open;
    } else if (const auto number = multiplied(word, setting.key, settings)) {
      word = std::to_string(*number), setting.open = false;
    }
  }
}

Settings renamed(Settings settings, std::span<const KeyRow> names) {
  for (KeySetting& setting : settings)
    for (const KeyRow& row : names)
      if (setting.key == row.theirs) setting.key = row.ours;
  return settings;
}

Result<std::optional<ForeignRun>> megatron(std::string_view format, Settings settings, std::string_view stack,
                                           std::string_view model) {
  Facts facts;
  if (!stack.empty()) facts.set("stack", stack, "");
  if (!model.empty()) facts.set("model", model, "model");
  TRY(apply_megatron(settings, facts));
  apply_block(std::move(settings), facts);
  return std::optional(foreign_run(format, std::move(facts)));
}

std::string without_suffix(std::string name) {
  for (const std::string_view suffix : {".yaml", ".yml"})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

// Primus: modules.pre_trainer with Megatron's or MaxText's keys.
Result<std::optional<ForeignRun>> primus(const Settings& settings) {
  constexpr std::string_view kTrainer = "modules.pre_trainer.";
  const Settings own = below(settings, kTrainer), overrides = below(own, "overrides.");
  const KeySetting* framework = find(own, "framework");
  const KeySetting* named = find(own, "model");
  const std::string model = named == nullptr ? "" : without_suffix(named->value());
  if (framework != nullptr && framework->value() == "maxtext") {
    Facts facts;
    if (!model.empty()) facts.set("model", model, "model");
    apply_table(maxtext_table(), overrides, facts);
    finish_maxtext(facts);
    return std::optional(foreign_run("Primus' configuration of MaxText", std::move(facts)));
  }
  if (framework != nullptr && framework->value() == "torchtitan") {
    TRY_ASSIGN(ForeignRun run, read_titan(overrides));
    return std::optional(std::move(run));
  }
  return megatron("Primus' configuration of Megatron", overrides, "primus-megatron", model);
}

// Keys below a switch are stated in every file, and of no effect where it is off ("fp8: False", "fp8_hybrid: True"); the
// switch says nothing more where one of them says which.
void take_switch(std::string_view name, Settings& own) {
  const KeySetting* on = find(own, name);
  if (on == nullptr) return;
  const std::string below = std::string(name) + "_";
  const bool off = truth_of(*on) == false;
  const bool says_which = std::any_of(own.begin(), own.end(), [&](const KeySetting& s) {
    return (s.key == below + "hybrid" || s.key == below + "e4m3") && truth_of(s) == true;
  });
  std::erase_if(own, [&](const KeySetting& s) {
    return (s.key == name && (off || says_which)) || (off && s.key.starts_with(below));
  });
}

// By the names of Megatron-Bridge's recipes (training/mixed_precision.py).
std::string_view precision_of(std::string_view recipe) {
  const auto is = [&](std::string_view part) { return recipe.find(part) != std::string_view::npos; };
  if (is("mxfp8")) return "mxfp8";
  if (is("nvfp4")) return "nvfp4";
  if (is("current")) return "fp8-current";
  if (is("subchannel") || is("blockwise")) return "fp8-blockwise";
  if (is("fp8")) return "fp8-delayed";
  return is("fp16") ? "fp16" : "bf16";
}

// NeMo's BERT, T5 and retrievers state their sizes as its decoders do.
Result<void> refuse_encoders(const Settings& settings) {
  for (const KeySetting& setting : settings)
    for (const std::string_view key :
         {"model.bert_binary_head", "model.data.masked_lm_prob", "model.encoder.num_layers"})
      if (setting.key == key)
        return fail(
            fmt::format("{} is of an encoder, and only decoders are modelled; the nearest that works is a "
                        "decoder of the same sizes",
                        key),
            setting.at);
  return {};
}

Result<std::optional<ForeignRun>> nemo(Settings settings, const Settings& launcher = {}) {
  TRY(refuse_encoders(settings));
  follow_references(settings);
  Settings own;
  for (const std::string_view prefix : {"model.", "trainer.", "train.", "dataset.", "optimizer.", "ddp.",
                                        "peft.", "mixed_precision.", "tokenizer.", "dist."}) {
    Settings part = below(settings, prefix);
    if (prefix == "optimizer." || prefix == "peft." || prefix == "dataset." || prefix == "tokenizer." ||
        prefix == "dist.")
      std::erase_if(part, [&](const KeySetting& s) {
        return s.key != "dim" && s.key != "seq_length" && s.key != "sequence_length" &&
               s.key != "use_distributed_optimizer" && s.key != "optimizer" &&
               s.key != "optimizer_cpu_offload" && s.key != "tokenizer_type" && s.key != "tokenizer_model" &&
               s.key != "vocab_size" && s.key != "use_megatron_fsdp" && s.key != "use_torch_fsdp2";
      });
    own.insert(own.end(), part.begin(), part.end());
  }
  const bool bridge = has(settings, "train.*") && !has(settings, "trainer.*");
  Facts facts;
  if (bridge) facts.set("stack", "megatron-bridge", "");
  if (!bridge) facts.set("stack", "nemo", "");
  own.insert(own.end(), launcher.begin(), launcher.end());
  own = renamed(std::move(own), nemo_names());
  take_switch("fp8", own);
  take_switch("fsdp", own);
  // A recipe of precision by its name: bf16_with_fp8_current_scaling_mixed.
  if (const KeySetting* recipe = find(settings, "mixed_precision"))
    facts.set("plan.precision", precision_of(recipe->value()), "mixed_precision", recipe->at);
  fill_defaults(own);
  apply_table(nemo_table(), own, facts);
  std::vector<std::string> unknown = std::move(facts.unknown);
  facts.unknown.clear();
  TRY(apply_megatron(std::move(own), facts));
  std::erase_if(facts.unknown, [&](const std::string& key) {
    return std::none_of(unknown.begin(), unknown.end(),
                        [&](const std::string& one) { return megatron_key(one) == key; });
  });
  return std::optional(
      foreign_run(bridge ? "Megatron-Bridge's overrides" : "NeMo's configuration", std::move(facts)));
}

}  // namespace

Result<ForeignRun> read_bridge_overrides(Settings settings, const Settings& launcher) {
  TRY_ASSIGN(std::optional<ForeignRun> run, nemo(std::move(settings), launcher));
  return *std::move(run);
}

namespace {

using Finish = void (*)(Facts&);
using Rows = std::span<const KeyRow> (*)();
struct TreeFormat {
  std::string_view words;
  std::string_view keys;  // one of these groups (apart by |) must be there whole (apart by blanks)
  Rows table;
  Finish finish;
  std::array<Rows, 2> further = {};  // for what the table does not know
};
constexpr TreeFormat kFormats[] = {
    {"nanotron's configuration", "parallelism.dp tokens.*|parallelism.tp tokens.*", nanotron_table,
     finish_nanotron},
    {"GPT-NeoX's configuration", "pipe_parallel_size|model_parallel_size|gpt_j_residual|no_weight_tying",
     neox_table, finish_neox},
    {"axolotl's configuration", "base_model", axolotl_table, finish_axolotl, {tuning_rows, nullptr}},
    {"LLaMA-Factory's configuration",
     "model_name_or_path finetuning_type|model_name_or_path stage",
     llama_factory_table,
     finish_llama_factory,
     {trainer_rows, tuning_rows}},
    {kTrainerWords,
     "model_name_or_path per_device_train_batch_size",
     trainer_rows,
     finish_trainer,
     {tuning_rows, nullptr}},
    {"accelerate's configuration", "distributed_type", accelerate_table, finish_accelerate},
    {"LLM Foundry's configuration", "global_train_batch_size|device_train_microbatch_size", foundry_table,
     finish_foundry},
    {"DeepSpeed's configuration", "zero_optimization.*|train_micro_batch_size_per_gpu|train_batch_size",
     deepspeed_table, finish_deepspeed},
    {"MaxText's configuration",
     "per_device_batch_size|base_emb_dim|base_num_decoder_layers|max_target_length", maxtext_table,
     finish_maxtext},
};

// GPT-NeoX takes its keys with hyphens as with underscores, in one file too.
void join_words(Settings& settings) {
  if (!has(settings, "pipe-parallel-size") && !has(settings, "model-parallel-size")) return;
  for (KeySetting& setting : settings) std::replace(setting.key.begin(), setting.key.end(), '-', '_');
}

bool is_format(const TreeFormat& format, const Settings& settings) {
  for (const std::string_view group : split(format.keys, '|')) {
    const std::vector<std::string_view> keys = split(group, ' ');
    if (std::all_of(keys.begin(), keys.end(), [&](std::string_view key) { return has(settings, key); }))
      return true;
  }
  return false;
}

}  // namespace

Result<std::optional<ForeignRun>> read_tree(const Node& node) {
  if (!node.is_map()) return std::optional<ForeignRun>();
  return read_tree(settings_of(node));
}

Result<std::optional<ForeignRun>> read_tree(Settings settings) {
  if (has(settings, "cluster") || has(settings, "cluster.*")) return std::optional<ForeignRun>();
  fill_defaults(settings);
  if (has(settings, "MODEL_ARGS.*"))
    return megatron("Megatron's arguments as YAML", below(settings, "MODEL_ARGS."), "", "");
  if (has(settings, "modules.pre_trainer.*")) return primus(settings);
  if (is_titan(settings) && !has(settings, "tokens.*")) {
    TRY_ASSIGN(ForeignRun run, read_titan(std::move(settings)));
    return std::optional(std::move(run));
  }
  if (has(settings, "model.tensor_model_parallel_size") || has(settings, "model.micro_batch_size") ||
      has(settings, "train.micro_batch_size") || has(settings, "train.global_batch_size"))
    return nemo(std::move(settings));
  follow_references(settings);
  join_words(settings);
  for (const TreeFormat& format : kFormats) {
    if (!is_format(format, settings)) continue;
    Facts facts;
    for (const KeySetting& setting : settings)
      if (setting.key.find("mamba") != std::string::npos || setting.key.ends_with(".ssm_cfg"))
        return fail(
            "found layers of state spaces (mamba), which are not modelled; the nearest that works is a "
            "transformer of "
            "the same sizes",
            setting.at);
    apply_table(format.table(), settings, facts);
    for (const Rows rows : format.further)
      if (rows != nullptr) apply_further(rows(), settings, facts);
    format.finish(facts);
    return std::optional(foreign_run(format.words, std::move(facts)));
  }
  if (has(settings, "tensor_model_parallel_size") ||
      (has(settings, "num_layers") && has(settings, "hidden_size")))
    return megatron("Megatron's arguments as YAML", std::move(settings), "", "");
  return std::optional<ForeignRun>();
}

}  // namespace foretrain
