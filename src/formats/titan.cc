#include "formats/titan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/key_table.h"
#include "formats/titan_models.h"

namespace foretrain {
namespace {

constexpr KeyUse kBoth = KeyUse::kBoth;

// torchtitan/config/job_config.py, and configs.py and manager.py of 2026 (commit 0014ac2c of pytorch/torchtitan), whose command
// line names a module and one of its configurations, and overrides them by keys.
constexpr KeyRow kRows[] = {
    {"model.name", "titan_model"},
    {"model.flavor", "titan_flavor"},
    {"module", "titan_model", kBoth},
    {"config", "titan_config", kBoth},
    {"model.converters", "converters"},
    {"model.*", ""},
    {"training.local_batch_size", "plan.micro_batch", kBoth},
    {"training.batch_size", "plan.micro_batch"},
    {"training.global_batch_size", "global_batch", kBoth},
    {"training.seq_len", "seq", kBoth},
    {"training.compile", "compile=true|false"},
    {"training.dtype", "titan_dtype"},
    {"training.enable_float8_linear", "float8_linear=true|false"},
    {"float8.enable_float8_linear", "float8_linear=true|false"},
    {"training.mixed_precision_param", "plan.precision{bfloat16:bf16,float32:}"},
    {"training.mixed_precision_reduce", "plan.reduce_dtype{float32:fp32,bfloat16:bf16}"},
    {"training.enable_cpu_offload", "plan.offload_optimizer=true", kBoth},
    {"training.*", ""},
    {"parallelism.tensor_parallel_degree", "plan.tp", kBoth},
    {"training.tensor_parallel_degree", "plan.tp"},
    {"parallelism.pipeline_parallel_degree", "plan.pp", kBoth},
    {"experimental.pipeline_parallel_degree", "plan.pp"},
    {"parallelism.context_parallel_degree", "plan.cp", kBoth},
    {"experimental.context_parallel_degree", "plan.cp"},
    {"parallelism.expert_parallel_degree", "plan.ep", kBoth},
    {"parallelism.expert_tensor_parallel_degree", "plan.etp"},
    {"parallelism.data_parallel_shard_degree", "shard", kBoth},
    {"training.data_parallel_shard_degree", "shard"},
    {"training.data_parallel_degree", "shard"},
    {"parallelism.data_parallel_replicate_degree", "replicate", kBoth},
    {"training.data_parallel_replicate_degree", "replicate"},
    {"parallelism.fsdp_reshard_after_forward", "reshard", kBoth},
    {"parallelism.enable_async_tensor_parallel", "plan.tp_overlap=true|false", kBoth},
    {"experimental.enable_async_tensor_parallel", "plan.tp_overlap=true|false"},
    {"parallelism.pipeline_parallel_schedule", "titan_schedule", kBoth},
    {"experimental.pipeline_parallel_schedule", "titan_schedule"},
    {"parallelism.pipeline_parallel_microbatch_size", "pipeline_micro", kBoth},
    {"parallelism.context_parallel_rotate_method", "plan.cp_type{allgather:allgather,alltoall:p2p}", kBoth},
    {"parallelism.enable_sequence_parallel", "plan.sp=true|false"},
    {"parallelism.no_enable_async_tensor_parallel", "plan.tp_overlap=false"},
    {"parallelism.pipeline_parallel_layers_per_stage", "stage_layers", kBoth},
    {"parallelism.pipeline_parallel_first_stage_less_layers", "first_less", kBoth},
    {"parallelism.pipeline_parallel_last_stage_less_layers", "last_less", kBoth},
    {"parallelism.disable_loss_parallel", ""},
    {"parallelism.*", ""},
    {"experimental.*", ""},
    {"activation_checkpoint.mode",
     "plan.recompute{none:none,selective:selective,full:full,<memory_budget:selective}", kBoth},
    {"activation_checkpoint.selective_ac_option", "selective_option"},
    {"activation_checkpoint.*", ""},
    {"compile.enable", "compile=true|false", kBoth},
    {"compile.no_enable", "compile=false"},
    {"compile.components", ""},
    {"compile.model", ""},
    {"compile.loss", ""},
    {"optimizer.name", "plan.optimizer{AdamW:adamw,Adam:adamw}"},
    {"quantize.linear.float8.recipe_name", "float8"},
    {"float8.recipe_name", "float8"},
    {"quantize.linear.mx.recipe_name", "mx"},
    {"quantize.*", ""},
    {"float8.*", ""},
    {"mx.*", ""},
    {"optimizer.*", ""},
    {"lr_scheduler.*", ""},
    {"job.config_file", "titan_file"},
    {"job.*", ""},
    {"hf_assets_path", ""},
    {"dump_folder", ""},
    {"dataloader.*", ""},
    {"profiling.*", ""},
    {"metrics.*", ""},
    {"checkpoint.*", ""},
    {"comm.*", ""},
    {"validation.*", ""},
    {"debug.*", ""},
    {"fault_tolerance.*", ""},
    {"memory_estimation.*", ""},
    {"nproc_per_node", "gpus_per_node"},
    {"nnodes", "nodes"},
    {"rdzv_*", ""},
    {"local_ranks_filter", ""},
    {"role", ""},
    {"tee", ""},
    {"standalone", ""},
    {"node_rank", ""},
    {"master_*", ""},
    {"max_restarts", ""},
};

// A file that is not at hand is known by its name where torchtitan has one of that name.
void name_file(Facts& f) {
  std::string name = f.word("titan_file");
  name = name.substr(name.rfind('/') + 1);
  if (name.ends_with(".toml")) name.resize(name.size() - 5);
  if (name.empty() || f.has("titan_model")) return;
  for (const TitanFlavor& known : titan_flavors())
    if (known.config == name) f.set_usual("titan_model", known.module), f.set_usual("titan_config", name);
  f.assume(fmt::format("{} is not read{}: other keys are those of the flags, or torchtitan's own",
                       printable(f.word("titan_file")),
                       f.has("titan_model") ? ", its model is known by its name" : ""));
}

void finish_model(Facts& f) {
  std::string model = f.word("titan_model"), flavor = f.word("titan_flavor");
  const std::string config = f.word("titan_config");
  if (model.empty()) return;
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  for (const TitanFlavor& known : titan_flavors()) {
    if (known.module != model) continue;
    const bool by_config = !config.empty() && known.config == config;
    if (!by_config && (flavor.empty() || lower(std::string(known.flavor)) != lower(flavor))) continue;
    f.set_usual("model", known.presets.substr(0, known.presets.find(' ')));
    f.set_usual("model_layers", std::to_string(known.layers));
    if (by_config) f.set_usual("plan.precision", known.precision);
  }
  // The newer command line: --module llama3 --config llama3_8b.
  if (flavor.empty() && config.starts_with(model + "_")) flavor = config.substr(model.size() + 1);
  f.set_usual("model", lower(model + "-" + flavor));
}

void finish_sharding(Facts& f) {
  const std::int64_t replicate = f.whole("replicate").value_or(1), shard = f.whole("shard").value_or(-1);
  // Context ranks are part of the mesh that fully_shard divides over.
  const std::int64_t cp = std::max<std::int64_t>(1, f.whole("plan.cp").value_or(1));
  if (shard == 1 && cp == 1) {
    f.set_usual("plan.zero", "0");
  } else {
    f.set_usual("plan.zero", f.word("reshard") == "never" ? "2" : "3");
    if (replicate > 1 && shard > 0) f.set_usual("plan.shard", std::to_string(product({shard, cp})));
  }
  if (shard > 0) f.set_usual("dp", std::to_string(product({shard, replicate})));
  // Sequence parallelism is part of torchtitan's tensor parallelism.
  if (f.whole("plan.tp").value_or(1) > 1) f.set_usual("plan.sp", "true");
}

// Chunks a stage and their layers, where the keys state them and the model is known.
void finish_stages(std::int64_t usual, bool interleaved, Facts& f) {
  const auto layers = f.whole("model_layers");
  const std::int64_t pp = std::max<std::int64_t>(1, f.whole("plan.pp").value_or(1));
  if (!layers || (!f.has("stage_layers") && !f.has("first_less") && !f.has("last_less"))) return;
  const std::int64_t first = f.whole("first_less").value_or(1), last = f.whole("last_less").value_or(1);
  const std::int64_t each = f.whole("stage_layers").value_or(0);
  const std::int64_t chunks = each > 0 ? (*layers + first + last + each - 1) / each : product({pp, usual});
  const auto split = titan_split(*layers, chunks, first, last);
  if (chunks % pp != 0 || split.empty()) {
    f.contradict(fmt::format("{} layers in {} chunks do not go over {} stages", *layers, chunks, pp));
    return;
  }
  if (interleaved && chunks / pp > 1) f.set_usual("plan.vpp", std::to_string(chunks / pp));
  const bool even =
      std::all_of(split.begin(), split.end(), [&](std::int64_t n) { return n == split.front(); });
  if (!even) f.set_usual("plan.layers_per_stage", fmt::format("{}", fmt::join(split, "-")));
}

void finish_pipeline(Facts& f) {
  const std::string schedule = f.word("titan_schedule", "1F1B");
  if (f.whole("plan.pp").value_or(1) < 2) return;
  const std::int64_t local = std::max<std::int64_t>(1, f.whole("plan.micro_batch").value_or(1));
  const std::int64_t micro = std::max<std::int64_t>(1, f.whole("pipeline_micro").value_or(1));
  // A rank's batch is cut into the pipeline's micro-batches.
  f.erase("plan.micro_batch");
  f.set_usual("plan.micro_batch", std::to_string(micro));
  f.set_usual("accumulation", std::to_string(std::max<std::int64_t>(1, local / micro)));
  const std::string_view ours = schedule == "GPipe"                                ? "gpipe"
                                : schedule == "ZBVZeroBubble"                      ? "zbv"
                                : schedule == "DualPipeV"                          ? "dualpipev"
                                : schedule.find("nterleaved") != std::string::npos ? "interleaved"
                                                                                   : "1f1b";
  finish_stages(ours == "gpipe" || ours == "1f1b" ? 1 : 2, ours == "interleaved", f);
  if (ours == "interleaved") f.set_usual("plan.vpp", "2");
  if (ours != "interleaved" && ours != "1f1b") f.set_usual("plan.schedule", ours);
}

void finish_precision(Facts& f) {
  const std::string converters = f.word("converters"), recipe = f.word("float8");
  if (converters.find("float8") != std::string::npos || !recipe.empty() || f.flag("float8_linear"))
    f.set("plan.precision", recipe.find("rowwise") != std::string::npos ? "fp8-rowwise" : "fp8-current", "");
  if (converters.find("mx") != std::string::npos) f.set("plan.precision", "mxfp8", "");
  f.set_usual("plan.precision", "bf16");
  // Weights, gradients and states in the format of the passes.
  if (f.word("titan_dtype", "float32") != "float32")
    f.not_modelled.emplace_back("training.dtype " + f.word("titan_dtype"), "memory");
}

// A number in place of "op": each n-th layer is run again as a whole.
void finish_recompute(Facts& f) {
  const auto each = whole_word(f.word("selective_option"));
  if (f.word("plan.recompute") != "selective" || !each) return;
  if (*each == 1) {
    f.erase("plan.recompute");
    f.set_usual("plan.recompute", "full");
  } else {
    f.not_modelled.emplace_back(fmt::format("activation_checkpoint.selective_ac_option {}", *each),
                                "time and memory");
  }
}

}  // namespace

std::span<const KeyRow> titan_rows() { return kRows; }

bool is_titan(const Settings& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const KeySetting& s) {
    const std::string_view key =
        std::string_view(s.key).substr(std::min(s.key.find_first_not_of('-'), s.key.size()));
    return key.starts_with("training.") || key.starts_with("parallelism.") ||
           key.starts_with("activation_checkpoint.") || key.starts_with("job.config");
  });
}

Result<ForeignRun> read_titan(Settings settings) {
  for (KeySetting& setting : settings) {
    setting.key.erase(0, std::min(setting.key.find_first_not_of('-'), setting.key.size()));
    std::replace(setting.key.begin(), setting.key.end(), '-', '_');
  }
  Facts f;
  apply_table(kRows, settings, f);
  if (f.has("gpus_per_node") && find(settings, "nnodes") == nullptr) f.set_usual("nodes", "1");
  if (f.whole("global_batch").value_or(-1) < 1) f.erase("global_batch");
  name_file(f);
  finish_model(f);
  finish_sharding(f);
  finish_pipeline(f);
  if (!f.has("global_batch")) f.set_usual("accumulation", "1");
  if (f.has("global_batch")) f.erase("accumulation");
  finish_precision(f);
  finish_recompute(f);
  f.set_usual("stack", f.flag("compile") ? "torchtitan-compile" : "torchtitan");
  if (f.whole("plan.ep").value_or(1) < 2)
    f.erase("plan.ep"), f.erase("plan.etp");
  else
    f.set_usual("plan.etp", "1");  // expert ranks are taken from tensor ranks too
  return foreign_run("torchtitan's configuration", std::move(f));
}

}  // namespace foretrain
