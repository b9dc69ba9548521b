// torchtitan's command line of overrides: it has had no TOML since 2026-02. Keys are those of torchtitan/config/configs.py (commit
// 0014ac2c of pytorch/torchtitan), the words that start it those of its run_train.sh; a flag is switched off by "no-" before
// its last name (tyro).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/launch_facts.h"
#include "formats/launch_writer.h"
#include "formats/titan.h"
#include "formats/titan_models.h"

namespace foretrain {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

const TitanFlavor* flavor_of(const LaunchRun& run) {
  for (const TitanFlavor& flavor : titan_flavors()) {
    const std::vector<std::string_view> presets = split(flavor.presets, ' ');
    if (!run.preset.empty() && std::find(presets.begin(), presets.end(), run.preset) != presets.end())
      return &flavor;
  }
  return nullptr;
}

constexpr Instead kInstead[] = {
    {"name",
     "trains the models of its config_registry.py: llama3, llama4, deepseek_v3, gpt_oss and qwen3 in their "
     "sizes"},
    {"dropout", "has no dropout"},
    {"mtp_layers", "trains no layers that predict further tokens"},
    {"plan.schedule", "has 1F1B, GPipe, Interleaved1F1B, ZBVZeroBubble and DualPipeV"},
    {"plan.layers_per_stage", "deals layers evenly, with fewer on the first and the last stage"},
    {"plan.shard", "divides over whole groups of context ranks"},
    {"plan.etp", "takes expert ranks from tensor ranks: etp is 1 with ep > 1, else tp"},
    {"plan.precision",
     "converts products as the model's configuration says, which no key of the command line changes"},
    {"plan.recompute_modules", "repeats by operator (selective) or whole layers (full)"},
    {"plan.recompute_layers", "repeats by operator (selective) or whole layers (full)"},
    {"plan.optimizer", "has Adam and AdamW"},
    {"plan.dispatcher", "dispatches as the model's configuration says: by all-to-alls"},
    {"plan.loss", "works the loss off as the model's configuration says"},
    {"plan.overlap_grad_reduce", "reduces beside the backward"},
    {"plan.attention", "attends by kernels of scaled_dot_product_attention"},
    {"plan.lora", "is not told adapters by keys"},
    {"documents", "packs by its data, which no key states"},
};

void put_pipeline(const LaunchRun& run, Statements& s) {
  const Plan& plan = run.plan;
  const std::string schedule = s.take("plan.schedule");
  const std::string uneven = s.take("plan.layers_per_stage");
  s.take("plan.vpp");
  if (plan.pp == 1) return;
  const std::string_view theirs = schedule.empty()            ? "1F1B"
                                  : schedule == "gpipe"       ? "GPipe"
                                  : schedule == "interleaved" ? "Interleaved1F1B"
                                  : schedule == "zbv"         ? "ZBVZeroBubble"
                                  : schedule == "dualpipev"   ? "DualPipeV"
                                                              : "";
  if (theirs.empty()) {
    s.add("plan.schedule", schedule);
    return;
  }
  s.add("titan_schedule", theirs);
  s.add("pipeline_micro", digits(plan.micro_batch));
  const auto chunks = static_cast<std::int64_t>(run.layers.size());
  constexpr std::int64_t kMostLess = 16;
  for (std::int64_t sum = 0; sum <= 2 * kMostLess; ++sum)
    for (std::int64_t first = 0; first <= std::min(sum, kMostLess); ++first) {
      if (titan_split(run.model.layers(), chunks, first, sum - first) != run.layers) continue;
      const std::int64_t all = run.model.layers() + sum, each = (all + chunks - 1) / chunks;
      const bool usual = chunks == plan.pp * (theirs == "1F1B" || theirs == "GPipe" ? 1 : 2);
      if (!usual && (all + each - 1) / each != chunks) continue;
      if (!usual) s.add("stage_layers", digits(each));
      s.add("first_less", digits(first));
      s.add("last_less", digits(sum - first));
      return;
    }
  s.add("plan.layers_per_stage", uneven.empty() ? fmt::format("{}", fmt::join(run.layers, "-")) : uneven);
}

void put_sharding(const LaunchRun& run, Statements& s) {
  const Plan& plan = run.plan;
  const std::string zero = s.take("plan.zero");
  if (zero == "1") s.add("plan.zero", zero);
  if (zero == "0") {
    s.add("shard", "1");
    s.add("replicate", digits(plan.dp));
    return;
  }
  if (plan.dp % run.replicas != 0) return;  // the shard stays unstated
  s.take("plan.shard");
  s.add("shard", digits(plan.dp / run.replicas));
  s.add("replicate", digits(run.replicas));
  s.add("reshard", zero == "2" ? "never" : "always");
}

// A rank's batch is cut into the pipeline's micro-batches; without one it is a micro-batch, and steps are put together.
void put_batch(const LaunchRun& run, Statements& s) {
  const Plan& plan = run.plan;
  if (plan.pp > 1) s.add("plan.micro_batch", digits(plan.micro_batch * run.micro_batches()));
}

Statements titan_statements(const LaunchRun& run, const TitanFlavor* flavor, bool compiles) {
  Statements s = statements_of(run);
  s.take("nodes");  // torchrun's
  s.take("gpus_per_node");
  const std::string dropout = s.value("dropout");
  take_model(s);
  if (dropout != "0") s.add("dropout", dropout);
  if (flavor != nullptr) {
    s.add("titan_model", flavor->module);
    s.add("titan_config", flavor->config);
    s.accept("plan.precision", flavor->precision);
  } else {
    s.add("name", run.model.name);
    s.accept("plan.precision", "bf16");
  }
  s.accept("plan.sp", run.plan.tp > 1 ? "true" : "false");
  s.accept("plan.etp", digits(run.plan.ep > 1 ? 1 : run.plan.tp));
  s.accept("plan.cuda_graph", "none");
  s.add("compile", compiles ? "true" : "false");
  put_pipeline(run, s);
  put_sharding(run, s);
  put_batch(run, s);
  return s;
}

}  // namespace

