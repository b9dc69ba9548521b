#include "formats/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"
#include "formats/argument_origin.h"
#include "formats/block_table.h"
#include "formats/megatron_rows.h"
#include "formats/megatron_table.h"
#include "formats/shell_words.h"
#include "formats/slurm_header.h"
#include "formats/titan.h"
#include "formats/trainer.h"
#include "formats/tree_formats.h"

namespace foretrain {
namespace {

constexpr std::string_view kBlock = "-- arguments --";
constexpr std::string_view kBlockEnd = "-- end of arguments";

bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && word.find_first_not_of('-') != std::string_view::npos;
}

// "model.hidden_size=4096", "+model.fp8=True": Hydra's way, which NeMo and Megatron-Bridge have.
bool is_override(std::string_view word) {
  const std::size_t equals = word.find('=');
  while (word.starts_with('+')) word.remove_prefix(1);
  if (equals == std::string_view::npos || word.empty() || word.front() < 'a' || word.front() > 'z')
    return false;
  const std::string_view key = word.substr(0, word.find('='));
  return key.find('.') != std::string_view::npos && key.find_first_of("/ :") == std::string_view::npos;
}

// "per_device_batch_size=4": MaxText's way, which has no dots.
bool is_plain_setting(std::string_view word) {
  const std::string_view key = word.substr(0, word.find('='));
  return key.size() < word.size() && !key.empty() && key.front() >= 'a' && key.front() <= 'z' &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}
bool is_maxtext(std::string_view word) {
  return word.find("MaxText") != std::string_view::npos || word.find("maxtext") != std::string_view::npos ||
         word.starts_with("per_device_batch_size=");
}

Settings maxtext_settings(const std::vector<Argument>& words) {
  Settings out;
  if (std::none_of(words.begin(), words.end(), [](const Argument& word) { return is_maxtext(word.text); }))
    return out;
  for (const Argument& word : words) {
    if (!is_plain_setting(word.text)) continue;
    const std::size_t equals = word.text.find('=');
    out.push_back({word.text.substr(0, equals), {word.text.substr(equals + 1)}, word.at});
    out.back().open = !word.unknown.empty();
  }
  return out;
}

// None where there are none.
Settings overrides_of(const std::vector<Argument>& words) {
  Settings out;
  for (const Argument& word : words) {
    if (!is_override(word.text)) continue;
    const std::size_t begin = word.text.find_first_not_of('+'), equals = word.text.find('=');
    KeySetting setting{word.text.substr(begin, equals - begin), {word.text.substr(equals + 1)}, word.at};
    setting.open = !word.unknown.empty();
    out.push_back(std::move(setting));
  }
  return out;
}

// transformers' Trainer by its flags, or LLaMA-Factory, which has all of them and a few that tell it apart.
Result<std::optional<ForeignRun>> read_tuning(const std::vector<Argument>& words, const Settings& flags,
                                              const std::optional<Source>& deepspeed,
                                              const std::optional<Source>& accelerate) {
  Settings keys = trainer_keys(flags);
  // Accelerate's configuration, by its name where it is not at hand.
  if (const KeySetting* file = find(keys, "config_file"); file != nullptr && !accelerate) {
    const bool deepspeed_too = file->value().find("zero") != std::string::npos;
    const bool fsdp_too = file->value().find("fsdp") != std::string::npos;
    if (deepspeed_too && find(keys, "deepspeed") == nullptr)
      keys.push_back({"deepspeed", file->words, file->at});
    if (fsdp_too && find(keys, "fsdp") == nullptr) keys.push_back({"fsdp", file->words, file->at});
  }
  const bool factory = find(keys, "finetuning_type") != nullptr || find(keys, "stage") != nullptr;
  std::optional<ForeignRun> run;
  if (factory) {
    TRY_ASSIGN(run, read_tree(keys));
  }
  if (!run) {
    TRY_ASSIGN(run, read_trainer(keys, deepspeed, accelerate));
  }
  for (std::size_t i = 0; i + 1 < words.size() && !accelerate; ++i)
    if (megatron_key(words[i].text) == "config-file")
      run->assumed.push_back(fmt::format("{} is not read: how weights are sharded is what the flags say",
                                         printable(words[i + 1].text)));
  return run;
}

// What is launched in other words than Megatron's flags; none: it is not.
Result<std::optional<ForeignRun>> read_other_words(const std::vector<Argument>& words,
                                                   const Settings& settings,
                                                   const std::optional<Source>& deepspeed = std::nullopt,
                                                   const std::optional<Source>& accelerate = std::nullopt) {
  if (is_trainer(settings)) return read_tuning(words, settings, deepspeed, accelerate);
  if (Settings own = maxtext_settings(words); !own.empty()) return read_tree(std::move(own));
  return read_tree(overrides_of(words));
}

// Words of an array's item that holds several: "--fp8-format hybrid".
std::vector<Argument> unpacked(const std::vector<Argument>& words) {
  std::vector<Argument> out;
  for (const Argument& word : words) {
    if (!is_flag(word.text) || word.text.find(' ') == std::string::npos) {
      out.push_back(word);
      continue;
    }
    for (const std::string_view part : split(word.text, ' '))
      if (!part.empty()) out.push_back({std::string(part), word.at, word.unknown});
  }
  return out;
}

// How much a command looks like the launch of a training: its flags where sizes are among them, else 1 for a program
// with several; 0: it does not.
int weight_of(const std::vector<ShellWord>& words) {
  for (const std::string_view printer : {"echo", "printf", "cat", "mkdir", ":"})
    if (!words.empty() && words.front().text == printer) return 0;
  int flags = 0;
  bool program = false, sizes = false;
  const bool plain =
      std::any_of(words.begin(), words.end(), [](const ShellWord& word) { return is_maxtext(word.text); });
  for (const ShellWord& word : words) {
    if (is_flag(word.text) || is_override(word.text) || (plain && is_plain_setting(word.text))) ++flags;
    for (const std::string_view part :
         {".py", "torchrun", "pretrain", "torchtitan", "torch.distributed", "sbatch"})
      program = program || word.text.find(part) != std::string::npos;
    std::string plain_word = word.text;  // Megatron takes underscores too
    std::replace(plain_word.begin(), plain_word.end(), '_', '-');
    for (const std::string_view part :
         {"num-layers", "tensor-model-parallel-size", "micro-batch-size", "hidden-size", "--training.",
          "--parallelism.", "global-batch-size=", "per-device-train-batch-size", "per-device-batch-size="})
      sizes = sizes || plain_word.find(part) != std::string::npos;
  }
  if (sizes && flags > 0) return 1 + flags;
  return program && flags >= 1 ? 1 : 0;
}

// Sizes that a launcher of a launcher takes from its environment, as Megatron's zoo of mixtures does: TP=1 PP=8 ./sbatch.sh
struct Variable {
  std::string_view name, flag;
};
constexpr Variable kVariables[] = {
    {"TP", "tensor-model-parallel-size"},
    {"PP", "pipeline-model-parallel-size"},
    {"EP", "expert-model-parallel-size"},
    {"VPP", "num-virtual-stages-per-pipeline-rank"},
    {"CP", "context-parallel-size"},
    {"MBS", "micro-batch-size"},
    {"GBS", "global-batch-size"},
    {"SEQ_LEN", "seq-length"},
    {"NNODES", "nnodes"},
    {"MODEL", "model"},
    {"NGPU", "nproc-per-node"},  // these of torchtitan's run_train.sh
    {"CONFIG_FILE", "job.config-file"},
};
bool add_assignments(const std::vector<Argument>& words, Settings& settings) {
  bool assigns = false;
  for (const Variable& variable : kVariables)
    for (const Argument& word : words)
      if (word.text.starts_with(std::string(variable.name) + "=")) {
        settings.push_back(
            {std::string(variable.flag), {word.text.substr(variable.name.size() + 1)}, word.at});
        assigns = true;
      }
  return assigns;
}
void add_variables(const ShellScript& script, Settings& settings) {
  for (const Variable& variable : kVariables) {
    const auto found = script.variables.find(std::string(variable.name));
    if (found != script.variables.end() && find(settings, variable.flag) == nullptr)
      settings.push_back({std::string(variable.flag), {found->second}, {}});
  }
}

// #SBATCH --nodes=2 and the GPUs of a node, where the command says neither.
void add_slurm(std::string_view text, Settings& settings) {
  const SlurmHeader header = slurm_header(text);
  const auto add = [&](std::initializer_list<std::string_view> keys, std::optional<std::int64_t> number) {
    const bool stated = std::any_of(settings.begin(), settings.end(), [&](const KeySetting& setting) {
      const std::string key = megatron_key(setting.key);
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    });
    if (number && !stated) settings.push_back({std::string(*keys.begin()), {std::to_string(*number)}, {}});
  };
  if (find(settings, "--num_processes") != nullptr) return;  // accelerate's: of all nodes
  add({"nnodes", "num-nodes", "num-machines"}, header.nodes);
  const bool tasks = header.tasks_per_node.value_or(1) > 1;  // a task a GPU
  add({"nproc_per_node", "nproc-per-node", "num-gpus"}, header.gpus_per_node ? header.gpus_per_node
                                                        : tasks              ? header.tasks_per_node
                                                                             : std::nullopt);
}

// mpirun -np 64 python ...: a rank each.
void add_ranks(const std::vector<Argument>& words, Settings& settings) {
  for (std::size_t i = 0; i + 1 < words.size() && !is_flag(words[i].text); ++i)
    if ((words[i].text == "-np" || words[i].text == "-n") && words[0].text.find("mpi") != std::string::npos &&
        whole_word(words[i + 1].text))
      settings.push_back({"num-processes", {words[i + 1].text}, words[i].at});
}

// Megatron's programs take the same flags whatever they train.
Result<void> refuse_encoders(const std::vector<Argument>& words) {
  for (const Argument& word : words)
    for (const std::string_view program : {"pretrain_bert.py", "pretrain_t5.py", "pretrain_ict.py"})
      if (word.text.ends_with(program))
        return fail(
            fmt::format("{} trains an encoder, and only decoders are modelled; the nearest that works "
                        "is pretrain_gpt.py of the same sizes",
                        program),
            word.at);
  return {};
}

// Files that a script writes itself, by the flag that names them.
class WrittenFiles {
 public:
  WrittenFiles(const ShellScript& script, const std::vector<Argument>& words)
      : script_(script), words_(words) {}

