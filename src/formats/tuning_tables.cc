// Fine-tuning: axolotl and LLaMA-Factory, and what every program of that kind says without effect on a step.
#include "formats/tree_tables.h"
#include "formats/tuning_facts.h"

namespace foretrain {
namespace {

constexpr KeyRow kTuning[] = {
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

constexpr KeyRow kAxolotl[] = {
    {"base_model", "model"},
    {"sequence_len", "seq"},
    {"micro_batch_size", "plan.micro_batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"adapter", "adapter"},
    {"lora_r", "plan.lora"},
    {"lora_target_linear", "plan.lora_targets=all"},
    {"lora_target_modules", "lora_target"},
    {"load_in_4bit", "four_bit=true|false"},
    {"load_in_8bit", "eight_bit=true|false"},
    {"optimizer", "hf_optimizer"},
    {"gradient_checkpointing", "checkpointing=full|none"},
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
    {"sequence_parallel_degree", "plan.cp"},
    {"expert_parallel_size", "plan.ep"},
    {"experts_implementation", ""},
    {"dp_shard_size", "shard_ranks"},
    {"dp_replicate_size", "replicas"},
    {"bf16", "half"},
    {"fp16", "plan.precision=fp16"},
    {"fp8", "plan.precision=fp8"},
    {"fp8_*", ""},
    {"liger_fused_linear_cross_entropy", "plan.loss=fused"},
    {"attn_implementation",
     "plan.attention{flash_attention_2:flash,flash_attention_3:flash,sdpa:flash,flex_attention:flash,"
     "eager:unfused}"},
    {"attention", "plan.attention{flash:flash,sdpa:flash,flex:flash,xformers:flash,eager:unfused}"},
    {"flash_attention", "plan.attention=flash"},
    {"activation_offloading", "plan.offload=true"},
    {"tiled_mlp", "!time and memory"},
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
};

// What LLaMA-Factory says besides the Trainer's own arguments, of which it has all.
constexpr KeyRow kLlamaFactory[] = {
    {"cutoff_len", "seq"},
    {"finetuning_type", "adapter"},
    {"lora_target", "lora_target"},
    {"quantization_bit", "quantization_bit"},
    {"pure_bf16", "half"},
    {"fp8", "low_precision=fp8"},
    {"fp8_*", ""},
    {"disable_gradient_checkpointing", "plan.recompute=none|full"},
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
    {"mask_history", ""},
    {"max_samples", ""},
    {"plot_loss", ""},
    {"image_*", ""},
    {"video_*", ""},
    {"freeze_vision_tower", ""},
    {"media_dir", ""},
    {"include_num_input_tokens_seen", ""},
    {"rope_scaling", ""},
    {"use_cache", ""},
};

}  // namespace

std::span<const KeyRow> tuning_rows() { return kTuning; }
std::span<const KeyRow> axolotl_table() { return kAxolotl; }
std::span<const KeyRow> llama_factory_table() { return kLlamaFactory; }

void finish_axolotl(Facts& f) {
  drop_auto(f);
  finish_adapter(f);
  finish_sharding(f);
  finish_optimizer(f);
  finish_half(f);
  // Its mesh is of replicas, shards, context and tensor ranks; one that is not stated is 1.
  if (f.whole("plan.ep").value_or(1) < 2) f.erase("plan.ep");
  if (f.has("checkpointing")) f.set_usual("plan.recompute", f.word("checkpointing"));
  const std::int64_t experts =
      f.whole("plan.ep").value_or(1);  // expert ranks are a dimension of the mesh too
  if (const auto shards = f.whole("shard_ranks"), copies = f.whole("replicas"); shards || copies) {
    f.set_usual("dp", std::to_string(product({shards.value_or(1), copies.value_or(1), experts})));
    const std::int64_t cp = f.whole("plan.cp").value_or(1);
    if (shards && copies.value_or(1) > 1) f.set_usual("plan.shard", std::to_string(product({*shards, cp})));
  }
  f.set_usual("stack", f.has("plan.lora") ? "hf-peft" : "hf-trainer");
}

void finish_llama_factory(Facts& f) {
  drop_auto(f);
  finish_adapter(f);
  finish_sharding(f);
  finish_optimizer(f);
  finish_half(f);
  if (f.has("low_precision")) f.erase("plan.precision"), f.set_usual("plan.precision", "fp8");
  if (const std::string stage = f.word("lf_stage", "sft"); stage != "sft" && stage != "pt")
    f.not_modelled.emplace_back("stage " + stage, "time and memory");
  const bool megatron = f.has("plan.tp") || f.has("plan.pp");
  if (f.whole("plan.tp").value_or(1) < 2) f.erase("plan.sp");
  if (f.whole("plan.ep").value_or(1) < 2) f.erase("plan.ep");
  f.set_usual("stack", megatron ? "megatron-bridge" : f.has("plan.lora") ? "hf-peft" : "hf-trainer");
}

}  // namespace foretrain
