// transformers' Trainer (examples/pytorch/language-modeling/run_clm.py) under DeepSpeed, whose configuration is a JSON file
// (deepspeed.ai/docs/config-json; deepspeed/runtime/config.py), and under accelerate, whose configuration is a YAML file
// (accelerate/commands/config, accelerate/utils/dataclasses.py: FullyShardedDataParallelPlugin of FSDP 2). The model is one of the
// hub's, or a folder with a config.json.
#include <fmt/format.h>

#include "formats/launch_facts.h"
#include "formats/launch_writer.h"
#include "formats/trainer.h"
#include "formats/tree_tables.h"
#include "formats/tree_text.h"

namespace foretrain {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

constexpr Instead kInstead[] = {
    {"plan.pp", "trains without pipeline parallelism"},
    {"plan.tp", "is given tensor ranks by tensor_parallel.autotp_size of DeepSpeed alone"},
    {"plan.cp", "sets context parallelism up in the program, not by its configuration"},
    {"plan.zero", "divides as FSDP does: zero 0, 2 and 3; ZeRO 1 is DeepSpeed's (deepspeed)"},
    {"plan.shard", "is given shards by mics_shard_size of DeepSpeed's ZeRO 3 alone"},
    {"plan.ep", "keeps all experts on every rank"},
    {"plan.recompute", "repeats whole layers, all of them (gradient checkpointing)"},
    {"plan.precision", "has bf16 and fp16"},
    {"plan.optimizer", "has AdamW of torch and bitsandbytes' in eight bits"},
    {"plan.offload_optimizer", "offloads optimizer states alone by DeepSpeed (deepspeed)"},
    {"plan.lora", "is given adapters by a program of its own, not by run_clm.py"},
    {"plan.loss", "works the loss off whole unless the program does otherwise"},
    {"plan.grad_dtype", "adds gradients up in their own format"},
    {"plan.reduce_dtype", "reduces gradients in their own format"},
    {"plan.overlap_grad_reduce", "reduces beside the backward"},
    {"documents", "packs by its data, which no flag states"},
};

std::string optimizer_word(Statements& s) {
  const bool eight = s.is("plan.optimizer", "adamw_8bit");
  const bool paged = s.is("plan.paged", "true");
  if (eight) s.take("plan.optimizer");
  s.take("plan.paged");
  if (paged) return eight ? "paged_adamw_8bit" : "paged_adamw_32bit";
  return eight ? "adamw_bnb_8bit" : "adamw_torch_fused";
}

Statements trainer_statements(const LaunchRun& run) {
  Statements s = statements_of(run);
  take_model(s);
  s.take("nodes");
  s.take("gpus_per_node");
  s.accept("plan.sp", "false");
  for (const char* key : {"plan.tp", "plan.pp", "plan.cp", "plan.ep"}) s.accept(key, "1");
  s.accept("plan.etp", digits(run.plan.tp));
  s.accept("plan.cuda_graph", "none");
  s.add("model", "${MODEL}");
  s.add("hf_optimizer", optimizer_word(s));
  return s;
}

void add_program(const LaunchRun& run, Launch& launch) {
  launch.program = {"${TRANSFORMERS_PATH}/examples/pytorch/language-modeling/run_clm.py"};
  launch.beyond.insert(
      launch.beyond.begin(),
      {{"TRANSFORMERS_PATH", "the folder of transformers, with its examples", ""},
       {"DATASET", "a dataset on the hub, with a column text", ""},
       {"MODEL", "the model: a name on the hub, or a folder with its config.json and tokenizer", run.hub},
       {"OUTPUT_DIR", "where checkpoints go", "outputs"},
       {"MAX_STEPS", "steps", "1000"},
       {"LR", "learning rate", "3e-4"}});
  const auto add = [&](std::vector<std::string> words) { launch.flags.push_back(std::move(words)); };
  add({"--tokenizer_name", "${MODEL}"});
  add({"--dataset_name", "${DATASET}"});
  add({"--do_train"});
  add({"--max_steps", "${MAX_STEPS}"});
  add({"--learning_rate", "${LR}"});
  add({"--logging_steps", "1"});
  add({"--output_dir", "${OUTPUT_DIR}"});
}

void add_flags(Statements& s, Launch& launch) {
  for (const KeySetting& setting : settings_of(trainer_rows(), s, Form::kFlags))
    launch.flags.push_back(flag_words(setting));
}

}  // namespace

