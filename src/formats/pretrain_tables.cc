// Frameworks that train from nothing: nanotron, GPT-NeoX, MaxText, NeMo.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/tree_tables.h"

namespace foretrain {
namespace {

constexpr KeyUse kBoth = KeyUse::kBoth;

// src/nanotron/config: config.py, parallelism_config.py (commit 19f88fbe of huggingface/nanotron), models_config.py (025f3141).
constexpr KeyRow kNanotron[] = {
    {"parallelism.dp", "dp", kBoth},
    {"parallelism.tp", "plan.tp", kBoth},
    {"parallelism.pp", "plan.pp", kBoth},
    {"parallelism.context_parallel_size", "plan.cp", kBoth},
    {"parallelism.expert_parallel_size", "plan.ep"},
    {"parallelism.pp_engine", "plan.schedule{1f1b:1f1b,afab:gpipe}", kBoth},
    {"parallelism.tp_mode", "plan.sp{REDUCE_SCATTER:true,ALL_REDUCE:false}", kBoth},
    {"parallelism.tp_recompute_allgather", "plan.sp_gather_again=true|false", kBoth},
    {"parallelism.tp_linear_async_communication", ""},
    {"parallelism.recompute_layer", "plan.recompute=full|none", kBoth},
    {"parallelism.*", ""},
    {"tokens.micro_batch_size", "plan.micro_batch", kBoth},
    {"tokens.batch_accumulation_per_replica", "accumulation", kBoth},
    {"tokens.sequence_length", "seq", kBoth},
    {"tokens.*", ""},
    {"optimizer.zero_stage", "plan.zero", kBoth},
    {"optimizer.accumulate_grad_in_fp32", "plan.grad_dtype=fp32|bf16", kBoth},
    {"optimizer.*", ""},
    {"model.dtype", "plan.precision{bfloat16:bf16,float16:fp16,float32:}", kBoth},
    {"model.model_config.num_hidden_layers", "layers", kBoth},
    {"model.model_config.hidden_size", "hidden", kBoth},
    {"model.model_config.num_attention_heads", "heads", kBoth},
    {"model.model_config.num_key_value_heads", "kv_heads", kBoth},
    {"model.model_config.intermediate_size", "ffn", kBoth},
    {"model.model_config.vocab_size", "vocab", kBoth},
    {"model.model_config.tie_word_embeddings", "tied=true|false", kBoth},
    {"model.model_config.head_dim", "head_dim"},
    {"model.model_config.is_llama_config", "llama=true", kBoth},
    {"model.model_config.is_qwen2_config", "qwen=true", kBoth},
    {"model.model_config.attention_bias", "qkv_bias=true|false", kBoth},
    {"model.model_config.moe_config.num_experts", "experts"},
    {"model.model_config.moe_config.top_k", "top_k"},
    {"model.model_config.moe_config.moe_intermediate_size", "expert_ffn"},
    {"model.model_config.moe_config.shared_expert_intermediate_size", "shared_ffn"},
    {"model.model_config.moe_config.enable_shared_expert", "has_shared=true|false"},
    {"model.model_config.sliding_window_size", "window"},
    {"model.*", ""},
    {"checkpoints.*", ""},
    {"data_stages*", ""},
    {"general.*", ""},
    {"logging.*", ""},
    {"tokenizer.*", ""},
    {"profiler*", ""},
    {"lighteval.*", ""},
    {"s3_upload*", ""},
    {"metrics_logging*", ""},
};

// megatron/neox_arguments of GPT-NeoX
constexpr KeyRow kNeox[] = {
    {"pipe_parallel_size", "plan.pp"},
    {"model_parallel_size", "plan.tp"},
    {"context_parallel_size", "plan.cp"},
    {"sequence_parallel", "plan.sp=true"},
    {"num_layers", "layers"},
    {"hidden_size", "hidden"},
    {"num_attention_heads", "heads"},
    {"num_kv_heads", "kv_heads"},
    {"intermediate_size", "ffn"},
    {"seq_length", "seq"},
    {"max_position_embeddings", "max_positions"},
    {"norm",
     "norm{layernorm:layernorm,non_parametric_layernorm:layernorm,rmsnorm:rmsnorm,te_rmsnorm:rmsnorm,"
     "te_layernorm:layernorm,scalenorm:rmsnorm}"},
    {"pos_emb", "positions{rotary:rope,learned:learned,alibi:alibi,none:none,sinusoidal:none}"},
    {"rotary_pct", "rotary_fraction"},
    {"no_weight_tying", "tied=false|true"},
    {"gpt_j_residual", "residual=parallel|sequential"},
    {"activation", "neox_activation"},
    {"mlp_type", "neox_mlp"},
    {"use_bias_in_attn_linear", "qkv_bias=true|false"},
    {"use_bias_in_mlp", "biases=true|false"},
    {"attention_config", "neox_attention"},
    {"hidden_dropout", "dropout"},
    {"attention_dropout", ""},
    {"zero_optimization.stage", "plan.zero"},
    {"zero_stage", "plan.zero"},
    {"zero_optimization.cpu_offload", "plan.offload_optimizer=true"},
    {"zero_optimization.*", ""},
    {"train_micro_batch_size_per_gpu", "plan.micro_batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"train_batch_size", "global_batch"},
    {"checkpoint_activations", "plan.recompute=full|none"},
    {"partition_activations", "plan.partition_activations=true|false"},
    {"fp16.enabled", "plan.precision=fp16"},
    {"bf16.enabled", "plan.precision=bf16"},
    {"precision", "plan.precision{fp16:fp16,bfloat16:bf16,fp32:}"},
    {"moe_num_experts", "experts"},
    {"moe_top_k", "top_k"},
    {"moe_expert_parallel_size", "plan.ep"},
    {"expert_interval", "expert_every"},
    {"make_vocab_size_divisible_by", ""},
    {"padded_vocab_size", "vocab"},
    {"vocab_size", "vocab"},
    {"num_gpus", "gpus"},
    {"global_num_gpus", "gpus"},
    {"sliding_window_width", "window"},
    {"optimizer.type", "plan.optimizer{Adam:adamw,adam:adamw,AdamW:adamw,OneBitAdam:adamw,CPU_Adam:adamw}"},
    {"optimizer.*", ""},
    {"fp16.*", ""},
    {"bf16.*", ""},
    {"fp32_allreduce", "plan.reduce_dtype=fp32"},
    {"checkpoint_num_layers", "checkpoint_layers"},
    {"synchronize_each_layer", "!time"},
    {"scaled_upper_triang_masked_softmax_fusion", "?time"},
    {"bias_gelu_fusion", "?time"},
    {"rotary_emb_base", ""},
    {"*_norm_epsilon", ""},
    {"output_layer_parallelism", ""},
    {"*init_method*", ""},
    {"*lr*", ""},
    {"warmup", ""},
    {"weight_decay", ""},
    {"gradient_clipping", ""},
    {"train_iters", ""},
    {"eval_*", ""},
    {"data_*", ""},
    {"*_data_*", ""},
    {"*dataset*", ""},
    {"split", ""},
    {"*tokenizer*", ""},
    {"vocab_file", ""},
    {"merge_file", ""},
    {"save", ""},
    {"load", ""},
    {"finetune", ""},
    {"checkpoint_factor", ""},
    {"checkpoint_scale", ""},
    {"extra_save_iters", ""},
    {"keep_last_n_checkpoints", ""},
    {"log_*", ""},
    {"*wandb*", ""},
    {"tensorboard*", ""},
    {"steps_per_print", ""},
    {"wall_clock_breakdown", ""},
    {"distributed_backend", ""},
    {"launcher", ""},
    {"hostfile", ""},
    {"master_*", ""},
    {"num_workers", ""},
    {"seed", ""},
};

void finish_gated(Facts& f) {
  f.set_usual("norm", "rmsnorm");
  f.set_usual("mlp", "swiglu");
  f.set_usual("positions", "rope");
  f.set_usual("biases", "false");
  f.set_usual("tied", "false");
  f.set_usual("dropout", "0");
}

// MaxText/configs/base.yml
constexpr KeyRow kMaxtext[] = {
    {"model_name", "model"},
    {"per_device_batch_size", "per_device"},
    {"max_target_length", "seq"},
    {"base_emb_dim", "hidden"},
    {"base_num_query_heads", "heads"},
    {"base_num_kv_heads", "kv_heads"},
    {"base_mlp_dim", "ffn"},
    {"base_moe_mlp_dim", "expert_ffn"},
    {"base_num_decoder_layers", "layers"},
    {"head_dim", "head_dim"},
    {"vocab_size", "vocab"},
    {"logits_via_embedding", "tied=true|false"},
    {"mlp_activations", "mlp{silu linear:swiglu,gelu linear:geglu,gelu:gelu,relu:gelu}"},
    {"num_experts", "experts"},
    {"num_experts_per_tok", "top_k"},
    {"shared_experts", "shared_experts"},
    {"first_num_dense_layers", "dense_layers"},
    {"n_routing_groups", "routing_groups"},
    {"topk_routing_group", "group_limit"},
    {"q_lora_rank", "q_rank"},
    {"kv_lora_rank", "kv_rank"},
    {"qk_nope_head_dim", "nope_dim"},
    {"qk_rope_head_dim", "rope_dim"},
    {"v_head_dim", "v_dim"},
    {"attention_type", "attention_type"},
    {"use_qk_norm", "qk_norm=true"},
    {"use_post_attn_norm", "post_norms=true"},
    {"remat_policy", "remat"},
    {"ici_tensor_parallelism", "plan.tp"},
    {"ici_fsdp_parallelism", "ici_fsdp"},
    {"dcn_fsdp_parallelism", "dcn_fsdp"},
    {"ici_data_parallelism", "ici_dp"},
    {"dcn_data_parallelism", "dcn_dp"},
    {"ici_expert_parallelism", "ici_ep"},
    {"ici_pipeline_parallelism", "plan.pp"},
    {"dcn_pipeline_parallelism", "plan.pp"},
    {"ici_context_parallelism", "plan.cp"},
    {"gradient_accumulation_steps", "accumulation"},
    {"capacity_factor", "plan.capacity_factor"},
    {"quantization", "quantization"},
    {"dtype", "plan.precision{bfloat16:bf16,float16:fp16,float32:}"},
    {"attention", ""},
    {"base_config", ""},
    {"run_name", ""},
    {"hardware", ""},
    {"steps", ""},
    {"dataset_type", ""},
    {"decoder_block", "decoder_block"},
    {"trainable_position_size", "position_rows"},
    {"enable_checkpointing", ""},
    {"profiler", ""},
    {"tokenizer*", ""},
    {"scan_layers", ""},
    {"normalization_layer_epsilon", ""},
    {"rope_*", ""},
    {"enable_dropout", ""},
    {"reuse_example_batch", ""},
    {"base_output_directory", ""},
    {"async_checkpointing", ""},
    {"hf_access_token", ""},
    {"mscale", ""},
    {"fused_qkv", ""},
    {"opt_type", ""},
    {"gradient_clipping_threshold", ""},
    {"adam_*", ""},
    {"checkpoint_*", ""},
    {"*dataset*", ""},
    {"eval_*", ""},
    {"target_eval_loss", ""},
    {"normalize_embedding_logits", ""},
    {"logits_dot_in_fp32", ""},
    {"learning_rate*", ""},
    {"log_*", ""},
    {"weight_dtype", ""},
    {"ici_*", ""},
    {"dcn_*", ""},
    {"beta_fast", ""},
    {"max_position_embeddings", ""},
    {"original_max_position_embeddings", ""},
    {"routed_*", ""},
    {"load_balance_loss_weight", ""},
    {"use_iota_embed", ""},
    {"max_segments_per_seq", ""},
    {"sparse_matmul", ""},
    {"megablox", ""},
    {"packing", ""},
    {"final_logits_soft_cap", ""},
    {"attn_logits_soft_cap", "!time"},
    {"sliding_window_size", "!time"},
};

// Of the configuration as a log has it ("Config param emb_dim: 2048"): MaxText/pyconfig.py works base_ sizes out.
constexpr KeyRow kMaxtextLog[] = {
    {"emb_dim", "hidden"},
    {"num_query_heads", "heads"},
    {"num_kv_heads", "kv_heads"},
    {"mlp_dim", "ffn"},
    {"moe_mlp_dim", "expert_ffn"},
    {"num_decoder_layers", "layers"},
    {"global_batch_size_to_train_on", "global_batch"},
    {"num_devices", "gpus"},
};

constexpr KeyRow kNemoNames[] = {
    {"encoder_seq_length", "seq-length"},
    {"sequence_length", "seq-length"},
    {"num_nodes", "nnodes"},
    {"devices", "nproc-per-node"},
    {"rotary_percentage", "rotary-percent"},
    {"activations_checkpoint_granularity", "recompute-granularity"},
    {"activations_checkpoint_method", "recompute-method"},
    {"activations_checkpoint_num_layers", "recompute-num-layers"},
    {"ub_tp_comm_overlap", "tp-comm-overlap"},
    {"num_moe_experts", "num-experts"},
    {"num_layers_in_first_pipeline_stage", "decoder-first-pipeline-num-layers"},
    {"num_layers_in_last_pipeline_stage", "decoder-last-pipeline-num-layers"},
};
constexpr KeyRow kNemo[] = {
    {"precision", "plan.precision{bf16:bf16,bf16-mixed:bf16,16:fp16,16-mixed:fp16,bf16_mixed:bf16,32:}"},
    {"bias", "biases=true|false"},
    {"activation",
     "mlp{fast-swiglu:swiglu,swiglu:swiglu,gelu:gelu,geglu:geglu,fast-geglu:geglu,squared-relu:squared_relu,"
     "openai-gelu:gelu}"},
    {"share_embeddings_and_output_weights", "tied=true|false"},
    {"gated_linear_unit", "mlp=swiglu"},
    {"grad_reduce_in_fp32", "half_reduce=false|true"},
    {"normalization",
     "norm{layernorm1p:layernorm,layernorm:layernorm,rmsnorm:rmsnorm,RMSNorm:rmsnorm,LayerNorm:layernorm}"},
    {"use_flash_attention", "plan.attention=flash"},
    {"optim.name", "plan.zero{distributed_fused_adam:1,mcore_distributed_optim:1,fused_adam:0,adam:0}"},
    {"optim.overlap_grad_sync", "plan.overlap_grad_reduce=true"},
    {"optim.overlap_param_sync", "plan.overlap_param_gather=true"},
    {"tokenizer.type", "tokenizer_model"},
    {"dim", "plan.lora"},
};

}  // namespace

std::span<const KeyRow> nanotron_table() { return kNanotron; }
std::span<const KeyRow> neox_table() { return kNeox; }
std::span<const KeyRow> maxtext_table() { return kMaxtext; }
std::span<const KeyRow> maxtext_log_rows() { return kMaxtextLog; }
std::span<const KeyRow> nemo_table() { return kNemo; }
std::span<const KeyRow> nemo_names() { return kNemoNames; }

void finish_nanotron(Facts& f) {
  finish_gated(f);
  if (f.whole("experts").value_or(1) > 1) {
    f.set_usual("top_k", "2");  // MoEConfig's
    f.set_usual("expert_ffn", f.word("ffn"));
    if (f.flag("has_shared")) f.set_usual("shared_ffn", f.word("expert_ffn"));
  }
  if (!f.flag("has_shared")) f.erase("shared_ffn");
  f.set_usual("stack", "nanotron");
  if (f.whole("plan.tp").value_or(1) < 2) f.erase("plan.sp");
  if (!f.flag("plan.sp")) f.erase("plan.sp_gather_again");
  // Reduced in the format that they are added up in.
  if (f.has("plan.grad_dtype")) f.set_usual("plan.reduce_dtype", f.word("plan.grad_dtype"));
  if (f.whole("plan.pp").value_or(1) < 2) f.erase("plan.schedule");
  if (f.whole("plan.ep").value_or(1) < 2) f.erase("plan.ep");
}

void finish_neox(Facts& f) {
  // As NeoX has them: GPT-2's, four times as wide, of gated ones Llama's two thirds in multiples of 256.
  const std::string activation = f.word("neox_activation", "gelu");
  const bool gated = f.word("neox_mlp") == "llama" || activation == "swiglu" || activation == "silu" ||
                     activation == "geglu";
  f.set_usual("mlp", gated ? (activation == "geglu" ? "geglu" : "swiglu") : "gelu");
  f.set_usual("norm", "layernorm");
  f.set_usual("positions", "learned");
  f.set_usual("biases", gated ? "false" : "true");
  f.set_usual("tied", "true");
  const auto hidden = f.whole("hidden");
  if (hidden && !f.has("ffn"))
    f.set_usual("ffn", std::to_string(gated ? (*hidden * 8 / 3 + 255) / 256 * 256 : 4 * *hidden));
  if (f.word("positions") != "learned") f.erase("max_positions");
  if (f.word("positions") != "rope") f.erase("rotary_fraction");
  if (!f.has("vocab") && hidden) {
    f.set_usual("vocab", "50257");
    f.assume("vocab: 50257 (GPT-2's; the file states none)");
  }
  if (f.word("neox_attention").find("flash") != std::string::npos) f.set_usual("plan.attention", "flash");
  if (f.whole("experts").value_or(1) > 1) {
    f.set_usual("top_k", "1");
    f.set_usual("expert_ffn", f.word("ffn"));
  } else {
    for (const std::string_view key : {"experts", "top_k", "plan.ep", "expert_every"}) f.erase(key);
  }
  if (f.whole("plan.pp") == 0) f.erase("plan.pp");  // 0: no pipeline engine
  if (f.whole("plan.tp").value_or(1) < 2) f.erase("plan.sp");
  if (f.word("plan.recompute") != "full") f.erase("plan.partition_activations");
  if (f.word("plan.recompute") == "full" && f.whole("checkpoint_layers").value_or(1) > 1)
    f.not_modelled.emplace_back("checkpoint_num_layers " + f.word("checkpoint_layers"), "memory");
  if (gated) f.forget_not_modelled("bias_gelu_fusion turned off");
  if (f.word("plan.attention") == "flash")
    f.forget_not_modelled("scaled_upper_triang_masked_softmax_fusion turned off");
  f.set_usual("stack", "neox");
}

void finish_maxtext(Facts& f) {
  if (f.word("decoder_block") == "gpt3" && f.has("hidden")) {
    for (const auto& [key, value] : {std::pair("norm", "layernorm"), std::pair("norm_bias", "true"),
                                     std::pair("biases", "true"), std::pair("positions", "learned")})
      f.set_usual(key, value);
    if (const std::string rows = f.word("position_rows"); !rows.empty()) f.set_usual("max_positions", rows);
  }
  if (f.has("hidden")) {
    finish_gated(f);
    const auto shared = f.whole("shared_experts"), width = f.whole("expert_ffn");
    if (f.whole("experts").value_or(1) <= 1) {
      for (const std::string_view key :
           {"experts", "top_k", "expert_ffn", "dense_layers", "routing_groups", "group_limit"})
        f.erase(key);
    } else {
      if (shared && width) f.set_usual("shared_ffn", std::to_string(product({*shared, *width})));
      f.set_usual("expert_ffn", f.word("ffn"));
    }
    if (f.has("kv_rank"))
      for (const std::string_view key : {"kv_heads", "head_dim"}) f.erase(key);
  }
  // Its batch is that of a device, whether or not devices share a sequence; stages cut it into as many parts as they are.
  const std::int64_t tp = f.whole("plan.tp").value_or(1), cp = f.whole("plan.cp").value_or(1);
  if (const auto each = parse_number(f.word("per_device")); each && tp > 0 && cp > 0) {
    const double rank = *each * static_cast<double>(product({tp, cp}));
    if (rank >= 1 && rank < 1e9) f.set_usual("plan.micro_batch", fmt::format("{:.0f}", rank));
  }
  const std::string remat = f.word("remat");
  if (!remat.empty())
    f.set_usual("plan.recompute", remat == "full" ? "full" : remat == "none" ? "none" : "selective");
  if (!remat.empty() && remat != "full" && remat != "none")
    f.assume("remat_policy " + remat + " is taken as selective recomputation");
  const std::int64_t fsdp = product({f.whole("ici_fsdp").value_or(1), f.whole("dcn_fsdp").value_or(1)});
  f.set_usual("plan.zero", fsdp == 1 && f.has("ici_fsdp") ? "0" : "3");
  if (const auto ep = f.whole("ici_ep"); ep && *ep > 1) f.set_usual("plan.ep", std::to_string(*ep));
  for (const std::string_view key : {"plan.tp", "plan.pp", "plan.cp"})
    if (f.whole(key).value_or(1) < 1) f.erase(key);
  if (f.word("quantization").find("fp8") != std::string::npos) f.set_usual("plan.precision", "fp8");
  f.set_usual("plan.precision", "bf16");
  const auto steps = f.whole("accumulation"), pp = f.whole("plan.pp");
  f.erase("accumulation");
  f.set_usual("accumulation", std::to_string(product({std::max<std::int64_t>(1, steps.value_or(1)),
                                                      std::max<std::int64_t>(1, pp.value_or(1))})));
  f.set_usual("stack", "maxtext");
}

}  // namespace foretrain
