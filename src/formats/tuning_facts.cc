#include "formats/tuning_facts.h"

#include "base/text.h"
#include "formats/adapter_facts.h"

namespace foretrain {

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
  if (lora) name_targets(f);
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

}  // namespace foretrain