WrittenLaunch titan_launch(const LaunchRun& run) {
  WrittenLaunch out;
  Launch& launch = out.launch;
  launch.framework = "torchtitan";
  start_by_torchrun(run, launch);
  launch.program = {"-m", "torchtitan.train"};
  const TitanFlavor* flavor = flavor_of(run);
  const bool compiles = run.stack == "torchtitan-compile";
  const bool overlaps = run.plan.tp_overlap.value_or(false);
  Statements s = titan_statements(run, flavor, compiles);
  for (const KeySetting& setting : settings_of(titan_rows(), s, Form::kFlags))
    launch.flags.push_back(flag_words(setting));
  if (compiles)
    launch.flags.push_back({"--compile.components", "model,loss"});
  else
    launch.flags.push_back({"--compile.no-enable"});
  if (!overlaps) launch.flags.push_back({"--parallelism.no-enable-async-tensor-parallel"});
  launch.flags.push_back({"--training.steps", "${TRAIN_STEPS}"});
  launch.flags.push_back({"--hf_assets_path", "${HF_ASSETS_PATH}"});
  launch.flags.push_back({"--dump_folder", "${DUMP_FOLDER}"});
  launch.flags.push_back({"--checkpoint.enable"});
  launch.env.emplace_back("PYTORCH_ALLOC_CONF", "expandable_segments:True");
  launch.beyond.insert(
      launch.beyond.begin(),
      {"HF_ASSETS_PATH", "the folder of the tokenizer that scripts/download_hf_assets.py made", ""});
  launch.beyond.push_back({"TRAIN_STEPS", "steps", "1000"});
  launch.beyond.push_back({"DUMP_FOLDER", "where checkpoints and logs go", "outputs"});
  launch.notes.emplace_back(
      "Data, optimizer and learning rate are those of the configuration. Start it where torchtitan is "
      "installed.");
  if (run.model.mtp_layers > 0) s.add("mtp_layers", std::to_string(run.model.mtp_layers));
  out.unstated = unstated_of(s, kInstead);
  return out;
}

}  // namespace foretrain