WrittenLaunch deepspeed_launch(const LaunchRun& run) {
  constexpr const char* kFile = "ds_config.json";
  WrittenLaunch out;
  Launch& launch = out.launch;
  launch.framework = "DeepSpeed under transformers' Trainer";
  start_by_torchrun(run, launch);
  Statements s = trainer_statements(run);
  const std::string precision = s.value("plan.precision");
  s.add("plan.micro_batch", digits(run.plan.micro_batch));
  s.add("accumulation", digits(run.micro_batches()));
  if (run.plan.tp > 1) s.add("plan.tp", digits(run.plan.tp));
  Settings settings = settings_of(deepspeed_table(), s, Form::kValues);
  // Off where the plan has it off: DeepSpeed's own differ by stage.
  settings.push_back({"gradient_clipping", {"1.0"}, {}});
  settings.push_back({"zero_allow_untested_optimizer", {"true"}, {}});
  launch.files.push_back({kFile, json_of(settings)});
  // The Trainer's own flags say the same, and must.
  s.add("plan.micro_batch", digits(run.plan.micro_batch));
  s.add("accumulation", digits(run.micro_batches()));
  if (precision == "bf16" || precision == "fp16") s.add("plan.precision", precision);
  add_flags(s, launch);
  launch.flags.push_back({"--deepspeed", kFile});
  add_program(run, launch);
  out.unstated = unstated_of(s, kInstead);
  return out;
}

WrittenLaunch accelerate_launch(const LaunchRun& run) {
  constexpr const char* kFile = "accelerate.yaml";
  WrittenLaunch out;
  Launch& launch = out.launch;
  launch.framework = "accelerate under transformers' Trainer";
  launch.launcher = {"accelerate", "launch", "--config_file", kFile};
  Statements s = trainer_statements(run);
  const std::string zero = s.take("plan.zero"), precision = s.value("plan.precision");
  if (zero == "1") s.add("plan.zero", zero);
  s.add("gpus", digits(run.gpus));
  s.add("machines", digits(run.nodes()));
  s.add("distributed", zero == "0" ? (run.gpus == 1 ? "NO" : "MULTI_GPU") : "FSDP");
  const std::string recompute = s.value("plan.recompute");
  if (zero == "0") {
    if (recompute == "none") s.take("plan.recompute");
  } else {
    s.add("fsdp_version", "2");
    s.add("reshard", zero == "3" ? "true" : "false");
  }
  Statements flags_later = s;
  if (zero == "0") s.take("plan.recompute");  // the Trainer's flag
  Settings settings = {{"compute_environment", {"LOCAL_MACHINE"}, {}}};
  const Settings stated = settings_of(accelerate_table(), s, Form::kValues);
  settings.insert(settings.end(), stated.begin(), stated.end());
  const auto add = [&](const char* key, const std::string& word) { settings.push_back({key, {word}, {}}); };
  if (zero != "0") {
    add("fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
    add("fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT");
    add("fsdp_config.fsdp_offload_params", "false");
    add("fsdp_config.fsdp_cpu_ram_efficient_loading", "true");
  }
  if (run.nodes() > 1) {
    add("machine_rank", "0");
    add("main_process_ip", "${MASTER_ADDR}");
    add("main_process_port", "${MASTER_PORT}");
    add("rdzv_backend", "c10d");
    launch.beyond.push_back({"MASTER_ADDR", "the first node", "$(hostname)"});
    launch.beyond.push_back({"MASTER_PORT", "a free port there", "29500"});
  }
  launch.files.push_back({kFile, yaml_of(settings)});
  if (zero == "0" && flags_later.has("plan.recompute"))
    s.add("plan.recompute", flags_later.value("plan.recompute"));
  if (precision == "bf16" || precision == "fp16") s.add("plan.precision", precision);
  s.take("global_batch");
  s.add("accumulation", digits(run.micro_batches()));
  add_flags(s, launch);
  add_program(run, launch);
  out.unstated = unstated_of(s, kInstead);
  return out;
}

}  // namespace foretrain