  std::optional<Source> named_by(std::initializer_list<std::string_view> flags) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (const std::string_view flag : flags) {
        const std::string& word = words_[i].text;
        std::string value;
        if (word == flag && i + 1 < words_.size()) value = words_[i + 1].text;
        if (word.starts_with(std::string(flag) + "=")) value = word.substr(flag.size() + 1);
        if (const auto found = script_.files.find(value); found != script_.files.end())
          return Source{found->first, found->second};
      }
    return std::nullopt;
  }

 private:
  const ShellScript& script_;
  const std::vector<Argument>& words_;
};

}  // namespace

Settings settings_of(const std::vector<Argument>& packed) {
  Settings out;
  std::size_t program = 0;  // settings before it are the launchers'
  for (const Argument& word : unpacked(packed)) {
    if (word.text == "$@" || word.text == "$*" || word.text == "${@}")
      continue;  // what a script is given besides
    if (is_flag(word.text)) {
      const std::size_t equals = word.text.find('=');
      KeySetting setting{word.text.substr(0, equals), {}, word.at};
      if (equals != std::string::npos) setting.words.push_back(word.text.substr(equals + 1));
      setting.open = !word.unknown.empty();
      out.push_back(std::move(setting));
    } else if (word.text.ends_with(".py") || word.text == "torchtitan.train") {
      program = out.size();
    } else if (!out.empty()) {
      out.back().words.push_back(word.text);
      out.back().open = out.back().open || !word.unknown.empty();
    }
  }
  for (std::size_t i = 0; i < program; ++i) {
    const std::string key = megatron_key(out[i].key);
    const bool counts = key == "nproc-per-node" || key == "nnodes" || key == "num-gpus" ||
                        key == "num-nodes" || key == "num-processes" || key == "num-machines";
    // What accelerate's launcher says of the run.
    const bool says = key == "config-file" || key == "zero-stage" || key == "fsdp-sharding-strategy" ||
                      key == "mixed-precision";
    if (!counts && !says) out[i].key.clear();
  }
  std::erase_if(out, [](const KeySetting& setting) { return setting.key.empty(); });
  return out;
}

