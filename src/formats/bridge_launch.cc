// Megatron-Bridge: overrides of a recipe (ConfigContainer; src/megatron/bridge/training/config.py and recipes of
// NVIDIA-NeMo/Megatron-Bridge, 2026), given as scripts/training/run_recipe.py takes them. That program takes a precision by its name
// alone, so that a launch brings its own few lines, which make an object of it: its fields may then be overridden too. Fields are
// Megatron Core's, so that they follow from Megatron-LM's flags by rules: a section, a name with underscores.
#include <fmt/format.h>

#include <algorithm>

#include "formats/launch_facts.h"
#include "formats/megatron_launch.h"
#include "formats/megatron_rows.h"

namespace foretrain {
namespace {

struct BridgeName {
  std::string_view flag, path;
  bool inverted = false;
};
constexpr BridgeName kNames[] = {
    {"micro-batch-size", "train.micro_batch_size"},
    {"global-batch-size", "train.global_batch_size"},
    {"use-distributed-optimizer", "ddp.use_distributed_optimizer"},
    {"use-megatron-fsdp", "ddp.use_megatron_fsdp"},
    {"data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy"},
    {"num-distributed-optimizer-instances", "ddp.num_distributed_optimizer_instances"},
    {"overlap-grad-reduce", "ddp.overlap_grad_reduce"},
    {"overlap-param-gather", "ddp.overlap_param_gather"},
    {"bf16", "mixed_precision.bf16"},
    {"fp16", "mixed_precision.fp16"},
    {"fp8-format", "mixed_precision.fp8"},
    {"fp8-recipe", "mixed_precision.fp8_recipe"},
    {"fp4-format", "mixed_precision.fp4"},
    {"fp8-param-gather", "mixed_precision.fp8_param_gather"},
    {"fp8-dot-product-attention", "mixed_precision.fp8_dot_product_attention"},
    {"first-last-layers-bf16", "mixed_precision.first_last_layers_bf16"},
    {"num-layers-at-start-in-bf16", "mixed_precision.num_layers_at_start_in_bf16"},
    {"num-layers-at-end-in-bf16", "mixed_precision.num_layers_at_end_in_bf16"},
    {"reuse-grad-buf-for-mxfp8-param-ag", "mixed_precision.reuse_grad_buf_for_mxfp8_param_ag"},
    {"grad-reduce-in-bf16", "mixed_precision.grad_reduce_in_fp32", true},
    {"optimizer-cpu-offload", "optimizer.optimizer_cpu_offload"},
    {"swiglu", "model.gated_linear_unit"},
    {"disable-bias-linear", "model.add_bias_linear", true},
    {"untie-embeddings-and-output-weights", "model.share_embeddings_and_output_weights", true},
    {"num-experts", "model.num_moe_experts"},
    {"decoder-first-pipeline-num-layers", "model.num_layers_in_first_pipeline_stage"},
    {"decoder-last-pipeline-num-layers", "model.num_layers_in_last_pipeline_stage"},
    {"num-layers-per-virtual-pipeline-stage", ""},  // said by the chunks of a stage
    {"group-query-attention", ""},                  // by its groups
    {"max-position-embeddings", ""},                // by the length
    {"use-flash-attn", ""},                         // Transformer Engine's, as it finds them
};

std::string underscored(std::string_view flag) {
  std::string out(flag);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

// A value as Hydra's grammar takes it.
std::string value_of(const KeySetting& setting) {
  if (setting.key == "moe-layer-freq" || setting.key == "window-size" ||
      setting.key == "window-attn-skip-freq") {
    std::string value = setting.value();
    std::erase_if(value, [](char c) { return c == ' '; });
    return value.find(',') != std::string::npos && value.front() != '[' ? fmt::format("[{}]", value) : value;
  }
  if (setting.key == "pipeline-model-parallel-layout") return fmt::format("'{}'", setting.value());
  const bool list =
      setting.words.size() > 1 || setting.key == "recompute-modules" || setting.key == "cuda-graph-scope";
  return list ? fmt::format("[{}]", fmt::join(setting.words, ",")) : setting.words.front();
}

std::vector<std::string> override_of(const KeySetting& setting) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const BridgeName& name) { return name.flag == setting.key; });
  const bool known = found != std::end(kNames);
  const std::string path = known ? std::string(found->path) : "model." + underscored(setting.key);
  if (path.empty()) return {};
  const bool truth = setting.words.empty() || setting.value() == "false";
  if (!truth) return {path + "=" + value_of(setting)};
  const bool yes = setting.words.empty() != (known && found->inverted);
  return {path + "=" + (yes ? "true" : "false")};
}

