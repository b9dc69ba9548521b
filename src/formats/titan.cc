#include "formats/titan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/key_table.h"

namespace foretrain {
namespace {

// torchtitan/config/job_config.py
constexpr KeyRow kRows[] = {
    {"model.name", "titan_model"},
    {"model.flavor", "titan_flavor"},
    {"module", "titan_model"},
    {"config", "titan_config"},
    {"model.converters", "converters"},
    {"model.*", ""},
    {"training.local_batch_size", "plan.micro_batch"},
    {"training.batch_size", "plan.micro_batch"},
    {"training.global_batch_size", "global_batch"},
    {"training.seq_len", "seq"},
    {"training.compile", "compile=true|false"},
    {"training.dtype", ""},
    {"training.mixed_precision_param", "plan.precision{bfloat16:bf16,float32:}"},
    {"training.mixed_precision_reduce", "plan.reduce_dtype{float32:fp32,bfloat16:bf16}"},
    {"training.enable_cpu_offload", "plan.offload_optimizer=true"},
    {"training.*", ""},
    {"parallelism.tensor_parallel_degree", "plan.tp"},
    {"training.tensor_parallel_degree", "plan.tp"},
    {"parallelism.pipeline_parallel_degree", "plan.pp"},
    {"experimental.pipeline_parallel_degree", "plan.pp"},
    {"parallelism.context_parallel_degree", "plan.cp"},
    {"experimental.context_parallel_degree", "plan.cp"},
    {"parallelism.expert_parallel_degree", "plan.ep"},
    {"parallelism.expert_tensor_parallel_degree", "plan.etp"},
    {"parallelism.data_parallel_shard_degree", "shard"},
    {"training.data_parallel_shard_degree", "shard"},
    {"parallelism.data_parallel_replicate_degree", "replicate"},
    {"training.data_parallel_replicate_degree", "replicate"},
    {"parallelism.fsdp_reshard_after_forward", "reshard"},
    {"parallelism.enable_async_tensor_parallel", "plan.tp_overlap=true|false"},
    {"experimental.enable_async_tensor_parallel", "plan.tp_overlap=true|false"},
    {"parallelism.pipeline_parallel_schedule", "titan_schedule"},
    {"experimental.pipeline_parallel_schedule", "titan_schedule"},
    {"parallelism.pipeline_parallel_microbatch_size", "pipeline_micro"},
    {"parallelism.context_parallel_rotate_method", "plan.cp_type{allgather:allgather,alltoall:p2p}"},
    {"parallelism.disable_loss_parallel", ""},
    {"parallelism.*", ""},
    {"experimental.*", ""},
    {"activation_checkpoint.mode",
     "plan.recompute{none:none,selective:selective,full:full,memory_budget:selective}"},
    {"activation_checkpoint.selective_ac_option", ""},
    {"activation_checkpoint.*", ""},
    {"compile.enable", "compile=true|false"},
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
    {"job.*", ""},
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

struct Flavor {
  std::string_view model, flavor, preset;
};
constexpr Flavor kFlavors[] = {
    {"llama3", "8B", "llama-3-8b"},
    {"llama3", "70B", "llama-3-70b"},
    {"llama3", "405B", "llama-3.1-405b"},
    {"llama4", "17bx16e", "llama-4-scout"},
    {"llama4", "17bx128e", "llama-4-maverick"},
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
};

void finish_model(Facts& f) {
  std::string model = f.word("titan_model"), flavor = f.word("titan_flavor");
  // The newer command line: --module llama3 --config llama3_8b.
  if (flavor.empty() && f.word("titan_config").starts_with(model + "_"))
    flavor = f.word("titan_config").substr(model.size() + 1);
  if (model.empty()) return;
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  for (const Flavor& known : kFlavors)
    if (known.model == model && lower(std::string(known.flavor)) == lower(flavor))
      f.set_usual("model", known.preset);
  f.set_usual("model", lower(model + "-" + flavor));
}

void finish_sharding(Facts& f) {
  const std::int64_t replicate = f.whole("replicate").value_or(1), shard = f.whole("shard").value_or(-1);
  if (shard == 1) {
    f.set_usual("plan.zero", "0");
  } else {
    f.set_usual("plan.zero", f.word("reshard") == "never" ? "2" : "3");
    if (replicate > 1 && shard > 1) f.set_usual("plan.shard", std::to_string(shard));
  }
  if (shard > 0) f.set_usual("dp", std::to_string(shard * replicate));
  // Sequence parallelism is part of torchtitan's tensor parallelism.
  if (f.whole("plan.tp").value_or(1) > 1) f.set_usual("plan.sp", "true");
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
  if (ours == "interleaved") f.set_usual("plan.vpp", "2");
  if (ours != "interleaved" && ours != "1f1b") f.set_usual("plan.schedule", ours);
}

void finish_precision(Facts& f) {
  const std::string converters = f.word("converters"), recipe = f.word("float8");
  if (converters.find("float8") != std::string::npos || !recipe.empty())
    f.set("plan.precision", recipe.find("rowwise") != std::string::npos ? "fp8-rowwise" : "fp8-current", "");
  if (converters.find("mx") != std::string::npos) f.set("plan.precision", "mxfp8", "");
  f.set_usual("plan.precision", "bf16");
}

}  // namespace

bool is_titan(const Settings& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const KeySetting& s) {
    const std::string_view key =
        std::string_view(s.key).substr(std::min(s.key.find_first_not_of('-'), s.key.size()));
    return key.starts_with("training.") || key.starts_with("parallelism.") ||
           key.starts_with("activation_checkpoint.");
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
  finish_model(f);
  finish_sharding(f);
  finish_pipeline(f);
  if (!f.has("global_batch")) f.set_usual("accumulation", "1");
  if (f.has("global_batch")) f.erase("accumulation");
  finish_precision(f);
  f.set_usual("stack", f.flag("compile") ? "torchtitan-compile" : "torchtitan");
  if (f.whole("plan.ep").value_or(1) < 2) f.erase("plan.ep"), f.erase("plan.etp");
  return foreign_run("torchtitan's configuration", std::move(f));
}

}  // namespace foretrain