bool is_bridge(const std::vector<Argument>& words) {
  return std::any_of(words.begin(), words.end(), [](const Argument& word) {
    return word.text.starts_with("train.micro_batch_size=") ||
           word.text.starts_with("train.global_batch_size=");
  });
}

// run_recipe.py --recipe NAME key=value ...: overrides of the recipe, as Hydra has them.
Result<ForeignRun> read_bridge(const std::vector<Argument>& words) {
  Settings settings = overrides_of(words);
  for (KeySetting& setting : settings)
    for (std::string& word : setting.words) std::erase_if(word, [](char c) { return c == '\'' || c == '"'; });
  Settings launcher = settings_of(words);
  std::erase_if(launcher, [](const KeySetting& flag) {
    const std::string key = megatron_key(flag.key);
    return key != "nnodes" && key != "nproc-per-node";
  });
  for (KeySetting& flag : launcher)
    flag.key = megatron_key(flag.key), flag.words.resize(std::min<std::size_t>(1, flag.words.size()));
  return read_bridge_overrides(std::move(settings), launcher);
}

Result<ForeignRun> read_arguments(const std::vector<Argument>& words, std::string_view format) {
  Settings settings = settings_of(words);
  if (is_titan(settings)) return read_titan(std::move(settings));
  TRY_ASSIGN(auto other, read_other_words(words, settings));
  if (other) return *std::move(other);
  TRY(refuse_encoders(words));
  add_assignments(words, settings);
  add_ranks(words, settings);
  Facts facts;
  TRY(apply_megatron(std::move(settings), facts));
  return foreign_run(format, std::move(facts));
}

