// Flags are those of megatron/training/arguments.py (commit 000c4ac2 of NVIDIA/Megatron-LM, late 2025) and of the fields of
// megatron/core/transformer/transformer_config.py, of which later versions make flags by themselves (moe-flex-dispatcher-backend,
// fp8-dot-product-attention, activation-func-fp8-input-store, several words of cuda-graph-scope). What goes with what is asked
// for by validate_args there.
#include "formats/megatron_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/launch_facts.h"
#include "formats/layer_list.h"
#include "formats/megatron_rows.h"
#include "formats/pipeline_layout.h"

namespace foretrain {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

void put_attention(const LaunchRun& run, Statements& s) {
  if (s.has("kv_rank")) {
    s.add("latent", "true");
    s.take("kv_heads");
    s.add("head_dim", s.value("v_dim"));  // kv-channels, which hidden over heads need not give
    s.add("qk_norm", "true");             // the norms of the latents
  } else if (s.value("kv_heads") == s.value("heads")) {
    s.take("kv_heads");
  } else {
    s.add("grouped", "true");
  }
  if (s.has("window"))
    s.add("window_pair",
          fmt::format("{},0", run.model.blocks.empty() ? 0 : std::stoll(s.take("window")) - 1));
  if (const std::string layers = s.value("window_layers"); !layers.empty()) {
    // Each n-th layer sees all: its number, or a list.
    const std::size_t every = layers.find('0') + 1;
    bool periodic = true;
    for (std::size_t i = 0; i < layers.size(); ++i)
      periodic = periodic && (layers[i] == '0') == ((i + 1) % every == 0);
    if (periodic) s.take("window_layers"), s.add("full_every", digits(static_cast<std::int64_t>(every)));
  }
  if (s.has("sinks")) s.take("sinks"), s.add("softmax", "learnable");
}

void put_model(const LaunchRun& run, Statements& s) {
  put_attention(run, s);
  s.accept("mlp", "gelu");
  s.accept("norm_bias", s.is("norm", "layernorm") ? "true" : "false");
  // One flag for all of a block; with it off, queries, keys and values may have theirs.
  s.accept("qkv_bias", run.model.biases ? "true" : "false");
  s.accept("projection_bias", run.model.biases ? "true" : "false");
  // A learned table is as long as the model states it; whatever else, no sequence is longer.
  s.add("max_positions",
        digits(std::max(run.seq, run.model.positions == Positions::kLearned ? run.model.max_positions : 0)));
  s.add("attention_dropout", s.value("dropout"));
  // Without its flag the router's product is in the format of the passes, its softmax in fp32.
  s.accept("router", "half");
  s.accept("router", "fp32_weights");
  // A bias that balances is for sigmoids alone (core/transformer/transformer_config.py).
  const auto& blocks = run.model.blocks;
  if (std::any_of(blocks.begin(), blocks.end(),
                  [](const BlockRun& b) { return b.block.feed_forward.balancing_bias; }))
    s.add("balancing_bias", "true"), s.add("scores", "sigmoid");
  if (s.has("expert_layers")) s.add("moe_pattern", list_of_layers(s.take("expert_layers")));
}

void put_pipeline(const LaunchRun& run, Statements& s) {
  const Plan& plan = run.plan;
  if (plan.vpp > 1) s.accept("plan.schedule", "interleaved");
  const std::string uneven = s.take("plan.layers_per_stage");
  s.take("plan.vpp");
  if (uneven.empty()) {
    if (plan.vpp > 1) s.add("layers_per_chunk", digits(run.layers.front()));
    return;
  }
  const auto& layers = run.layers;
  const bool ends = plan.vpp == 1 && std::all_of(layers.begin() + 1, layers.end() - 1,
                                                 [&](std::int64_t n) { return n == layers[1]; });
  if (ends) {
    s.add("first_layers", digits(layers.front()));
    s.add("last_layers", digits(layers.back()));
  } else {
    s.add("layout", layout_of_layers(layers, run.model.mtp_layers));
  }
}

void put_sharding(const LaunchRun& run, Statements& s) {
  const Plan& plan = run.plan;
  const std::string zero = s.value("plan.zero");
  s.accept("plan.zero", "0");
  // Its FSDP stands on the distributed optimizer.
  if (plan.zero >= 2 || (plan.zero == 1 && run.stack == "megatron-fsdp")) {
    s.add("plan.zero", "1");
    s.add("fsdp", "true");
    s.add("sharding", zero == "1" ? "optim" : zero == "2" ? "optim_grads" : "optim_grads_params");
  }
  s.take("plan.shard");
  if (plan.zero > 0 && run.replicas > 1) s.add("instances", digits(run.replicas));
}

void put_recompute(const LaunchRun& run, Statements& s) {
  s.accept("plan.recompute", "none");
  if (run.plan.recompute == Recompute::kFull) {
    // The first so many layers of each chunk, or all of them one by one.
    const std::int64_t some = run.plan.recompute_layers;
    s.take("plan.recompute_layers");
    s.add("recompute_method", some > 0 ? "block" : "uniform");
    s.add("recompute_layers", digits(std::max<std::int64_t>(1, some)));
  }
  if (std::string modules = s.take("plan.recompute_modules"); !modules.empty()) {
    std::replace(modules.begin(), modules.end(), '+', ' ');
    s.add("recompute_modules", modules);
  }
  std::string scope = s.value("plan.cuda_graph");
  if (scope == "none") s.take("plan.cuda_graph");
  if (scope.empty() || scope == "none") return;
  s.take("plan.cuda_graph");
  s.add("graph_impl", scope == "full" ? "local" : "transformer_engine");
  std::replace(scope.begin(), scope.end(), '+', ' ');
  if (scope == "full") s.add("graph_scope", kFullIteration);
  if (scope != "full" && scope != "layer") s.add("graph_scope", scope);  // without it: whole layers
}

struct Narrow {
  std::string_view precision, format, recipe;
};
constexpr Narrow kNarrow[] = {
    {"fp8-delayed", "hybrid", "delayed"},
    {"fp8-current", "hybrid", "tensorwise"},
    {"fp8-blockwise", "e4m3", "blockwise"},
    {"mxfp8", "e4m3", "mxfp8"},
};

void put_precision(Statements& s) {
  const std::string precision = s.value("plan.precision");
  const bool params = s.is("plan.fp8_params", "true");
  for (const Narrow& narrow : kNarrow)
    if (precision == narrow.precision) {
      s.add("plan.precision", "bf16");
      s.add("fp8", narrow.format);
      s.add("fp8_recipe", narrow.recipe);
      if (params) s.take("plan.fp8_params"), s.add("fp8_params", "true");
      // Weights are gathered in the buffer of gradients, and cast there.
      if (params && precision == "mxfp8") s.add("reuses_buffer", "true");
    }
  if (precision == "nvfp4") {
    s.add("plan.precision", "bf16");
    s.add("fp4", "e2m1");
    if (params) s.take("plan.fp8_params"), s.add("fp4_params", "true");
  }
  s.accept("plan.fp8_params", "false");
  if (const std::string ends = s.take("plan.bf16_layers"); !ends.empty()) {
    const std::size_t dash = ends.find('-');
    s.add("ends_bf16", "true");
    s.add("start_bf16", ends.substr(0, dash));
    s.add("end_bf16", ends.substr(dash + 1));
  }
  // Runs in bf16 add up and reduce in fp32 unless told otherwise, those in fp16 in fp16; both in one buffer.
  const std::string grads = s.value("plan.grad_dtype");
  if (grads != s.value("plan.reduce_dtype")) return;
  const bool half = s.is("plan.precision", "fp16");
  const bool unasked = grads == (half ? "fp16" : "fp32");
  if (grads == "bf16" && !half) s.add("half_reduce", "true");
  if (unasked || (grads == "bf16" && !half)) s.take("plan.grad_dtype"), s.take("plan.reduce_dtype");
  if (half && grads == "fp32") s.take("plan.reduce_dtype");  // said by accumulate-allreduce-grads-in-fp32
}

void put_experts(Statements& s) {
  if (!s.has("experts")) return;
  const std::string dispatcher = s.take("plan.dispatcher");
  const bool flex = dispatcher == "deepep" || dispatcher == "hybridep";
  if (!dispatcher.empty()) s.add("dispatcher", flex ? "flex" : dispatcher);
  if (flex) s.add("flex_backend", dispatcher);
  if (s.is("plan.expert_products", "grouped")) s.take("plan.expert_products"), s.add("grouped_gemm", "true");
}

constexpr Instead kInstead[] = {
    {"plan.schedule", "has 1f1b, and interleaved where vpp > 1"},
    {"plan.loss", "works the loss off whole"},
    {"plan.mlp_chunks", "has no tiled MLP"},
    {"plan.offload",
     "keeps activations on the GPU (cpu-offloading-num-layers goes with neither pipelines nor "
     "recomputation)"},
    {"plan.lora", "has no adapters; Megatron-Bridge has (megatron-bridge)"},
    {"plan.paged", "has no paged optimizer"},
    {"plan.optimizer", "has Adam and Muon in fp32 states (exp-avg-dtype is not written)"},
    {"plan.master_weights", "keeps an fp32 copy of half-precision weights"},
    {"plan.sp_gather_again", "gathers a saved shard again in the backward"},
    {"plan.dispatch_dtype", "sends tokens in the precision of the passes"},
    {"plan.expert_products", "is launched with moe-grouped-gemm"},
    {"plan.grad_dtype", "adds up and reduces gradients in one format: fp32, or that of the passes"},
    {"plan.reduce_dtype", "adds up and reduces gradients in one format: fp32, or that of the passes"},
    {"plan.attention_kernel", "takes the kernels that Transformer Engine finds"},
    {"plan.fp8_head", "keeps the last product in the precision of the passes"},
    {"plan.expert_sync", "waits for the router's counts unless capacity_pad fixes them"},
    {"plan.precision", "has bf16, fp16, fp8-delayed, fp8-current, fp8-blockwise, mxfp8 and nvfp4"},
    {"mlp", "has gelu, swiglu and squared_relu"},
    {"positions", "has learned, rope and none"},
    {"qk_norm", "norms each head by itself (true)"},
    {"blocks", "takes layers that differ in their window and in having experts, in nothing else"},
    {"window_layers", "lets each n-th layer see all, or none"},
    {"documents", "packs by its data, which no flag states"},
    {"projection_bias", "has one flag for biases of projection and MLP"},
    {"qkv_bias", "has one flag for all biases, and one for those of queries, keys and values alone"},
    {"norm_bias", "has biases in layer norms and none in RMS norms"},
    {"residual", "adds attention and MLP one after the other"},
};

// What the flags above need beside them.
void add_companions(const LaunchRun& run, Settings& out) {
  const auto has = [&](std::string_view key) { return find(out, key) != nullptr; };
  const auto add = [&](const char* key, std::vector<std::string> words = {}) {
    out.push_back({key, std::move(words), {}});
  };
  if (has("cross-entropy-loss-fusion")) add("cross-entropy-fusion-impl", {"te"});
  if (has("optimizer-cpu-offload")) add("use-precision-aware-optimizer");
  if (has("use-megatron-fsdp")) add("ckpt-format", {"fsdp_dtensor"});
  if (run.plan.optimizer == OptimizerKind::kMuon) add("ckpt-format", {"torch"});
  if (const KeySetting* scope = find(out, "cuda-graph-scope");
      scope != nullptr && scope->value() == kFullIteration)
    add("no-check-for-nan-in-loss-and-grad");
  if (has("cuda-graph-impl")) add("te-rng-tracker");
}

// Data, tokenizer, learning rate: nothing to a step's time, all to a training.
void add_training(const LaunchRun& run, Launch& launch) {
  launch.beyond.insert(launch.beyond.begin(),
                       {{"MEGATRON_PATH", "the folder of Megatron-LM, with pretrain_gpt.py", ""},
                        {"DATA_PATH", "the prefix of data that tools/preprocess_data.py made", ""},
                        {"TOKENIZER_MODEL", "the tokenizer: a name on the hub or a folder", run.hub}});
  for (const Launch::Blank& blank : std::initializer_list<Launch::Blank>{
           {"CHECKPOINT_PATH", "where checkpoints go, and are taken up again", "checkpoints"},
           {"TRAIN_ITERS", "steps", "1000"},
           {"LR", "learning rate", "3e-4"},
           {"MIN_LR", "and at the end", "3e-5"},
           {"WARMUP_ITERS", "steps to reach it", "100"}})
    launch.beyond.push_back(blank);
  if (run.model.positions == Positions::kRope)
    launch.beyond.push_back({"ROTARY_BASE", "base of rotary positions, which a plan does not know", "10000"});
  const bool experts =
      std::any_of(run.model.blocks.begin(), run.model.blocks.end(),
                  [](const BlockRun& blocks) { return blocks.block.feed_forward.has_experts(); });
  const auto add = [&](std::vector<std::string> words) { launch.flags.push_back(std::move(words)); };
  if (experts) {
    launch.beyond.push_back({"MOE_AUX_LOSS_COEFF", "weight of the loss that balances experts", "1e-2"});
    launch.notes.emplace_back(
        "How the router scores, scales and biases is not of the plan: add moe-router flags where the model "
        "asks for more.");
    add({"--moe-router-load-balancing-type", "aux_loss"});
    add({"--moe-aux-loss-coeff", "${MOE_AUX_LOSS_COEFF}"});
  }
  if (run.model.positions == Positions::kRope) add({"--rotary-base", "${ROTARY_BASE}"});
  add({"--tokenizer-type", "HuggingFaceTokenizer"});
  add({"--tokenizer-model", "${TOKENIZER_MODEL}"});
  add({"--data-path", "${DATA_PATH}"});
  add({"--split", "99,1,0"});
  add({"--train-iters", "${TRAIN_ITERS}"});
  add({"--lr", "${LR}"});
  add({"--min-lr", "${MIN_LR}"});
  add({"--lr-decay-style", "cosine"});
  add({"--lr-warmup-iters", "${WARMUP_ITERS}"});
  add({"--weight-decay", "0.1"});
  add({"--adam-beta1", "0.9"});
  add({"--adam-beta2", "0.95"});
  add({"--clip-grad", "1.0"});
  add({"--save", "${CHECKPOINT_PATH}"});
  add({"--load", "${CHECKPOINT_PATH}"});
  add({"--save-interval", "1000"});
  add({"--eval-interval", "1000"});
  add({"--eval-iters", "10"});
  add({"--log-interval", "1"});
  add({"--log-throughput"});
}

}  // namespace