// Heads of keys and values where each query has its own.
std::string digits_of_heads(const LaunchRun& run) {
  const Attention& attention = run.model.blocks.front().block.attention;
  return attention.is_latent() ? "" : std::to_string(attention.heads);
}

struct RecipeOf {
  std::string_view preset, name;
};
constexpr RecipeOf kRecipes[] = {
    {"llama-3-8b", "llama3_8b_pretrain_config"},        {"llama-3-70b", "llama3_70b_pretrain_config"},
    {"llama-3.1-405b", "llama31_405b_pretrain_config"}, {"llama-3.2-1b", "llama32_1b_pretrain_config"},
    {"llama-3.2-3b", "llama32_3b_pretrain_config"},     {"qwen3-30b-a3b", "qwen3_30b_a3b_pretrain_config"},
    {"deepseek-v3", "deepseek_v3_pretrain_config"},
};

// Of the model, or of one that is built the same way, whose sizes are overridden.
std::string recipe_of(const LaunchRun& run, const Statements& s) {
  for (const RecipeOf& recipe : kRecipes)
    if (recipe.preset == run.preset) return std::string(recipe.name);
  return s.has("kv_rank")   ? "deepseek_v3_pretrain_config"
         : s.has("experts") ? "qwen3_30b_a3b_pretrain_config"
                            : "llama3_8b_pretrain_config";
}

// A list of digits is written out: "000111" is [0,0,0,1,1,1].
std::string digits_list(std::string_view layers) {
  std::string out = "[";
  for (const char c : layers) out += (out.size() > 1 ? "," : "") + std::string(1, c);
  return out + "]";
}

constexpr Instead kInstead[] = {
    {"mlp", "is given activations by its recipes, of which those written here have swiglu"},
    {"positions", "is given positions by its recipes, of which those written here have rope"},
    {"plan.optimizer", "is given Adam"},
    {"fp4_params", "refuses fp4_param_gather"},
    {"plan.lora", "is given adapters by its fine-tuning recipes, which are not written"},
    {"window_layers", "is not given layers with windows among others"},
};

std::string program_text(const std::string& recipe, bool fp16) {
  return fmt::format(R"(import sys

import megatron.bridge.recipes as recipes
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import get_mixed_precision_config
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides

config = recipes.{}()
config.mixed_precision = get_mixed_precision_config("{}_mixed")  # an object, so that its fields can be overridden
config.comm_overlap = None  # what overlaps is said below
config = process_config_with_overrides(config, cli_overrides=sys.argv[1:])
config.dataset.seq_length = config.model.seq_length
pretrain(config=config, forward_step_func=forward_step)
)",
                     recipe, fp16 ? "fp16" : "bf16");
}

// What a recipe may have and the plan has not.
void add_nothings(const Settings& settings, std::vector<std::vector<std::string>>& flags) {
  const auto without = [&](std::string_view flag, const char* text) {
    if (find(settings, flag) == nullptr) flags.push_back({text});
  };
  without("pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout=null");
  without("decoder-first-pipeline-num-layers", "model.num_layers_in_first_pipeline_stage=null");
  without("decoder-last-pipeline-num-layers", "model.num_layers_in_last_pipeline_stage=null");
  without("recompute-granularity", "model.recompute_granularity=null");
  without("recompute-method", "model.recompute_method=null");
  without("recompute-num-layers", "model.recompute_num_layers=null");
  without("recompute-modules", "model.recompute_modules=null");
  without("cuda-graph-impl", "model.cuda_graph_impl=none");
  without("use-distributed-optimizer", "ddp.use_distributed_optimizer=false");
  without("use-megatron-fsdp", "ddp.use_megatron_fsdp=false");
  without("tp-comm-overlap", "model.tp_comm_overlap=false");
  without("grad-reduce-in-bf16", "mixed_precision.grad_reduce_in_fp32=true");
  without("qk-layernorm", "model.qk_layernorm=false");
  without("mtp-num-layers", "model.mtp_num_layers=null");
  if (find(settings, "num-experts") == nullptr) return;
  without("q-lora-rank", "model.q_lora_rank=null");
  without("moe-router-num-groups", "model.moe_router_num_groups=null");
  without("moe-router-group-topk", "model.moe_router_group_topk=null");
  without("moe-router-enable-expert-bias", "model.moe_router_enable_expert_bias=false");
  without("moe-router-score-function", "model.moe_router_score_function=softmax");
  without("moe-shared-expert-intermediate-size", "model.moe_shared_expert_intermediate_size=null");
  without("moe-layer-freq", "model.moe_layer_freq=1");
}

}  // namespace