namespace {

Result<ForeignRun> read_commands(std::string_view text, const std::string& file) {
  TRY_ASSIGN(const ShellScript script, shell_commands(text, file));
  const ShellCommand* launch = nullptr;
  int most = 0;
  for (const ShellCommand& command : script.commands)
    if (const int weight = weight_of(command.words); weight > most) most = weight, launch = &command;
  const std::string advice = fmt::format(
      "`foretrain capture -- bash {}` runs it with a recorder in place of the launchers", printable(file));
  if (launch == nullptr)
    return fail(
        fmt::format("found no command that launches a training with its flags, as torchrun or python with a "
                    "program; {}",
                    advice),
        {file, 1, 0});
  if (launch->conditional)
    return fail(
        fmt::format(
            "the launch hangs on a condition, a loop or a function, which static reading does not follow; {}",
            advice),
        {file, launch->words.front().line, 0});
  std::vector<Argument> words;
  bool flags = false, silent = false;  // a flag was seen; the last one is of no effect
  for (const ShellWord& word : launch->words) {
    if (is_flag(word.text)) {
      flags = true;
      silent = is_without_effect(megatron_rows(), megatron_key(word.text.substr(0, word.text.find('='))));
    }
    // A list of flags under a condition may be any, but for those that change nothing. What stands before the first flag is
    // how the program is started.
    const bool doubtful = flags && word.unknown.find("hangs on") != std::string::npos;
    if (doubtful && silent) continue;
    if (doubtful)
      return fail(fmt::format("{}, which static reading does not follow; {}", word.unknown, advice),
                  {file, word.line, 0});
    words.push_back({word.text, {file, word.line, 0}, word.unknown});
  }
  const WrittenFiles files(script, words);
  if (const auto config = files.named_by({"--config-file"})) {
    TRY_ASSIGN(const Node tree, parse_yaml(config->text, config->name));
    TRY_ASSIGN(std::optional<ForeignRun> run, read_tree(tree));
    if (run) return *std::move(run);
  }
  Settings settings = settings_of(words);
  const auto deepspeed = files.named_by({"--deepspeed", "--deepspeed_config"});
  const auto accelerate = files.named_by({"--config_file"});
  if (is_bridge(words)) return read_bridge(words);
  add_slurm(text, settings);
  TRY_ASSIGN(auto other, read_other_words(words, settings, deepspeed, accelerate));
  if (other) return *std::move(other);
  if (add_assignments(words, settings)) add_variables(script, settings);
  if (is_titan(settings)) return read_titan(std::move(settings));
  TRY(refuse_encoders(words));
  add_ranks(words, settings);
  Facts facts;
  TRY(apply_megatron(std::move(settings), facts));
  return foreign_run("a launch script, read without running it", std::move(facts));
}

}  // namespace

