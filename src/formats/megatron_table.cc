#include "formats/megatron_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/key_table.h"

namespace foretrain {
namespace {

// megatron/training/arguments.py of Megatron-LM, arguments.py of Megatron-DeepSpeed, mindspeed's features; names of
// destinations where the log's block has them instead of flags.
constexpr KeyRow kRows[] = {
    // The model.
    {"num-layers", "layers"},
    {"encoder-num-layers", ""},
    {"hidden-size", "hidden"},
    {"ffn-hidden-size", "ffn"},
    {"num-attention-heads", "heads"},
    {"kv-channels", "head_dim"},
    {"group-query-attention", "grouped=true|false"},
    {"num-query-groups", "kv_heads"},
    {"num-key-value-heads", "kv_heads"},
    {"max-position-embeddings", "max_positions"},
    {"position-embedding-type",
     "positions{learned_absolute:learned,rope:rope,yarn:rope,mrope:rope,none:none,alibi:alibi,"
     "relative:none,rotary:rope}"},
    {"use-rotary-position-embeddings", "positions=rope"},
    {"use-alibi-position-embeddings", "positions=alibi"},
    {"no-position-embedding", "no_learned=true|false"},
    {"add-position-embedding", "no_learned=false|true"},
    {"rotary-percent", "rotary_fraction"},
    {"normalization", "norm{LayerNorm:layernorm,RMSNorm:rmsnorm,layernorm:layernorm,rmsnorm:rmsnorm}"},
    {"apply-layernorm-1p", ""},
    {"swiglu", "mlp=swiglu"},
    {"squared-relu", "mlp=squared_relu"},
    {"openai-gelu", "gelu=tanh"},
    {"disable-bias-linear", "biases=false|true"},
    {"add-bias-linear", "biases=true|false"},
    {"add-qkv-bias", "qkv_bias=true"},
    {"attention-bias", "qkv_bias=true|false"},
    {"untie-embeddings-and-output-weights", "tied=false|true"},
    {"qk-layernorm", "qk_norm=true"},
    {"vocab-size", "vocab"},
    {"padded-vocab-size", "padded_vocab"},
    {"make-vocab-size-divisible-by", ""},
    {"attention-dropout", "attention_dropout"},
    {"hidden-dropout", "dropout"},
    {"embed-layernorm", "embedding_norm=true"},
    {"embedding-layernorm", "embedding_norm=true"},
    {"mtp-num-layers", "mtp_layers"},
    {"multi-latent-attention", "latent=true|false"},
    {"q-lora-rank", "q_rank"},
    {"kv-lora-rank", "kv_rank"},
    {"qk-head-dim", "nope_dim"},
    {"qk-nope-head-dim", "nope_dim"},
    {"qk-pos-emb-head-dim", "rope_dim"},
    {"qk-rope-head-dim", "rope_dim"},
    {"v-head-dim", "v_dim"},
    {"window-size", "window_pair"},
    {"window-attn-skip-freq", "full_every"},
    {"softmax-type", "softmax"},
    {"num-experts", "experts"},
    {"moe-router-topk", "top_k"},
    {"topk", "top_k"},
    {"moe-ffn-hidden-size", "expert_ffn"},
    {"moe-intermediate-size", "expert_ffn"},
    {"moe-shared-expert-intermediate-size", "shared_ffn"},
    {"n-shared-experts", "shared_experts"},
    {"moe-shared-expert-gate", "shared_gate=true"},
    {"moe-layer-freq", "moe_pattern"},
    {"first-k-dense-replace", "dense_layers"},
    {"moe-router-num-groups", "routing_groups"},
    {"moe-router-group-topk", "group_limit"},
    {"moe-router-dtype", "router{fp32:fp32,fp64:fp32}"},
    {"expert-interval", ""},
    // The plan.
    {"tensor-model-parallel-size", "plan.tp"},
    {"target-tensor-parallel-size", ""},
    {"pipeline-model-parallel-size", "plan.pp"},
    {"context-parallel-size", "plan.cp"},
    {"cp-comm-type",
     "plan.cp_type{p2p:p2p,a2a:a2a,all_gather:allgather,allgather:allgather,a2a+p2p:a2a+p2p}"},
    {"context-parallel-algo",
     "plan.cp_type{megatron_cp_algo:p2p,ulysses_cp_algo:a2a,hybrid_cp_algo:a2a+p2p}"},
    {"expert-model-parallel-size", "plan.ep"},
    {"moe-expert-parallel-size", "plan.ep"},
    {"expert-tensor-parallel-size", "plan.etp"},
    {"sequence-parallel", "plan.sp=true|false"},
    {"num-layers-per-virtual-pipeline-stage", "layers_per_chunk"},
    {"num-virtual-stages-per-pipeline-rank", "plan.vpp"},
    {"virtual-pipeline-model-parallel-size", "plan.vpp"},
    {"pipeline-model-parallel-layout", "layout"},
    {"num-layer-list", "layer_list"},
    {"decoder-first-pipeline-num-layers", "first_layers"},
    {"decoder-last-pipeline-num-layers", "last_layers"},
    {"no-pipeline-parallel", ""},
    {"use-distributed-optimizer", "plan.zero=1"},
    {"reuse-fp32-param", "plan.master_weights=false"},
    {"zero-stage", "plan.zero"},
    {"use-megatron-fsdp", "fsdp=true|false"},
    {"use-custom-fsdp", "fsdp=true|false"},
    {"use-torch-fsdp2", "fsdp2=true|false"},
    {"data-parallel-sharding-strategy", "sharding"},
    {"num-distributed-optimizer-instances", "instances"},
    {"micro-batch-size", "plan.micro_batch"},
    {"bf16", "plan.precision=bf16"},
    {"fp16", "plan.precision=fp16"},
    {"fp8-format", "fp8"},
    {"fp8", "fp8"},
    {"fp8-hybrid", "fp8=hybrid"},
    {"fp8-e4m3", "fp8=e4m3"},
    {"fp8-recipe", "fp8_recipe"},
    {"fp4-format", "fp4"},
    {"fp4", "fp4"},
    {"fp8-param-gather", "fp8_params=true"},
    {"fp8-param", "fp8_params=true"},
    {"first-last-layers-bf16", "ends_bf16=true"},
    {"num-layers-at-start-in-bf16", "start_bf16"},
    {"num-layers-at-end-in-bf16", "end_bf16"},
    {"recompute-granularity", "plan.recompute{full:full,selective:selective}"},
    {"recompute-method", "recompute_method"},
    {"recompute-num-layers", "recompute_layers"},
    {"recompute-modules", "recompute_modules"},
    {"recompute-activations", "plan.recompute=selective"},
    {"checkpoint-activations", "plan.recompute=full"},
    {"checkpoint-num-layers", ""},
    {"deepspeed-activation-checkpointing", ""},
    {"distribute-saved-activations", "plan.partition_activations=true"},
    {"partition-activations", "plan.partition_activations=true"},
    {"use-flash-attn", "plan.attention=flash"},
    {"use-flash-attn-v1", "plan.attention=flash"},
    {"use-flash-attn-v2", "plan.attention=flash"},
    {"use-flash-attn-triton", "plan.attention=flash"},
    {"attention-backend",
     "plan.attention{flash:flash,fused:flash,unfused:unfused,local:unfused,auto:,"
     "AttnBackend.auto:,AttnBackend.flash:flash,AttnBackend.fused:flash}"},
    {"tp-comm-overlap", "plan.tp_overlap=true"},
    {"overlap-grad-reduce", "plan.overlap_grad_reduce=true"},
    {"overlap-param-gather", "plan.overlap_param_gather=true"},
    {"overlap-param-gather-with-optimizer-step", "!time"},
    {"grad-reduce-in-bf16", "half_reduce=true"},
    {"accumulate-allreduce-grads-in-fp32", "plan.grad_dtype=fp32"},
    {"cross-entropy-loss-fusion", "plan.loss_fusion=true"},
    {"cross-entropy-fusion-impl", ""},
    {"moe-token-dispatcher-type", "dispatcher"},
    {"moe-flex-dispatcher-backend", "flex_backend"},
    {"moe-enable-deepep", "flex_backend=deepep"},
    {"moe-permute-fusion", "plan.permute_fusion=true"},
    {"moe-router-fusion", "plan.router_fusion=true"},
    {"moe-grouped-gemm", "grouped_gemm=true|false"},
    {"moe-expert-capacity-factor", "plan.capacity_factor"},
    {"moe-train-capacity-factor", "plan.capacity_factor"},
    {"moe-pad-expert-input-to-capacity", "plan.capacity_pad=true"},
    {"moe-router-force-load-balancing", "plan.expert_imbalance=1"},
    {"overlap-moe-expert-parallel-comm", "plan.overlap_dispatch=true"},
    {"moe-shared-expert-overlap", "plan.overlap_shared=true"},
    {"optimizer", "plan.optimizer{adam:adamw,adamw:adamw,muon:muon,dist_muon:muon,hybridadam:adamw}"},
    {"optimizer-cpu-offload", "plan.offload_optimizer=true"},
    {"cpu-optimizer", "plan.offload_optimizer=true"},
    {"cpu-offloading", "plan.offload=true"},
    {"cuda-graph-impl", "graph_impl"},
    {"cuda-graph-scope", "graph_scope"},
    {"enable-cuda-graph", "plan.cuda_graph=layer"},
    {"external-cuda-graph", "plan.cuda_graph=layer"},
    {"use-cpu-initialization", ""},
    // The run.
    {"seq-length", "seq"},
    {"global-batch-size", "global_batch"},
    {"world-size", "gpus"},
    {"data-parallel-size", "dp"},
    {"nproc-per-node", "gpus_per_node"},
    {"num-gpus", "gpus_per_node"},
    {"nnodes", "nodes"},
    {"num-nodes", "nodes"},
    {"model", "model"},
    {"tokenizer-type", "tokenizer"},
    {"tokenizer-model", "tokenizer_model"},
    {"deepspeed", "deepspeed=true|false"},
    {"deepspeed-config", "deepspeed_config"},
    {"hybrid-layer-pattern", "hybrid"},
    {"hybrid-override-pattern", "hybrid"},
    {"is-hybrid-model", "hybrid=true"},
    {"hybrid-attention-ratio", ""},
    {"mamba-*", ""},
    {"heterogeneous-layers-config-path", "!time"},
    // What changes time or memory and has no part in the model of a step.
    {"deterministic-mode", "!time"},
    {"no-gradient-accumulation-fusion", "!time"},
    {"no-bias-gelu-fusion", "!time"},
    {"no-bias-swiglu-fusion", "!time"},
    {"no-bias-dropout-fusion", "!time"},
    {"no-masked-softmax-fusion", "!time"},
    {"no-rope-fusion", "!time"},
    {"no-persist-layer-norm", "!time"},
    {"use-fused-rmsnorm", ""},
    {"use-fused-swiglu", ""},
    {"use-fused-rotary-pos-emb", ""},
    {"use-precision-aware-optimizer", "!memory"},
    {"main-grads-dtype", "!memory"},
    {"main-params-dtype", "!memory"},
    {"exp-avg-dtype", "!memory"},
    {"exp-avg-sq-dtype", "!memory"},
    {"fine-grained-activation-offloading", "!memory"},
    {"empty-unused-memory-level", "!time"},
    {"tp-comm-bulk-*", "!time"},
    {"delay-wgrad-compute", "!time"},
    {"use-nccl-ub", "!time"},
    {"overlap-p2p-communication-warmup-flush", "!time"},
    {"no-overlap-p2p-communication", "!time"},
    {"curriculum-learning", "!time"},
    {"random-ltd", "!time"},
    {"rampup-batch-size", ""},
    {"step-batch-size-schedule", ""},
    {"apply-query-key-layer-scaling", ""},
    // Known, and nothing to a step.
    {"use-mcore-models", ""},
    {"use-legacy-models", ""},
    {"transformer-impl", ""},
    {"lr", ""},
    {"lr-*", ""},
    {"min-lr", ""},
    {"weight-decay*", ""},
    {"start-weight-decay", ""},
    {"end-weight-decay", ""},
    {"adam-*", ""},
    {"clip-grad", ""},
    {"init-method-std", ""},
    {"init-method-*", ""},
    {"seed", ""},
    {"train-iters", ""},
    {"train-samples", ""},
    {"train-tokens", ""},
    {"eval-*", ""},
    {"save*", ""},
    {"load*", ""},
    {"log-*", ""},
    {"tensorboard-*", ""},
    {"wandb-*", ""},
    {"data-*", ""},
    {"split", ""},
    {"train-data-path", ""},
    {"valid-data-path", ""},
    {"test-data-path", ""},
    {"per-split-data-args-path", ""},
    {"vocab-file", ""},
    {"merge-file", ""},
    {"tokenizer-*", ""},
    {"tiktoken-*", ""},
    {"mock-data", ""},
    {"num-workers", ""},
    {"no-save-*", ""},
    {"no-load-*", ""},
    {"use-checkpoint-*", ""},
    {"ckpt-*", ""},
    {"dist-ckpt-*", ""},
    {"async-save", ""},
    {"auto-detect-ckpt-format", ""},
    {"exit-*", ""},
    {"distributed-*", ""},
    {"local-rank", ""},
    {"master-addr", ""},
    {"master-port", ""},
    {"node-rank", ""},
    {"rdzv-*", ""},
    {"max-restarts", ""},
    {"tee", ""},
    {"rotary-base", ""},
    {"rotary-scaling-factor", ""},
    {"rotary-seq-len-interpolation-factor", ""},
    {"use-rope-scaling", ""},
    {"rope-*", ""},
    {"mscale*", ""},
    {"norm-epsilon", ""},
    {"layernorm-epsilon", ""},
    {"attention-softmax-in-fp32", ""},
    {"no-attention-softmax-in-fp32", ""},
    {"no-check-for-nan-in-loss-and-grad", ""},
    {"manual-gc*", ""},
    {"moe-aux-loss-coeff", ""},
    {"moe-router-*", ""},
    {"moe-z-loss-coeff", ""},
    {"moe-token-drop-policy", ""},
    {"moe-loss-coeff", ""},
    {"moe-eval-capacity-factor", ""},
    {"moe-min-capacity", ""},
    {"moe-use-*", ""},
    {"moe-per-layer-logging", ""},
    {"mtp-loss-scaling-factor", ""},
    {"fp8-amax-*", ""},
    {"fp8-margin", ""},
    {"fp8-interval", ""},
    {"initial-loss-scale", ""},
    {"loss-scale*", ""},
    {"min-loss-scale", ""},
    {"hysteresis", ""},
    {"no-mmap-bin-files", ""},
    {"no-create-attention-mask-in-dataloader", ""},
    {"reset-*", ""},
    {"eod-mask-loss", ""},
    {"timing-log-*", ""},
    {"profile*", ""},
    {"use-pytorch-profiler", ""},
    {"nccl-communicator-config-path", ""},
    {"calculate-per-token-loss", ""},
    {"override-opt*", ""},
    {"use-checkpoint-opt*", ""},
    {"synchronize-each-layer", ""},
    {"contigious-checkpointing", ""},
    {"dataloader-type", ""},
    {"codecarbon-dir", ""},
    {"inference", ""},
    {"deepspeed-mpi", ""},
    {"decoupled-*", ""},
    {"init-model-with-meta-device", ""},
    {"fsdp-*", ""},
    {"disable-mem-efficient-load", ""},
    {"rerun-mode", ""},
    {"bf16-lm-loss", ""},
    {"skip-train", ""},
    {"dataset-impl", ""},
    {"finetune", ""},
    {"no-async-*", ""},
    {"pp-partition-method", ""},
    {"kill-switch-path", ""},
    {"abort-on-unmet-fused-kernel-constraints", ""},
    {"sync-tp-duplicated-parameters", ""},
    {"checkpoint-in-cpu", ""},
    {"num-dataset-builder-threads", ""},
};

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
  if (f.word("positions") != "rope") f.erase("rotary_fraction");
  if (f.word("softmax").find("learnable") != std::string::npos) f.set_usual("sinks", "true");
  std::string pair = f.word("window_pair");  // (127,0): as many keys before a query
  std::erase_if(pair, [](char c) { return c == '(' || c == ')'; });
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
  const std::string type = f.word("tokenizer"), model = f.word("tokenizer_model");
  const auto is = [&](std::string_view part) { return model.find(part) != std::string::npos; };
  std::string_view size = "50257";
  if (type == "Llama2Tokenizer" || is("llama-2") || is("Llama-2") || is("ixtral") || is("istral"))
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

void finish_experts(Facts& f) {
  // A model known by its name alone may have some.
  if (!f.has("hidden")) {
    if (f.has("dispatcher")) finish_dispatcher(f);
    return;
  }
  if (f.whole("experts").value_or(1) <= 1) {
    for (const std::string_view key :
         {"experts", "top_k", "expert_ffn", "shared_ffn", "shared_gate", "dense_layers", "routing_groups",
          "group_limit", "router", "plan.ep", "plan.etp", "plan.permute_fusion", "plan.router_fusion",
          "plan.capacity_factor", "plan.capacity_pad", "plan.expert_imbalance", "plan.overlap_dispatch",
          "plan.overlap_shared"})
      f.erase(key);
    return;
  }
  f.set_usual("top_k", f.flag("deepspeed") ? "1" : "2");
  f.set_usual("expert_ffn", f.word("ffn"));
  if (const auto shared = f.whole("shared_experts"); shared && *shared > 0 && f.whole("expert_ffn"))
    f.set_usual("shared_ffn", digits(*shared * *f.whole("expert_ffn")));
  if (const std::string pattern = f.word("moe_pattern"); !pattern.empty()) {
    // A period, or a list in Python's words: ([0]*3+[1]*58).
    const std::size_t zeros = pattern.find("[0]*");
    if (const auto every = whole_word(pattern); every && *every > 1)
      f.set_usual("expert_every", digits(*every));
    else if (zeros != std::string::npos)
      f.set_usual("dense_layers",
                  pattern.substr(zeros + 4, pattern.find_first_not_of("0123456789", zeros + 4) - zeros - 4));
    else if (!every)
      f.assume(fmt::format("moe-layer-freq {} is not understood: experts in every layer", quoted(pattern)));
  }
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
    f.set("plan.precision", "nvfp4", f.word("fp4"));
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
  if (f.flag("half_reduce")) f.set_usual("plan.reduce_dtype", "bf16");
}

void finish_pipeline(Facts& f) {
  const auto layers = f.whole("layers");
  const std::int64_t pp = std::max<std::int64_t>(1, f.whole("plan.pp").value_or(1));
  if (const auto each = f.whole("layers_per_chunk"); each && *each > 0 && layers && pp > 1) {
    const std::int64_t chunks = *layers / (pp * *each);
    if (chunks * pp * *each == *layers)
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
  if (pp > 1 && layers && (first || last) && !f.has("plan.vpp")) {
    const std::int64_t middles = pp - (first ? 1 : 0) - (last ? 1 : 0);
    const std::int64_t rest = *layers - first.value_or(0) - last.value_or(0);
    if (middles > 0 && rest % middles == 0) {
      std::string stages = first ? digits(*first) : "";
      for (std::int64_t i = 0; i < middles; ++i)
        stages += (stages.empty() ? "" : "-") + digits(rest / middles);
      if (last) stages += "-" + digits(*last);
      f.set_usual("plan.layers_per_stage", stages);
    }
  }
  if (f.has("layout"))
    f.assume("pipeline-model-parallel-layout is not read: layers are dealt by the stack's rule");
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
    f.set_usual("plan.cuda_graph", impl == "full_iteration" ? "full" : modules_of);
  }
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
  }
  const bool deepspeed = f.flag("deepspeed") || f.has("deepspeed_config");
  f.set_usual("stack", deepspeed ? "deepspeed-megatron" : "megatron");
  if (deepspeed && f.has("deepspeed_config"))
    f.assume(fmt::format("deepspeed-config {} is not read: its ZeRO stage and batch are those of the flags",
                         quoted(f.word("deepspeed_config"))));
  if (f.whole("plan.zero").value_or(0) == 0) f.erase("plan.overlap_param_gather");
  if (f.has("instances") && f.whole("instances").value_or(1) > 1)
    f.not_modelled.emplace_back("num-distributed-optimizer-instances", "memory");
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
  for (Setting& setting : settings) setting.key = megatron_key(setting.key);
  apply_table(kRows, settings, facts);
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
  finish_recompute(facts);
  finish_sharding(facts);
  return {};
}

}  // namespace foretrain
