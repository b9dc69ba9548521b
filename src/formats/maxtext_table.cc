// MaxText: its configuration, and what it makes of it and prints.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/tree_tables.h"

namespace foretrain {
namespace {

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
    {"use_post_ffw_norm", "post_norms=true"},
    {"moe_dispatch_no_expert_sharding", "!time"},
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

}  // namespace

std::span<const KeyRow> maxtext_table() { return kMaxtext; }
std::span<const KeyRow> maxtext_log_rows() { return kMaxtextLog; }

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
  // -1: all the devices that are left.
  const bool is_whole = f.whole("ici_fsdp") == 1 && f.whole("dcn_fsdp").value_or(1) == 1;
  f.set_usual("plan.zero", is_whole ? "0" : "3");
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
