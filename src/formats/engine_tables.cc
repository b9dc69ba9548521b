// What fine-tuning runs on: DeepSpeed and accelerate.
#include "formats/tree_tables.h"
#include "formats/tuning_facts.h"

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

}  // namespace

std::span<const KeyRow> deepspeed_table() { return kDeepspeed; }
std::span<const KeyRow> accelerate_table() { return kAccelerate; }

void finish_deepspeed(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  f.set_usual("stack", "deepspeed");
}

void finish_accelerate(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  if (f.word("distributed") == "DEEPSPEED") f.set_usual("stack", "deepspeed");
  f.set_usual("stack", "hf-trainer");
}

}  // namespace foretrain