std::span<const Instead> megatron_instead() { return kInstead; }

Statements megatron_statements(const LaunchRun& run) {
  Statements s = statements_of(run);
  put_model(run, s);
  put_pipeline(run, s);
  put_sharding(run, s);
  put_recompute(run, s);
  put_precision(s);
  put_experts(s);
  if (s.has("plan.cp_a2a"))
    s.add("cp_sizes", fmt::format("{} {}", run.plan.cp_a2a, run.plan.cp / std::stoll(s.take("plan.cp_a2a"))));
  return s;
}

PlanFlags megatron_plan_flags(const LaunchRun& run) {
  Statements s = megatron_statements(run);
  s.take("nodes");
  s.take("gpus_per_node");
  Settings settings = settings_of(megatron_rows(), s, Form::kFlags);
  add_companions(run, settings);
  PlanFlags out;
  bool of_plan = false;  // the table has the model's rows first
  for (const KeySetting& setting : settings) {
    of_plan = of_plan || setting.key == "tensor-model-parallel-size";
    if (of_plan) out.flags.push_back(fmt::format("{}", fmt::join(flag_words(setting), " ")));
  }
  for (Unstated& left : unstated_of(s, kInstead))
    if (left.key.starts_with("plan.") || left.key == "documents") out.unstated.push_back(std::move(left));
  return out;
}

void add_connections(const LaunchRun& run, const Settings& settings, Launch& launch) {
  const bool fsdp = find(settings, "use-megatron-fsdp") != nullptr;
  if (fsdp || run.plan.overlap_dispatch)
    launch.env.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", fsdp ? "8" : "32");
  else if (run.one_connection)
    launch.env.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
}

WrittenLaunch megatron_launch(const LaunchRun& run) {
  WrittenLaunch out;
  Launch& launch = out.launch;
  launch.framework = "Megatron-LM";
  start_by_torchrun(run, launch);
  launch.program = {"${MEGATRON_PATH}/pretrain_gpt.py"};
  Statements s = megatron_statements(run);
  s.take("nodes");  // torchrun's
  s.take("gpus_per_node");
  Settings settings = settings_of(megatron_rows(), s, Form::kFlags);
  add_companions(run, settings);
  for (const KeySetting& setting : settings) launch.flags.push_back(flag_words(setting));
  add_training(run, launch);
  add_connections(run, settings, launch);
  out.unstated = unstated_of(s, kInstead);
  return out;
}

}  // namespace foretrain