Result<ForeignRun> read_script(std::string_view text, const std::string& file) {
  TRY_ASSIGN(ForeignRun run, read_commands(text, file));
  const SlurmHeader header = slurm_header(text);
  if (header.nodes && text.find("SLURM_") != std::string_view::npos)
    run.assumed.push_back(fmt::format(
        "{} nodes by the script's header, which does not say what sbatch is told otherwise", *header.nodes));
  return run;
}

namespace {

// GPT-NeoX says all that it has, of which what nobody stated is no news.
Result<ForeignRun> read_neox_block(Settings settings, const std::vector<std::string>& defaults) {
  TRY_ASSIGN(std::optional<ForeignRun> run, read_tree(std::move(settings)));
  CHECK_THAT(run.has_value());  // told by pipe_parallel_size
  std::erase_if(run->unknown_flags, [&](const std::string& flag) {
    return std::find(defaults.begin(), defaults.end(), flag) != defaults.end();
  });
  return *std::move(run);
}

}  // namespace

bool has_argument_block(std::string_view text) { return text.find(kBlock) != std::string_view::npos; }

// "  tensor_model_parallel_size ...................... 8", once a rank at most; what follows the end does not count.
Result<ForeignRun> read_argument_block(std::string_view text, const std::string& file) {
  Settings settings;
  std::vector<std::string> defaults;  // that nobody stated
  int line = 0;
  bool inside = false;
  for (std::string_view row : split(text, '\n')) {
    ++line;
    if (row.find(kBlockEnd) != std::string_view::npos && inside) break;
    if (row.find(kBlock) != std::string_view::npos) inside = true;
    if (!inside) continue;
    const std::size_t dots = row.find(" ..");
    if (dots == std::string_view::npos) continue;
    std::string_view key = row.substr(0, dots);
    key = key.substr(key.find_last_of(" \t:") == std::string_view::npos ? 0 : key.find_last_of(" \t:") + 1);
    const std::size_t value = row.find_first_not_of('.', dots + 1);
    if (key.empty() || value == std::string_view::npos) continue;
    const SaidArgument said = said_argument(trim(row.substr(value)));
    if (said.is_default) defaults.emplace_back(key);
    std::string word(trim(said.value));
    if (word.starts_with('['))
      std::erase_if(word, [](char c) { return c == '[' || c == ']' || c == '\'' || c == ','; });
    if (word == "None" || word.empty()) continue;
    settings.push_back({std::string(key), {word}, {file, line, 0}});
  }
  if (settings.empty()) return fail("found a block of arguments without any", {file, line, 0});
  if (find(settings, "pipe_parallel_size") != nullptr) return read_neox_block(std::move(settings), defaults);
  Facts facts;
  TRY(apply_megatron(settings, facts));
  apply_block(std::move(settings), facts);
  return foreign_run("the arguments in a log of Megatron", std::move(facts));
}

}  // namespace foretrain