WrittenLaunch bridge_launch(const LaunchRun& run) {
  constexpr const char* kFile = "train_bridge.py";
  WrittenLaunch out;
  Launch& launch = out.launch;
  launch.framework = "Megatron-Bridge";
  start_by_torchrun(run, launch);
  launch.program = {kFile};
  Statements s = megatron_statements(run);
  s.take("nodes");
  s.take("gpus_per_node");
  if (!s.is("mlp", "swiglu"))
    s.add("mlp", kMlpNames[static_cast<std::size_t>(run.model.blocks.front().block.feed_forward.mlp)]);
  s.accept("plan.optimizer", "adamw");
  if (s.has("moe_pattern")) s.add("moe_pattern", digits_list(statements_of(run).value("expert_layers")));
  const std::string recipe = recipe_of(run, s);
  const std::string kv = s.has("kv_heads") ? "" : digits_of_heads(run);
  const bool fp16 = s.is("plan.precision", "fp16");
  Settings settings = settings_of(megatron_rows(), s, Form::kValues);
  for (const KeySetting& setting : settings)
    if (std::vector<std::string> words = override_of(setting); !words.empty())
      launch.flags.push_back(std::move(words));
  if (!kv.empty()) launch.flags.push_back({"model.num_query_groups=" + kv});
  if (run.plan.pp > 1 || run.plan.vpp > 1)
    launch.flags.push_back({run.plan.vpp > 1 && find(settings, "pipeline-model-parallel-layout") == nullptr
                                ? fmt::format("model.virtual_pipeline_model_parallel_size={}", run.plan.vpp)
                                : "model.virtual_pipeline_model_parallel_size=null"});
  add_nothings(settings, launch.flags);
  if (find(settings, "cross-entropy-loss-fusion") != nullptr)
    launch.flags.push_back({"model.cross_entropy_fusion_impl=te"});
  launch.flags.push_back({fmt::format("optimizer.use_precision_aware_optimizer={}",
                                      find(settings, "optimizer-cpu-offload") != nullptr)});
  for (const char* state : {"main_grads", "exp_avg", "exp_avg_sq"})  // some recipes keep them in bf16
    launch.flags.push_back({fmt::format("optimizer.{}_dtype=torch.float32", state)});
  launch.flags.push_back({"train.train_iters=${TRAIN_ITERS}"});
  launch.flags.push_back({"optimizer.lr=${LR}"});
  launch.flags.push_back({"dataset.blend=[[${DATA_PATH}],null]"});
  launch.flags.push_back({"tokenizer.tokenizer_type=HuggingFaceTokenizer"});
  launch.flags.push_back({"tokenizer.tokenizer_model=${TOKENIZER_MODEL}"});
  launch.flags.push_back({"checkpoint.save=${CHECKPOINT_PATH}"});
  launch.flags.push_back({"checkpoint.load=${CHECKPOINT_PATH}"});
  launch.files.push_back({kFile, program_text(recipe, fp16)});
  add_connections(run, settings, launch);
  launch.beyond.insert(launch.beyond.begin(),
                       {{"DATA_PATH", "the prefix of data in the indexed format of Megatron", ""},
                        {"TOKENIZER_MODEL", "the tokenizer: a name on the hub or a folder", run.hub},
                        {"CHECKPOINT_PATH", "where checkpoints go, and are taken up again", "checkpoints"},
                        {"TRAIN_ITERS", "steps", "1000"},
                        {"LR", "learning rate", "3e-4"}});
  launch.notes.push_back(fmt::format(
      "What the plan does not say is as recipe {} has it. Start it where Megatron-Bridge is installed.",
      recipe));
  out.unstated = unstated_of(s, kInstead);
  for (Unstated& left : out.unstated)
    for (const Instead& other : megatron_instead())
      if (other.key == left.key && left.instead == "has no word for it") left.instead = other.words;
  return out;
}

}  // namespace foretrain
