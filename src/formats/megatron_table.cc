#include "formats/megatron_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/adapter_facts.h"
#include "formats/key_table.h"
#include "formats/layer_list.h"
#include "formats/megatron_rows.h"
#include "formats/pipeline_layout.h"
#include "spec/model_fields.h"

namespace foretrain {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

void finish_sizes(Facts& f) {
  const auto hidden = f.whole("hidden");
  const bool gated = f.word("mlp") == "swiglu";
  f.set_usual("mlp", "gelu");
  f.set_usual("norm", "layernorm");
  f.set_usual("biases", "true");
  f.set_usual("tied", "true");
  f.set_usual("dropout", "0.1");
  // validate_args: four times the hidden size, of gated ones two thirds of it in multiples of 64.
  if (hidden && !f.has("ffn"))
    f.set_usual("ffn", digits(gated ? *hidden * 4 * 2 / 3 / 64 * 64 : 4 * *hidden));
  if (!f.flag("grouped") && f.has("grouped")) f.erase("kv_heads");
  if (!f.has("positions")) f.set_usual("positions", f.flag("no_learned") ? "none" : "learned");
  if (f.word("positions") != "learned") f.erase("max_positions");
  if (f.word("positions") == "learned" && f.has("seq")) f.set_usual("max_positions", f.word("seq"));
  if (f.word("positions") != "rope") f.erase("rotary_fraction");
  if (f.word("softmax").find("learnable") != std::string::npos) f.set_usual("sinks", "true");
  std::string pair = f.word("window_pair");  // (127,0): as many keys before a query
  std::erase_if(pair, [](char c) { return c == '(' || c == ')' || c == '[' || c == ']'; });
  if (const auto keys = whole_word(pair.substr(0, pair.find_first_of(", "))); keys && *keys > 0)
    f.set_usual("window", digits(*keys + 1));
  if (!f.has("window")) f.erase("full_every");
}

// Published tokenizers by their names in launches.
void finish_vocab(Facts& f) {
  if (f.has("vocab")) return;
  if (f.has("padded_vocab")) {
    f.set_usual("vocab", f.word("padded_vocab"));
    return;
  }
  const std::string type = f.word("tokenizer"),
                    model = f.word("tokenizer_model") + " " + f.word("tokenizer_file");
  const auto is = [&](std::string_view part) { return model.find(part) != std::string::npos; };
  std::string_view size = "50257";
  if (type == "Llama2Tokenizer" || is("llama-2") || is("Llama-2") || is("llama2") || is("ixtral") ||
      is("istral"))
    size = "32000";
  if (type == "Llama3Tokenizer" || is("lama-3") || is("lama3")) size = "128256";
  if (is("wen")) size = "151936";
  if (is("eep")) size = "129280";
  f.set_usual("vocab", size);
  f.assume(fmt::format("vocab: {} (the tokenizer's, which the flags do not state)", size));
}

void finish_dispatcher(Facts& f) {
  const std::string dispatcher = f.word("dispatcher", "allgather"),
                    backend = f.word("flex_backend", "deepep");
  if (dispatcher == "flex")
    f.set_usual("plan.dispatcher", backend == "hybridep" ? "hybridep" : "deepep");
  else
    f.set_usual("plan.dispatcher", dispatcher.find("alltoall") != std::string::npos || f.flag("deepspeed")
                                       ? "alltoall"
                                       : "allgather");
}

// A period, or a list in Python's words.
void finish_expert_layers(Facts& f) {
  const std::string pattern = f.word("moe_pattern");
  if (pattern.empty()) return;
  if (const auto every = whole_word(pattern)) {
    if (*every > 1) f.set_usual("expert_every", digits(*every));
    return;
  }
  const auto layers = layers_in_list(pattern);
  const std::size_t dense = layers ? std::min(layers->find('1'), layers->size()) : 0;
  if (layers && layers->find('0', dense) == std::string::npos && dense < layers->size()) {
    if (dense > 0) f.set_usual("dense_layers", digits(static_cast<std::int64_t>(dense)));
    return;
  }
  // Each n-th layer: n - 1 dense ones, then one with experts, and so on.
  const std::size_t every = dense + 1;
  bool periodic = layers && layers->size() % every == 0;
  for (std::size_t i = 0; periodic && i < layers->size(); ++i)
    periodic = ((*layers)[i] == '1') == (i % every == every - 1);
  if (periodic)
    f.set_usual("expert_every", digits(static_cast<std::int64_t>(every)));
  else
    f.assume(fmt::format("moe-layer-freq {} is not understood: experts in every layer", quoted(pattern)));
}

void finish_experts(Facts& f) {
  // A model known by its name alone may have some.
  if (!f.has("hidden")) {
    if (f.has("dispatcher")) finish_dispatcher(f);
    return;
  }
  if (f.whole("experts").value_or(1) <= 1) {
    for (const std::string_view key :
         {"experts", "top_k", "expert_ffn", "shared_ffn", "shared_gate", "balancing_bias", "dense_layers",
          "routing_groups", "group_limit", "router", "plan.ep", "plan.etp", "plan.permute_fusion",
          "plan.router_fusion", "plan.capacity_factor", "plan.capacity_pad", "plan.expert_imbalance",
          "plan.overlap_dispatch", "plan.overlap_shared"})
      f.erase(key);
    return;
  }
  f.set_usual("top_k", f.flag("deepspeed") ? "1" : "2");
  f.set_usual("expert_ffn", f.word("ffn"));
  if (const auto shared = f.whole("shared_experts"); shared && *shared > 0 && f.whole("expert_ffn"))
    f.set_usual("shared_ffn", digits(product({*shared, *f.whole("expert_ffn")})));
  finish_expert_layers(f);
  finish_dispatcher(f);
}

void finish_latent(Facts& f) {
  const bool latent = f.has("latent") ? f.flag("latent") : f.has("kv_rank");
  if (!latent) {
    for (const std::string_view key : {"q_rank", "kv_rank", "nope_dim", "rope_dim", "v_dim"}) f.erase(key);
    return;
  }
  // MLATransformerConfig's own.
  for (const auto& [key, value] : {std::pair("kv_rank", "512"), std::pair("nope_dim", "128"),
                                   std::pair("rope_dim", "64"), std::pair("v_dim", "128")})
    f.set_usual(key, value);
  for (const std::string_view key : {"kv_heads", "head_dim", "qk_norm"}) f.erase(key);
}

void finish_precision(Facts& f) {
  const std::string recipe = f.word("fp8_recipe", "delayed");
  if (f.has("fp4")) {
    f.erase("plan.precision");
    f.set("plan.precision", "nvfp4", "fp4-format");
    if (f.flag("fp4_params")) f.set_usual("plan.fp8_params", "true");
  } else if (f.has("fp8") && f.word("fp8") != "false") {
    f.erase("plan.precision");
    f.set("plan.precision",
          recipe == "mxfp8"        ? "mxfp8"
          : recipe == "blockwise"  ? "fp8-blockwise"
          : recipe == "tensorwise" ? "fp8-current"
                                   : "fp8-delayed",
          "fp8");
    if (f.flag("fp8_params")) f.set_usual("plan.fp8_params", "true");
  }
  if (!f.has("plan.precision"))
    f.assume("precision: bf16 (neither --bf16 nor --fp16 is given: fp32 is not modelled)");
  // One buffer, in which gradients are added up and reduced (accumulate_allreduce_grads_in_fp32 is off then).
  if (f.flag("half_reduce")) f.set_usual("plan.grad_dtype", "bf16"), f.set_usual("plan.reduce_dtype", "bf16");
}

// Chunks by Megatron's letters, whose number says how many a stage has.
void finish_layout(std::int64_t pp, Facts& f) {
  const auto chunks = layers_of_layout(f.word("layout"));
  const auto size = static_cast<std::int64_t>(chunks ? chunks->size() : 0);
  if (!chunks || size % pp != 0) {
    f.assume(fmt::format(
        "pipeline-model-parallel-layout {} is not followed ({}): layers are dealt by the stack's rule",
        quoted(f.word("layout")),
        chunks ? fmt::format("{} chunks on {} stages", size, pp) : chunks.error().message));
    return;
  }
  if (size > pp) f.set("plan.vpp", digits(size / pp), "pipeline-model-parallel-layout");
  f.set_usual("plan.layers_per_stage", fmt::format("{}", fmt::join(*chunks, "-")));
}

void finish_pipeline(Facts& f) {
  const auto layers = f.whole("layers");
  const std::int64_t pp = std::max<std::int64_t>(1, f.whole("plan.pp").value_or(1));
  if (const auto each = f.whole("layers_per_chunk"); each && *each > 0 && layers && pp > 1) {
    const std::int64_t chunks = *layers / product({pp, *each});
    if (product({chunks, pp, *each}) == *layers)
      f.set("plan.vpp", digits(chunks), "num-layers-per-virtual-pipeline-stage");
    else
      f.contradict(fmt::format("{} layers are not a multiple of pp {} x {} layers a virtual stage", *layers,
                               pp, *each));
  }
  if (pp == 1 || f.whole("plan.vpp") == 1) f.erase("plan.vpp");
  std::string list = f.word("layer_list");
  if (pp > 1 && !list.empty()) {
    std::replace(list.begin(), list.end(), ',', '-');
    f.set_usual("plan.layers_per_stage", list);
  }
  const auto first = f.whole("first_layers"), last = f.whole("last_layers");
  // More layers than a model may have are refused when it is read, and are not written down one by one before.
  const bool sane = layers && *layers <= kMaxLayers && first.value_or(0) >= 0 && last.value_or(0) >= 0;
  if (pp > 1 && sane && (first || last) && !f.has("plan.vpp")) {
    const std::int64_t middles = pp - (first ? 1 : 0) - (last ? 1 : 0);
    const std::int64_t rest = *layers - first.value_or(0) - last.value_or(0);
    if (middles == 0 ? rest == 0 : middles > 0 && middles <= rest && rest % middles == 0) {
      std::string stages = first ? digits(*first) : "";
      for (std::int64_t i = 0; i < middles; ++i)
        stages += (stages.empty() ? "" : "-") + digits(rest / middles);
      if (last) stages += "-" + digits(*last);
      f.set_usual("plan.layers_per_stage", stages);
    }
  }
  if (f.has("layout") && pp > 1) finish_layout(pp, f);
}

void finish_context(Facts& f) {
  // Megatron-DeepSpeed's: DeepSpeed-Ulysses, which exchanges heads.
  if (f.whole("ulysses").value_or(1) > 1) {
    f.set("plan.cp", f.word("ulysses"), "ds-sequence-parallel-size");
    f.set("plan.cp_type", "a2a", "ds-sequence-parallel-size");
  }
  if (f.whole("plan.cp").value_or(1) < 2) {
    f.erase("plan.cp_type");
    return;
  }
  std::string sizes = f.word("cp_sizes");  // "2 4" or a list: neighbours that exchange heads, rings of these
  std::erase_if(sizes, [](char c) { return c == '[' || c == ']' || c == ','; });
  if (f.word("plan.cp_type") == "a2a+p2p" && !sizes.empty())
    f.set_usual("plan.cp_a2a", sizes.substr(0, sizes.find(' ')));
}

void finish_recompute(Facts& f) {
  const auto number = f.whole("recompute_layers");
  if (f.word("plan.recompute") == "full" && f.word("recompute_method") == "block" && number && *number > 0)
    f.set_usual("plan.recompute_layers", digits(*number));
  std::string modules = f.word("recompute_modules");
  if (f.word("plan.recompute") == "selective" && !modules.empty()) {
    std::erase_if(modules, [](char c) { return c == '[' || c == ']' || c == '\'' || c == ','; });
    std::replace(modules.begin(), modules.end(), ' ', '+');
    f.set_usual("plan.recompute_modules", modules);
  }
  if (f.whole("plan.tp").value_or(1) < 2 && f.flag("plan.sp")) {
    f.erase("plan.sp");
    f.assume("sequence-parallel has no effect with tp 1");
  }
  if (f.word("plan.recompute") != "full") f.erase("plan.partition_activations");
  const std::string impl = f.word("graph_impl"), scope = f.word("graph_scope");
  if (!impl.empty() && impl != "none") {
    std::string modules_of = scope.empty() ? "layer" : scope;
    std::replace(modules_of.begin(), modules_of.end(), ' ', '+');
    f.set_usual("plan.cuda_graph",
                impl == "full_iteration" ? "full" : modules_of);  // "full_iteration" is our word too
  }
}

// The local specification's attention is products and a softmax (core/transformer/dot_product_attention.py).
void finish_attention(Facts& f) {
  if (f.word("implementation") == "local") f.set_usual("plan.attention", "unfused");
}

void finish_sharding(Facts& f) {
  const std::string sharding = f.word("sharding", "no_shard");
  if (f.flag("fsdp") || f.flag("fsdp2")) {
    const std::string_view zero = sharding == "optim"                                   ? "1"
                                  : sharding == "optim_grads"                           ? "2"
                                  : sharding == "optim_grads_params" || f.flag("fsdp2") ? "3"
                                                                                        : "0";
    f.erase("plan.zero");
    f.set("plan.zero", zero, "data-parallel-sharding-strategy");
    f.set_usual("stack", f.flag("fsdp2") ? "fsdp2" : "megatron-fsdp");
    // Only strategies that divide gradients switch it on by themselves.
    if (zero == "1") f.set_usual("plan.overlap_grad_reduce", "false");
  }
  const bool deepspeed = f.flag("deepspeed") || f.has("deepspeed_config");
  f.set_usual("stack", deepspeed ? "deepspeed-megatron" : "megatron");
  if (f.has("plan.lora") &&
      f.word("stack") == "megatron") {  // forks of Megatron-LM have adapters, it has none
    f.erase("stack");
    f.set_usual("stack", "megatron-bridge");
    f.assume("adapters as Megatron Bridge has them");
  }
  if (deepspeed && f.has("deepspeed_config"))
    f.assume(fmt::format("deepspeed-config {} is not read: its ZeRO stage and batch are those of the flags",
                         quoted(f.word("deepspeed_config"))));
  if (f.whole("plan.zero").value_or(0) == 0) f.erase("plan.overlap_param_gather");
  if (f.whole("plan.zero").value_or(0) == 0 || f.whole("instances") == 1) f.erase("instances");
  if (f.flag("ends_bf16"))
    f.set_usual("plan.bf16_layers", f.word("start_bf16", "1") + "-" + f.word("end_bf16", "1"));
  if (f.word("plan.precision", "bf16") == "bf16" || f.word("plan.precision") == "fp16")
    f.erase("plan.bf16_layers");
}

}  // namespace

std::string megatron_key(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string key(word);
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

Result<void> apply_megatron(Settings settings, Facts& facts) {
  for (KeySetting& setting : settings) setting.key = megatron_key(setting.key);
  apply_table(megatron_rows(), settings, facts);
  // torchrun's own where nobody says: one node.
  if (facts.has("gpus_per_node") && find(settings, "nnodes") == nullptr &&
      find(settings, "num-nodes") == nullptr)
    facts.set_usual("nodes", "1");
  if (facts.has("hybrid") && facts.word("hybrid") != "0.0" && facts.word("hybrid") != "0")
    return fail(
        "found layers of state spaces (hybrid-layer-pattern), which are not modelled; the nearest that works "
        "is a "
        "transformer of the same hidden size and layers",
        facts.all().at("hybrid").at);
  if (facts.has("hidden")) {
    finish_sizes(facts);
    finish_vocab(facts);
    finish_latent(facts);
  }
  finish_experts(facts);
  finish_precision(facts);
  finish_pipeline(facts);
  finish_context(facts);
  finish_recompute(facts);
  finish_attention(facts);
  finish_sharding(facts);
  if (facts.has("plan.lora")) name_targets(facts);
  return {};
}

}  // namespace foretrain
