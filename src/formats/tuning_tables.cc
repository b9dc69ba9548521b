// Fine-tuning, and what it runs on: DeepSpeed, axolotl, LLaMA-Factory, accelerate, LLM Foundry.
#include "base/text.h"
#include "formats/tree_tables.h"

namespace foretrain {
namespace {

constexpr KeyUse kBoth = KeyUse::kBoth;

// deepspeed.ai/docs/config-json; deepspeed/runtime/config.py and zero/config.py
constexpr KeyRow kDeepspeed[] = {
    {"train_batch_size", "global_batch", kBoth},
    {"train_micro_batch_size_per_gpu", "plan.micro_batch", kBoth},
    {"gradient_accumulation_steps", "accumulation", kBoth},
    {"zero_optimization.stage", "plan.zero", kBoth},
    {"zero_optimization.overlap_comm", "plan.overlap_grad_reduce=true|false", kBoth},
    {"zero_optimization.offload_optimizer.device", "plan.offload_optimizer{cpu:true,none:false,<nvme:true}",
     kBoth},
    {"zero_optimization.cpu_offload", "plan.offload_optimizer=true|false"},
    {"zero_optimization.offload_param.device", "offload_param"},
    {"zero_optimization.mics_shard_size", "plan.shard", kBoth},
    {"zero_optimization.*", ""},
    {"data_types.grad_accum_dtype", "plan.grad_dtype{fp32:fp32,bf16:bf16,fp16:fp16}", kBoth},
    {"bf16.enabled", "plan.precision=bf16", kBoth},
    {"bfloat16.enabled", "plan.precision=bf16"},
    {"fp16.enabled", "plan.precision=fp16", kBoth},
    {"tensor_parallel.autotp_size", "plan.tp", kBoth},
    {"optimizer.type", "plan.optimizer{Adam:adamw,AdamW:adamw,FusedAdam:adamw,DeepSpeedCPUAdam:adamw}"},
    {"activation_checkpointing.partition_activations", ""},
    {"communication_data_type", "plan.reduce_dtype{fp16:fp16,bf16:bf16,<bfp16:bf16,fp32:fp32}", kBoth},
    {"fp16.*", ""},
    {"bf16.*", ""},
    {"bfloat16.*", ""},
    {"optimizer.*", ""},
    {"scheduler.*", ""},
    {"gradient_clipping", ""},
    {"steps_per_print", ""},
    {"wall_clock_breakdown", ""},
    {"zero_allow_untested_optimizer", ""},
    {"_comment", ""},
    {"activation_checkpointing.*", ""},
    {"tensor_parallel.*", ""},
    {"flops_profiler.*", ""},
    {"prescale_gradients", ""},
    {"comms_logger.*", ""},
    {"amp.*", ""},
    {"data_types.*", ""},
    {"zero_force_ds_cpu_optimizer", ""},
};

constexpr KeyRow kAxolotl[] = {
    {"base_model", "model"},
    {"sequence_len", "seq"},
    {"micro_batch_size", "plan.micro_batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"adapter", "adapter"},
    {"lora_r", "plan.lora"},
    {"lora_target_linear", "plan.lora_targets=all"},
    {"load_in_4bit", "four_bit=true|false"},
    {"load_in_8bit", "eight_bit=true|false"},
    {"optimizer", "hf_optimizer"},
    {"gradient_checkpointing", "plan.recompute=full|none"},
    {"fsdp_config.fsdp_sharding_strategy", "sharding"},
    {"fsdp_config.sharding_strategy", "sharding"},
    {"fsdp_config.activation_checkpointing", "plan.recompute=full"},
    {"fsdp_config.fsdp_activation_checkpointing", "plan.recompute=full"},
    {"fsdp_config.fsdp_offload_params", "offload_param{true:cpu,false:}"},
    {"fsdp_config.offload_params", "offload_param{true:cpu,false:}"},
    {"fsdp_config.*", ""},
    {"fsdp", "fsdp"},
    {"fsdp_version", "fsdp_version"},
    {"deepspeed", "deepspeed_file"},
    {"tensor_parallel_size", "plan.tp"},
    {"context_parallel_size", "plan.cp"},
    {"dp_shard_size", ""},
    {"dp_replicate_size", ""},
    {"bf16", "half"},
    {"fp16", "plan.precision=fp16"},
    {"fp8", "plan.precision=fp8"},
    {"fp8_*", ""},
    {"liger_fused_linear_cross_entropy", "plan.loss=fused"},
    {"attn_implementation",
     "plan.attention{flash_attention_2:flash,flash_attention_3:flash,sdpa:flash,flex_attention:flash,"
     "eager:unfused}"},
    {"flash_attention", "plan.attention=flash"},
    {"sample_packing", "packed=true|false"},
    {"torch_compile", "!time"},
    {"unfrozen_parameters", "!memory"},
    {"liger_rope", "!time"},
    {"liger_rms_norm", "!time"},
    {"liger_glu_activation", "!time"},
    {"liger_swiglu", "!time"},
    {"liger_layer_norm", "!time"},
    {"liger_cross_entropy", "!time"},
    {"lora_mlp_kernel", "!time"},
    {"lora_qkv_kernel", "!time"},
    {"lora_o_kernel", "!time"},
    {"cut_cross_entropy", "plan.loss=fused"},
    {"rl", "!time and memory"},
    {"relora_*", "!time"},
    {"lora_*", ""},
    {"peft_*", ""},
    {"model_type", ""},
    {"model_config.*", ""},
    {"is_*", ""},
    {"plugins", ""},
    {"pad_to_sequence_len", ""},
    {"flex_attn_*", ""},
    {"gradient_checkpointing_kwargs.*", ""},
    {"num_epochs", ""},
    {"group_by_length", ""},
    {"train_on_inputs", ""},
    {"strict", ""},
    {"hub_*", ""},
    {"wandb_*", ""},
    {"mlflow_*", ""},
    {"xformers_attention", "plan.attention=flash"},
    {"sdp_attention", "plan.attention=flash"},
    {"eager_attention", "plan.attention=unfused"},
    {"s2_attention", "!time"},
    {"early_stopping_patience", ""},
    {"debug", ""},
    {"device_map", ""},
    {"local_rank", ""},
    {"*_prepared_path", ""},
    {"test_datasets.*", ""},
    {"*learning_rate*", ""},
    {"*lr_*", ""},
    {"warmup_*", ""},
    {"*weight_decay*", ""},
    {"adam_*", ""},
    {"max_grad_norm", ""},
    {"max_steps", ""},
    {"eval*", ""},
    {"val_*", ""},
    {"save*", ""},
    {"logging_*", ""},
    {"output_dir", ""},
    {"*dataset*", ""},
    {"*dataloader*", ""},
    {"*token*", ""},
    {"*template*", ""},
    {"trust_remote_code", ""},
    {"resume_from_checkpoint", ""},
    {"report_to", ""},
    {"seed", ""},
    {"tf32", ""},
    {"ddp_timeout", ""},
    {"lora_alpha", ""},
    {"lora_dropout", "lora_dropout_rate"},
};

// Of a file, or of a command line: there the Trainer's own names and those of launchers are among them.
constexpr KeyRow kLlamaFactory[] = {
    {"max_seq_length", "seq"},
    {"model_max_length", "seq"},
    {"block_size", "seq"},
    {"fsdp", "fsdp"},
    {"attn_implementation", "plan.attention{flash_attention_2:flash,sdpa:flash,eager:unfused}"},
    {"torch_compile", "!time"},
    {"nproc_per_node", "gpus_per_node"},
    {"num_gpus", "gpus_per_node"},
    {"nnodes", "nodes"},
    {"num_nodes", "nodes"},
    {"num_processes", "gpus"},
    {"per_device_eval_batch_size", ""},
    {"data_path", ""},
    {"model_name_or_path", "model"},
    {"cutoff_len", "seq"},
    {"per_device_train_batch_size", "plan.micro_batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"finetuning_type", "adapter"},
    {"lora_rank", "plan.lora"},
    {"lora_target", "lora_target"},
    {"quantization_bit", "quantization_bit"},
    {"optim", "hf_optimizer"},
    {"bf16", "half"},
    {"pure_bf16", "half"},
    {"fp16", "plan.precision=fp16"},
    {"mixed_precision", ""},
    {"gradient_checkpointing", "plan.recompute=full|none"},
    {"disable_gradient_checkpointing", "plan.recompute=none|full"},
    {"deepspeed", "deepspeed_file"},
    {"flash_attn", "plan.attention{fa2:flash,fa3:flash,sdpa:flash,auto:,disabled:unfused}"},
    {"tensor_model_parallel_size", "plan.tp"},
    {"pipeline_model_parallel_size", "plan.pp"},
    {"context_parallel_size", "plan.cp"},
    {"expert_model_parallel_size", "plan.ep"},
    {"sequence_parallel", "plan.sp=true"},
    {"use_distributed_optimizer", "plan.zero=1"},
    {"overlap_param_gather", "plan.overlap_param_gather=true"},
    {"overlap_grad_reduce", "plan.overlap_grad_reduce=true"},
    {"packing", "packed=true|false"},
    {"use_galore", "!memory"},
    {"use_apollo", "!memory"},
    {"use_badam", "!memory"},
    {"enable_liger_kernel", "plan.loss=fused"},
    {"use_unsloth", "!time"},
    {"stage", "lf_stage"},
    {"freeze_trainable_*", "!time and memory"},
    {"use_dora", "!time"},
    {"use_rslora", ""},
    {"neat_packing", "packed=true|false"},
    {"galore_*", ""},
    {"apollo_*", ""},
    {"badam_*", ""},
    {"lora_*", ""},
    {"additional_target", ""},
    {"quantization_*", ""},
    {"double_quantization", "plan.double_quant=true|false"},
    {"do_*", ""},
    {"mask_history", ""},
    {"max_samples", ""},
    {"num_train_epochs", ""},
    {"overwrite_*", ""},
    {"plot_loss", ""},
    {"preprocessing_*", ""},
    {"cache_dir", ""},
    {"image_*", ""},
    {"video_*", ""},
    {"freeze_vision_tower", ""},
    {"media_dir", ""},
    {"include_num_input_tokens_seen", ""},
    {"ray_*", ""},
    {"rope_scaling", ""},
    {"use_cache", ""},
    {"*learning_rate*", ""},
    {"*lr_*", ""},
    {"warmup_*", ""},
    {"*weight_decay*", ""},
    {"adam_*", ""},
    {"max_grad_norm", ""},
    {"max_steps", ""},
    {"eval*", ""},
    {"val_*", ""},
    {"save*", ""},
    {"logging_*", ""},
    {"output_dir", ""},
    {"*dataset*", ""},
    {"*dataloader*", ""},
    {"*token*", ""},
    {"*template*", ""},
    {"trust_remote_code", ""},
    {"resume_from_checkpoint", ""},
    {"report_to", ""},
    {"seed", ""},
    {"tf32", ""},
    {"ddp_timeout", ""},
    {"lora_alpha", ""},
    {"lora_dropout", "lora_dropout_rate"},
};

constexpr KeyRow kAccelerate[] = {
    {"num_processes", "gpus", kBoth},
    {"num_machines", "machines", kBoth},
    {"mixed_precision", "plan.precision{bf16:bf16,fp16:fp16,<fp8:fp8,<no:}", kBoth},
    {"distributed_type", "distributed", kBoth},
    {"fsdp_config.fsdp_sharding_strategy", "sharding"},
    {"fsdp_config.fsdp_version", "fsdp_version", kBoth},
    {"fsdp_config.fsdp_offload_params", "offload_param{true:cpu,false:}"},
    {"fsdp_config.fsdp_activation_checkpointing", "plan.recompute=full|none", kBoth},
    {"fsdp_config.fsdp_reshard_after_forward", "reshard", kBoth},
    {"fsdp_config.*", ""},
    {"deepspeed_config.zero_stage", "plan.zero"},
    {"deepspeed_config.gradient_accumulation_steps", "accumulation"},
    {"deepspeed_config.offload_optimizer_device", "plan.offload_optimizer{cpu:true,none:false,nvme:true}"},
    {"deepspeed_config.offload_param_device", "offload_param"},
    {"deepspeed_config.deepspeed_config_file", "deepspeed_file"},
    {"deepspeed_config.*", ""},
    {"compute_environment", ""},
    {"debug", ""},
    {"downcast_bf16", ""},
    {"machine_rank", ""},
    {"main_*", ""},
    {"rdzv_backend", ""},
    {"same_network", ""},
    {"tpu_*", ""},
    {"use_cpu", ""},
    {"gpu_ids", ""},
    {"enable_cpu_affinity", ""},
};

constexpr KeyRow kFoundry[] = {
    {"model.pretrained_model_name_or_path", "model"},
    {"model.d_model", "hidden"},
    {"model.n_heads", "heads"},
    {"model.n_layers", "layers"},
    {"model.expansion_ratio", "expansion"},
    {"model.vocab_size", "vocab"},
    {"max_seq_len", "seq"},
    {"global_train_batch_size", "global_batch"},
    {"device_train_microbatch_size", "plan.micro_batch"},
    {"precision", "plan.precision{amp_bf16:bf16,amp_fp16:fp16,amp_fp8:fp8,fp32:}"},
    {"fsdp_config.sharding_strategy", "sharding"},
    {"fsdp_config.activation_checkpointing", "plan.recompute=full|none"},
    {"fsdp_config.activation_cpu_offload", "plan.offload=true"},
    {"fsdp_config.*", ""},
    {"optimizer.name", "foundry_optimizer"},
    {"model.use_flash_attention_2", "plan.attention=flash"},
    {"model.attn_config.attn_impl", "plan.attention{flash:flash,torch:unfused,triton:flash}"},
    {"variables.*", ""},
    {"model.name", ""},
    {"model.pretrained", ""},
    {"model.init_*", ""},
    {"model.use_auth_token", ""},
    {"model.max_seq_len", "seq"},
    {"model.attn_config.alibi", ""},
    {"model.tie_word_embeddings", "tied=true|false"},
    {"model.loss_fn", ""},
    {"model.config_overrides.*", "!time and memory"},
    {"model.peft_config.*", "!time and memory"},
    {"compile_config*", "!time"},
    {"tokenizer.*", ""},
    {"tokenizer_name", ""},
    {"train_loader.*", ""},
    {"eval*", ""},
    {"icl_*", ""},
    {"optimizer.*", ""},
    {"scheduler.*", ""},
    {"algorithms.*", ""},
    {"callbacks.*", ""},
    {"loggers.*", ""},
    {"max_duration", ""},
    {"run_name", ""},
    {"*seed", ""},
    {"device_eval_*", ""},
    {"dist_timeout", ""},
    {"expandable_segments", ""},
    {"log*", ""},
    {"console_*", ""},
    {"progress_bar", ""},
    {"python_log_level", ""},
    {"save_*", ""},
    {"load_*", ""},
    {"autoresume", ""},
    {"data_*", ""},
};

// "auto": whoever reads the file next chooses.
void drop_auto(Facts& f) {
  for (const std::string_view key :
       {"global_batch", "plan.micro_batch", "accumulation", "plan.zero", "plan.precision", "half"})
    if (f.word(key) == "auto") {
      f.erase(key);
      if (key != "half") f.assume(std::string(key) + ": auto in the file, so chosen");
    }
}

void finish_adapter(Facts& f) {
  const std::string adapter = f.word("adapter");
  const bool lora = adapter == "lora" || adapter == "qlora";
  if (!lora) f.erase("plan.lora"), f.erase("plan.lora_targets");
  if (lora) f.set_usual("plan.lora", "8");  // LLaMA-Factory's and PEFT's own
  const bool four = adapter == "qlora" || f.flag("four_bit") || f.word("quantization_bit") == "4";
  if (lora && four) f.set_usual("plan.base", "nf4");
  if (const auto rate = parse_number(f.word("lora_dropout_rate")); lora && rate && *rate > 0)
    f.set_usual("plan.lora_dropout", "true");
  if (lora && f.word("lora_target") == "all") f.set_usual("plan.lora_targets", "all");
}

void finish_sharding(Facts& f) {
  const std::string sharding = f.word("sharding"), file = f.word("deepspeed_file");
  const bool fsdp = f.has("fsdp") || f.has("fsdp_version") || f.word("distributed") == "FSDP";
  if (sharding == "SHARD_GRAD_OP" || sharding == "2")
    f.set_usual("plan.zero", "2");
  else if (sharding == "NO_SHARD")
    f.set_usual("plan.zero", "0");
  else if (!sharding.empty() || fsdp)
    f.set_usual("plan.zero", f.word("reshard") == "false" ? "2" : "3");
  for (const auto& [part, stage] :
       {std::pair("zero3", "3"), std::pair("z3", "3"), std::pair("zero2", "2"), std::pair("z2", "2"),
        std::pair("zero1", "1"), std::pair("zero_stage1", "1"), std::pair("zero_stage3", "3")})
    if (file.find(part) != std::string::npos && !f.has("plan.zero")) {
      f.set_usual("plan.zero", stage);
      f.assume("zero: " + std::string(stage) + " (by the name of " + file + ", which is not read)");
    }
  if (f.word("offload_param") == "cpu") {
    f.not_modelled.emplace_back("parameters in the host's memory", "time and memory");
  }
}

void finish_optimizer(Facts& f) {
  const std::string name = f.word("hf_optimizer");
  if (name.find("8bit") != std::string::npos) f.set_usual("plan.optimizer", "adamw_8bit");
  if (name.find("paged") != std::string::npos) f.set_usual("plan.paged", "true");
}

void finish_half(Facts& f) {
  if (f.has("half") && f.word("half") != "false") f.set_usual("plan.precision", "bf16");
  f.set_usual("plan.precision", "bf16");
}

}  // namespace

std::span<const KeyRow> deepspeed_table() { return kDeepspeed; }
std::span<const KeyRow> axolotl_table() { return kAxolotl; }
std::span<const KeyRow> llama_factory_table() { return kLlamaFactory; }
std::span<const KeyRow> accelerate_table() { return kAccelerate; }
std::span<const KeyRow> foundry_table() { return kFoundry; }

void finish_deepspeed(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  f.set_usual("stack", "deepspeed");
}

void finish_axolotl(Facts& f) {
  drop_auto(f);
  finish_adapter(f);
  finish_sharding(f);
  finish_optimizer(f);
  finish_half(f);
  f.set_usual("stack", f.has("plan.lora") ? "hf-peft" : "hf-trainer");
}

void finish_llama_factory(Facts& f) {
  drop_auto(f);
  finish_adapter(f);
  finish_sharding(f);
  finish_optimizer(f);
  finish_half(f);
  if (const std::string stage = f.word("lf_stage", "sft"); stage != "sft" && stage != "pt")
    f.not_modelled.emplace_back("stage " + stage, "time and memory");
  const bool megatron = f.has("plan.tp") || f.has("plan.pp");
  if (f.whole("plan.tp").value_or(1) < 2) f.erase("plan.sp");
  if (f.whole("plan.ep").value_or(1) < 2) f.erase("plan.ep");
  f.set_usual("stack", megatron ? "megatron-bridge" : f.has("plan.lora") ? "hf-peft" : "hf-trainer");
}

void finish_accelerate(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  if (f.word("distributed") == "DEEPSPEED") f.set_usual("stack", "deepspeed");
  f.set_usual("stack", "hf-trainer");
}

void finish_trainer(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  finish_optimizer(f);
  finish_half(f);
  f.set_usual("plan.zero", "0");
  f.set_usual("plan.recompute", "none");
  f.set_usual("accumulation", "1");
  f.set_usual("stack",
              f.has("deepspeed_file") || f.word("distributed") == "DEEPSPEED" ? "deepspeed" : "hf-trainer");
}

void finish_foundry(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  if (f.has("hidden")) {
    const auto hidden = f.whole("hidden"), times = f.whole("expansion");
    f.set_usual("ffn", std::to_string(hidden.value_or(0) * times.value_or(4)));
    for (const auto& [key, value] :
         {std::pair("mlp", "gelu"), std::pair("norm", "layernorm"), std::pair("norm_bias", "false"),
          std::pair("positions", "alibi"), std::pair("biases", "false"), std::pair("tied", "true"),
          std::pair("vocab", "50368")})
      f.set_usual(key, value);
  }
  const std::string optimizer = f.word("foundry_optimizer");
  if (optimizer.find("lion") != std::string::npos)
    f.not_modelled.emplace_back("optimizer.name " + optimizer, "memory");
  f.set_usual("stack", "llm-foundry");
}

}  // namespace foretrain
