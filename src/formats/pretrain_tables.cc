// Frameworks that train from nothing: nanotron, GPT-NeoX, NeMo.
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
    {"data.*", ""},
    {"doremi.*", ""},
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
    {"num_experts", "experts"},
    {"moe_top_k", "top_k"},
    {"moe_expert_parallel_size", "plan.ep"},
    {"moe_deepspeed_expert_parallel_size", "plan.ep"},
    {"expert_interval", "expert_every"},
    {"mlp_multiple_of", ""},
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
    // Whole dictionaries, as the log's block has them beside what they say.
    {"fp16", ""},
    {"bf16", ""},
    {"optimizer", ""},
    {"optimizer_type", ""},
    {"scheduler", ""},
    {"zero_*", ""},
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
    {"fp8_params", "fp8-param"},
};
constexpr KeyRow kNemo[] = {
    {"precision", "plan.precision{bf16:bf16,bf16-mixed:bf16,16:fp16,16-mixed:fp16,bf16_mixed:bf16,32:}"},
    {"dtype", "plan.precision{bf16:bf16,fp16:fp16,fp32:}"},
    {"bias", "biases=true|false"},
    // PyTorch's FSDP, of NeMo 1.
    {"fsdp", "fsdp2=true|false"},
    {"fsdp_sharding_strategy",
     "sharding{full:optim_grads_params,hybrid:optim_grads_params,grad:optim_grads}"},
    {"fsdp_*", ""},
    {"name", ""},
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
    {"tokenizer.model", "tokenizer_file"},
    {"tokenizer.*", ""},
    {"mcore_gpt", ""},
    {"qkv_bias", "qkv_bias=true|false"},
    {"override_vocab_size", "vocab"},
    {"gradient_accumulation_fusion", "?time"},
    {"defer_embedding_wgrad_compute", "!time"},
    {"wgrad_deferral_limit", ""},
    {"fp8_wgrad", ""},
    {"pre_process", ""},
    {"post_process", ""},
    {"persist_layer_norm", ""},
    {"megatron_amp_*", ""},
    {"native_amp_*", ""},
    {"apex_*", ""},
    {"grad_*", ""},
    {"gradient_as_bucket_view", ""},
    {"overlap_p2p_comm", ""},
    {"*_fusion", ""},
    {"use_scaled_init_method", ""},
    {"transformer_block_type", ""},
    {"normalize_attention_scores", ""},
    {"attention_type", ""},
    {"scale_positional_embedding", ""},
    {"ffn_dropout", ""},
    {"gc_interval", ""},
    {"nsys_profile.*", ""},
    {"data.*", ""},
    {"optim.*", ""},
    {"transformer_engine", ""},
    {"accelerator", ""},
    {"logger", ""},
    {"max_*", ""},
    {"limit_*", ""},
    {"log_every_n_steps", ""},
    {"val_check_interval", ""},
    {"gradient_clip_val", ""},
    {"accumulate_grad_batches", ""},
    {"enable_*", ""},
    {"use_distributed_sampler", ""},
    {"replace_sampler_ddp", ""},
    {"dim", "plan.lora"},
};

}  // namespace

std::span<const KeyRow> nanotron_table() { return kNanotron; }
std::span<const KeyRow> neox_table() { return kNeox; }
std::span<const KeyRow> nemo_table() { return kNemo; }
std::span<const KeyRow> nemo_names() { return kNemoNames; }

void finish_gated(Facts& f) {
  f.set_usual("norm", "rmsnorm");
  f.set_usual("mlp", "swiglu");
  f.set_usual("positions", "rope");
  f.set_usual("biases", "false");
  f.set_usual("tied", "false");
  f.set_usual("dropout", "0");
}

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
    f.set_usual("expert_every", "2");  // NeoXArgsParallelism's
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

}  // namespace foretrain
