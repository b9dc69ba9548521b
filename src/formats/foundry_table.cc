// LLM Foundry (mosaicml/llm-foundry, scripts/train/yamls).
#include "formats/tree_tables.h"
#include "formats/tuning_facts.h"

namespace foretrain {
namespace {

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

}  // namespace

std::span<const KeyRow> foundry_table() { return kFoundry; }

void finish_foundry(Facts& f) {
  drop_auto(f);
  finish_sharding(f);
  if (f.has("hidden")) {
    const auto hidden = f.whole("hidden"), times = f.whole("expansion");
    f.set_usual("ffn", std::to_string(product({hidden.value_or(0), times.value_or(4)})));
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
