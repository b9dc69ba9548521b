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
    {"model.attn_config.alibi", "positions=alibi"},
    {"model.attn_config.rope", "positions=rope"},
    {"model.attn_config.kv_n_heads", "kv_heads"},
    {"model.attn_config.qk_ln", "qk_norm=whole"},
    {"model.attn_config.sliding_window_size", "sliding"},
    {"model.attn_config.*", ""},
    {"model.no_bias", "biases=false|true"},
    {"model.learned_pos_emb", "learned_positions=true|false"},
    {"model.norm_type", "foundry_norm"},
    {"model.ffn_config.ffn_type", "ffn_type"},
    {"model.ffn_config.ffn_hidden_size", "ffn"},
    {"model.ffn_config.moe_num_experts", "experts"},
    {"model.ffn_config.moe_top_k", "top_k"},
    {"model.ffn_config.moe_world_size", "plan.ep"},
    {"model.ffn_config.*", ""},
    {"model.tie_word_embeddings", "tied=true|false"},
    {"model.loss_fn", ""},
    {"model.config_overrides.*", "!time and memory"},
    {"model.peft_config.peft_type", "adapter{LORA:lora,<lora:lora}"},
    {"model.peft_config.r", "plan.lora"},
    {"model.peft_config.target_modules", "lora_target"},
    {"model.peft_config.lora_dropout", "lora_dropout_rate"},
    {"model.peft_config.*", ""},
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

namespace {

// models/mpt/configuration_mpt.py: learned positions unless it is told others, biases unless it is told none.
void finish_mpt(Facts& f) {
  const auto hidden = f.whole("hidden"), times = f.whole("expansion");
  const std::string type = f.word("ffn_type"), norm = f.word("foundry_norm");
  f.set_usual("ffn", std::to_string(product({hidden.value_or(0), times.value_or(4)})));
  f.set_usual("mlp", type.find("glu") != std::string::npos ? "geglu" : "gelu");
  f.set_usual("norm", norm.find("rms") != std::string::npos ? "rmsnorm" : "layernorm");
  f.set_usual("positions", f.word("learned_positions") == "false" ? "none" : "learned");
  if (f.word("positions") == "learned" && f.whole("seq")) f.set_usual("max_positions", f.word("seq"));
  f.set_usual("biases", "true");
  for (const auto& [key, value] : {std::pair("tied", "true"), std::pair("vocab", "50368")})
    f.set_usual(key, value);
  if (f.word("norm") == "layernorm") f.set_usual("norm_bias", f.word("biases"));
  if (const auto window = f.whole("sliding"); window && *window > 0)
    f.set_usual("window", std::to_string(*window));
  if (type.find("moe") != std::string::npos && f.whole("experts").value_or(1) > 1) {
    f.set_usual("top_k", "1");
    f.set_usual("expert_ffn", f.word("ffn"));
  } else {
    for (const std::string_view key : {"experts", "top_k", "plan.ep"}) f.erase(key);
  }
  if (f.whole("plan.ep").value_or(1) < 2) f.erase("plan.ep");
}

}  // namespace

void finish_foundry(Facts& f) {
  drop_auto(f);
  finish_adapter(f);
  finish_sharding(f);
  if (f.has("hidden")) finish_mpt(f);
  const std::string optimizer = f.word("foundry_optimizer");
  if (optimizer.find("lion") != std::string::npos)
    f.not_modelled.emplace_back("optimizer.name " + optimizer, "memory");
  f.set_usual("stack", f.has("plan.lora") ? "hf-peft" : "llm-foundry");
}

}  // namespace foretrain
