#include "formats/hf_config.h"

#include <doctest/doctest.h>

#include "base/json_node.h"
#include "spec/model.h"
#include "spec/model_text.h"

namespace foretrain {
namespace {

struct Published {
  const char* name;
  const char* config;
  std::int64_t parameters;
};

// Checkpoints on the hub with what they are said to have there, to the digit. The keys are those that decide: what a file may
// leave out is left out. Balancing biases count where checkpoints hold them.
constexpr Published kPublished[] = {
    {"qwen3-8b",
     R"({"model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 12288, "vocab_size": 151936, "head_dim": 128, )"
     R"("tie_word_embeddings": false})",
     8190735360},
    {"qwen2.5-7b",
     R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, )"
     R"("num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "tie_word_embeddings": )"
     R"(false, "sliding_window": 131072, "max_window_layers": 28, "use_sliding_window": false})",
     7615616512},
    {"qwen2.5-0.5b",
     R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, )"
     R"("num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "tie_word_embeddings": )"
     R"(true})",
     494032768},
    {"mistral-7b",
     R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "sliding_window": 4096})",
     7241732096},
    {"mistral-nemo",
     R"({"model_type": "mistral", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 131072, "head_dim": 128, )"
     R"("sliding_window": null})",
     12247782400},
    {"phi3-mini",
     R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064})",
     3821079552},
    {"phi4",
     R"({"model_type": "phi3", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40, )"
     R"("num_key_value_heads": 10, "intermediate_size": 17920, "vocab_size": 100352})",
     14659507200},
    {"phi4-mini",
     R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 24, )"
     R"("num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 200064, "tie_word_embeddings": )"
     R"(true, "partial_rotary_factor": 0.75})",
     3836021760},
    {"phi3.5-moe",
     R"({"model_type": "phimoe", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 6400, "vocab_size": 32064, "attention_bias": true, )"
     R"("lm_head_bias": true, "num_local_experts": 16, "num_experts_per_tok": 2})",
     41873153344},
    {"phi3small",
     R"({"model_type": "phi3small", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "ff_intermediate_size": 14336, "vocab_size": 100352, "hidden_act": )"
     R"("gegelu", "dense_attention_every_n_layers": 2})",
     7392272384},
    {"phi-1.5",
     R"({"model_type": "phi-msft", "n_embd": 2048, "n_head": 32, "n_head_kv": null, "n_inner": null, )"
     R"("n_layer": 24, "n_positions": 2048, "rotary_dim": 32, "tie_word_embeddings": false, "vocab_size": )"
     R"(51200})",
     1418270720},
    {"gemma-7b",
     R"({"model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, )"
     R"("num_key_value_heads": 16, "intermediate_size": 24576, "vocab_size": 256000, "head_dim": 256})",
     8537680896},
    {"gemma-2b",
     R"({"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 8, )"
     R"("num_key_value_heads": 1, "intermediate_size": 16384, "vocab_size": 256000, "head_dim": 256})",
     2506172416},
    {"gemma3-1b",
     R"({"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26, "num_attention_heads": )"
     R"(4, "num_key_value_heads": 1, "intermediate_size": 6912, "vocab_size": 262144, "head_dim": 256, )"
     R"("sliding_window": 512, "sliding_window_pattern": 6})",
     999885952},
    {"gpt-neox-20b",
     R"({"model_type": "gpt_neox", "hidden_size": 6144, "num_hidden_layers": 44, "num_attention_heads": 64, )"
     R"("intermediate_size": 24576, "vocab_size": 50432, "rotary_pct": 0.25})",
     20554567680},
    {"pythia-160m",
     R"({"model_type": "gpt_neox", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, )"
     R"("intermediate_size": 3072, "vocab_size": 50304})",
     162322944},
    {"gptj",
     R"({"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_inner": null, "rotary_dim": )"
     R"(64, "vocab_size": 50400, "tie_word_embeddings": false})",
     6050882784},
    {"bloom-7b1",
     R"({"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "num_attention_heads": 32, "vocab_size": )"
     R"(250880})",
     7069016064},
    {"bloom-560m",
     R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16, "vocab_size": )"
     R"(250880})",
     559214592},
    {"opt-6.7b",
     R"({"model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("ffn_dim": 16384, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 4096, )"
     R"("do_layer_norm_before": true})",
     6658473984},
    {"falcon-40b",
     R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, )"
     R"("num_kv_heads": 8, "new_decoder_architecture": true, "vocab_size": 65024, "bias": false, )"
     R"("parallel_attn": true, "multi_query": true})",
     41303293952},
    {"falcon-rw-1b",
     R"({"model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, )"
     R"("new_decoder_architecture": false, "vocab_size": 50304, "bias": true, "parallel_attn": false, )"
     R"("multi_query": false, "alibi": true})",
     1311625216},
    {"stablelm-3b",
     R"({"model_type": "stablelm", "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 6912, "vocab_size": 50304, "use_qkv_bias": false, )"
     R"("tie_word_embeddings": false, "partial_rotary_factor": 0.25})",
     2795443200},
    {"stablelm2-1.6b",
     R"({"model_type": "stablelm", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 5632, "vocab_size": 100352, "use_qkv_bias": true, )"
     R"("tie_word_embeddings": false})",
     1644515328},
    {"biogpt",
     R"({"model_type": "biogpt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, )"
     R"("intermediate_size": 4096, "vocab_size": 42384, "max_position_embeddings": 1024})",
     346763264},
    {"xglm-1.7b",
     R"({"model_type": "xglm", "d_model": 2048, "num_layers": 24, "attention_heads": 16, "ffn_dim": 8192, )"
     R"("vocab_size": 256008, "max_position_embeddings": 2048})",
     1732907008},
    // Two numbers a layer shape its activation.
    {"apertus-8b",
     R"({"model_type": "apertus", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 21504, "vocab_size": 131072, )"
     R"("tie_word_embeddings": false})",
     8053338176},
    // Each head's norm of queries and keys has weights of its own and no biases, though the norms of layers have them.
    {"stablelm2-12b",
     R"({"model_type": "stablelm", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 13824, "vocab_size": 100352, "use_qkv_bias": false, )"
     R"("tie_word_embeddings": false, "qk_layernorm": true, "use_parallel_residual": true})",
     12143185920},
    {"starcoder2-7b",
     R"({"model_type": "starcoder2", "hidden_size": 4608, "num_hidden_layers": 32, "num_attention_heads": )"
     R"(36, "num_key_value_heads": 4, "intermediate_size": 18432, "vocab_size": 49152, "sliding_window": )"
     R"(4096, "residual_dropout": 0.1})",
     7173923840},
    {"starcoder2-15b",
     R"({"model_type": "starcoder2", "hidden_size": 6144, "num_hidden_layers": 40, "num_attention_heads": )"
     R"(48, "num_key_value_heads": 4, "intermediate_size": 24576, "vocab_size": 49152, "sliding_window": )"
     R"(4096, "tie_word_embeddings": false})",
     15957889024},
    {"starcoder",
     R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_inner": 24576, "n_layer": 40, )"
     R"("n_positions": 8192, "vocab_size": 49152, "multi_query": true})",
     15517456384},
    {"olmo-7b",
     R"({"model_type": "olmo", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 50304})",
     6888095744},
    {"olmo2-7b",
     R"({"model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352})",
     7298617344},
    {"olmo3-7b",
     R"({"model_type": "olmo3", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100278, "sliding_window": 4096})",
     7298011136},
    {"olmoe",
     R"({"model_type": "olmoe", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, )"
     R"("num_key_value_heads": 16, "intermediate_size": 1024, "vocab_size": 50304, "num_experts": 64, )"
     R"("num_experts_per_tok": 8})",
     6919161856},
    {"granite-3-8b",
     R"({"model_type": "granite", "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 12800, "vocab_size": 49155, "tie_word_embeddings": )"
     R"(true})",
     8170848256},
    {"command-r",
     R"({"model_type": "cohere", "hidden_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 64, )"
     R"("num_key_value_heads": 64, "intermediate_size": 22528, "vocab_size": 256000})",
     34980831232},
    {"deepseek-v3",
     R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": )"
     R"(128, "num_key_value_heads": 128, "intermediate_size": 18432, "vocab_size": 129280, "q_lora_rank": )"
     R"(1536, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, )"
     R"("num_experts_per_tok": 8, "first_k_dense_replace": 3, "n_group": 8, "topk_group": 4, )"
     R"("num_nextn_predict_layers": 1, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, )"
     R"("v_head_dim": 128, "moe_layer_freq": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid"})",
     671026419200},
    {"kimi-k2",
     R"({"model_type": "kimi_k2", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 64, )"
     R"("num_key_value_heads": 64, "intermediate_size": 18432, "vocab_size": 163840, "q_lora_rank": 1536, )"
     R"("moe_intermediate_size": 2048, "n_routed_experts": 384, "n_shared_experts": 1, )"
     R"("num_experts_per_tok": 8, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, )"
     R"("num_nextn_predict_layers": 0, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, )"
     R"("v_head_dim": 128, "moe_layer_freq": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid"})",
     1026408232448},
    {"deepseek-v2",
     R"({"model_type": "deepseek_v2", "hidden_size": 5120, "num_hidden_layers": 60, "num_attention_heads": )"
     R"(128, "num_key_value_heads": 128, "intermediate_size": 12288, "vocab_size": 102400, "q_lora_rank": )"
     R"(1536, "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 2, )"
     R"("num_experts_per_tok": 6, "first_k_dense_replace": 1, "n_group": 8, "topk_group": 3, "kv_lora_rank": )"
     R"(512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_layer_freq": 1, )"
     R"("topk_method": "group_limited_greedy", "scoring_func": "softmax"})",
     235741434880},
    {"deepseek-moe-16b",
     R"({"model_type": "deepseek", "hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16, )"
     R"("num_key_value_heads": 16, "intermediate_size": 10944, "vocab_size": 102400, )"
     R"("moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": )"
     R"(6, "first_k_dense_replace": 1, "moe_layer_freq": 1})",
     16375728128},
    {"gpt-oss-120b",
     R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36, "num_attention_heads": 64, )"
     R"("num_key_value_heads": 8, "intermediate_size": 2880, "vocab_size": 201088, "head_dim": 64, )"
     R"("num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128})",
     116829156672},
    {"qwen1.5-moe",
     R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, )"
     R"("num_key_value_heads": 16, "intermediate_size": 5632, "vocab_size": 151936, "moe_intermediate_size": )"
     R"(1408, "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4})",
     14315784192},
    {"qwen3-235b",
     R"({"model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94, "num_attention_heads": 64, )"
     R"("num_key_value_heads": 4, "intermediate_size": 12288, "vocab_size": 151936, "head_dim": 128, )"
     R"("moe_intermediate_size": 1536, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": )"
     R"(1, "mlp_only_layers": []})",
     235093634560},
    {"glm-4-9b-hf",
     R"({"model_type": "glm", "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 2, "intermediate_size": 13696, "vocab_size": 151552, "head_dim": 128, )"
     R"("attention_bias": true})",
     9399951360},
    {"chatglm3",
     R"({"model_type": "chatglm", "add_bias_linear": false, "add_qkv_bias": true, "ffn_hidden_size": 13696, )"
     R"("hidden_size": 4096, "kv_channels": 128, "multi_query_attention": true, "multi_query_group_num": 2, )"
     R"("num_attention_heads": 32, "num_layers": 28, "padded_vocab_size": 65024, "seq_length": 8192, )"
     R"("tie_word_embeddings": false})",
     6243584000},
    {"internlm2-20b",
     R"({"model_type": "internlm2", "hidden_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 48, )"
     R"("num_key_value_heads": 8, "intermediate_size": 16384, "vocab_size": 92544, "bias": false})",
     19861149696},
    {"baichuan2-7b",
     R"({"model_type": "baichuan", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": )"
     R"(32, "num_hidden_layers": 32, "vocab_size": 125696, "tie_word_embeddings": false})",
     7505973248},
    {"baichuan2-13b",
     R"({"model_type": "baichuan", "hidden_size": 5120, "intermediate_size": 13696, "num_attention_heads": )"
     R"(40, "num_hidden_layers": 40, "vocab_size": 125696, "tie_word_embeddings": false})",
     13896668160},
    {"yi-34b",
     R"({"model_type": "llama", "hidden_size": 7168, "num_hidden_layers": 60, "num_attention_heads": 56, )"
     R"("num_key_value_heads": 8, "intermediate_size": 20480, "vocab_size": 64000})",
     34388917248},
    {"smollm3",
     R"({"model_type": "smollm3", "hidden_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 16, )"
     R"("num_key_value_heads": 4, "intermediate_size": 11008, "vocab_size": 128256})",
     3075098624},
    {"qwen-7b",
     R"({"model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "kv_channels": 128, )"
     R"("no_bias": true, "num_attention_heads": 32, "num_hidden_layers": 32, "seq_length": 8192, )"
     R"("tie_word_embeddings": false, "vocab_size": 151936})",
     7721324544},
    {"qwen-1.8b",
     R"({"model_type": "qwen", "hidden_size": 2048, "intermediate_size": 11008, "kv_channels": 128, )"
     R"("no_bias": true, "num_attention_heads": 16, "num_hidden_layers": 24, "seq_length": 8192, )"
     R"("tie_word_embeddings": false, "vocab_size": 151936})",
     1836828672},
    {"ernie-0.3b",
     R"({"model_type": "ernie4_5", "hidden_size": 1024, "num_hidden_layers": 18, "num_attention_heads": 16, )"
     R"("num_key_value_heads": 2, "intermediate_size": 3072, "vocab_size": 103424, "head_dim": 128, )"
     R"("tie_word_embeddings": true, "use_bias": false})",
     360748032},
    {"ernie-21b",
     R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "num_hidden_layers": 28, "num_attention_heads": )"
     R"(20, "num_key_value_heads": 4, "intermediate_size": 12288, "vocab_size": 103424, "moe_k": 6, )"
     R"("moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_intermediate_size": 1536, )"
     R"("moe_layer_start_index": 1, "moe_layer_end_index": 27, "moe_layer_interval": 1, )"
     R"("tie_word_embeddings": true, "use_bias": false})",
     21825437888},
    {"seed-oss",
     R"({"model_type": "seed_oss", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 80, )"
     R"("num_key_value_heads": 8, "intermediate_size": 27648, "vocab_size": 155136, "head_dim": 128, )"
     R"("attention_bias": true, "attention_out_bias": false})",
     36151104512},
    {"exaone3.5-7.8b",
     R"({"model_type": "exaone", "hidden_size": 4096, "num_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 102400, "tie_word_embeddings": )"
     R"(false})",
     7818448896},
    {"exaone4-32b",
     R"({"model_type": "exaone4", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 40, )"
     R"("num_key_value_heads": 8, "intermediate_size": 27392, "vocab_size": 102400, "head_dim": 128, )"
     R"("sliding_window": 4096, "sliding_window_pattern": "LLLG"})",
     32003216384},
    {"dots1",
     R"({"model_type": "dots1", "hidden_size": 4096, "num_hidden_layers": 62, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "intermediate_size": 10944, "vocab_size": 152064, )"
     R"("moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 2, )"
     R"("num_experts_per_tok": 6, "first_k_dense_replace": 1, "sliding_window": null, "max_window_layers": )"
     R"(62})",
     142774381696},
    {"gpt-neo-2.7b",
     R"({"model_type": "gpt_neo", "hidden_size": 2560, "num_layers": 32, "num_heads": 20, "vocab_size": )"
     R"(50257, "max_position_embeddings": 2048, "window_size": 256, "attention_types": [[["global", )"
     R"("local"], 16]], "intermediate_size": null})",
     2651307520},
    {"codegen-350m",
     R"({"model_type": "codegen", "n_embd": 1024, "n_layer": 20, "n_head": 16, "n_inner": null, )"
     R"("rotary_dim": 32, "vocab_size": 51200})",
     356712448},
    {"llava-1.5",
     R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, )"
     R"("tie_word_embeddings": false})",
     6738939904},
    {"paligemma",
     R"({"model_type": "paligemma", "text_config": {"model_type": "gemma", "hidden_size": 2048, )"
     R"("intermediate_size": 16384, "num_attention_heads": 8, "num_hidden_layers": 18, )"
     R"("num_key_value_heads": 1, "vocab_size": 257216}})",
     2508662784},
    {"jais-13b",
     R"({"model_type": "jais", "n_embd": 5120, "n_head": 40, "n_layer": 40, "n_inner": 13653, "vocab_size": )"
     R"(84992, "activation_function": "swiglu", "position_embedding_type": "alibi", "n_positions": 2048})",
     13020811920},
    {"ling-lite",
     R"({"model_type": "bailing_moe", "hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": )"
     R"(16, "num_key_value_heads": 4, "intermediate_size": 5632, "vocab_size": 126464, "head_dim": 128, )"
     R"("moe_intermediate_size": 1408, "num_experts": 64, "num_shared_experts": 2, "num_experts_per_tok": 6, )"
     R"("first_k_dense_replace": 0, "use_qkv_bias": false, "use_bias": false})",
     16801974272},
    {"ling-mini-2",
     R"({"model_type": "bailing_moe", "hidden_size": 2048, "num_hidden_layers": 20, "num_attention_heads": )"
     R"(16, "num_key_value_heads": 4, "intermediate_size": 5120, "vocab_size": 157184, "head_dim": 128, )"
     R"("moe_intermediate_size": 512, "num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8, )"
     R"("first_k_dense_replace": 1, "use_qkv_bias": false, "use_bias": false, "use_qk_norm": true, )"
     R"("moe_router_enable_expert_bias": true, "n_group": 8, "topk_group": 4})",
     16255643392},
    {"internlm3-8b",
     R"({"model_type": "internlm3", "hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 2, "intermediate_size": 10240, "vocab_size": 128512, "bias": false, )"
     R"("qkv_bias": false, "head_dim": 128})",
     8804241408},
    {"ministral3-3b",
     R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3", "hidden_size": 3072, )"
     R"("num_hidden_layers": 26, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": )"
     R"(9216, "vocab_size": 131072, "head_dim": 128, "tie_word_embeddings": true, "sliding_window": null}})",
     3429006336},
    {"vaultgemma",
     R"({"model_type": "vaultgemma", "hidden_size": 1152, "num_hidden_layers": 26, "num_attention_heads": 4, )"
     R"("num_key_value_heads": 4, "intermediate_size": 6912, "vocab_size": 256000, "head_dim": 256})",
     1038741120},
};

// Configuration classes whose defaults are a published model: nothing but the type is stated.
struct Usual {
  const char* type;
  std::int64_t parameters;
};
constexpr Usual kUsual[] = {
    {"gpt2", 124439808},        {"phi3", 3821079552},          {"gpt_neox", 20554567680},
    {"llama", 6738415616},      {"mistral", 7241732096},       {"mixtral", 46702792704},
    {"qwen2_moe", 14315784192}, {"gemma", 8537680896},         {"gemma2", 2614341888},
    {"gptj", 6050882784},       {"gpt_oss", 116829156672},     {"deepseek_v3", 671026419200},
    {"ernie4_5", 360748032},    {"ernie4_5_moe", 21825437888}, {"falcon", 6921720704},
    {"stablelm", 2795443200},   {"cohere", 34980831232},       {"starcoder2", 3030371328},
    {"glm", 9399951360},        {"smollm3", 3075098624},       {"opt", 125239296},
    {"gpt_neo", 1315575808},    {"olmo", 6888095744},          {"phi", 1418270720},
};

Result<Model> model_of(const std::string& text) {
  TRY_ASSIGN(const Node config, parse_json(text, "config.json"));
  TRY_ASSIGN(const HfModel read, read_hf_config(config, "published"));
  return parse_model(read.map);
}

TEST_CASE("published models of many families have the parameters that they are published with") {
  for (const Published& published : kPublished) {
    CAPTURE(published.name);
    const auto model = model_of(published.config);
    REQUIRE(model);
    CHECK(parameters(*model) == published.parameters);
  }
}

TEST_CASE("a file that states its type alone is the model that its class's defaults are") {
  for (const Usual& usual : kUsual) {
    CAPTURE(usual.type);
    const auto model = model_of(std::string(R"({"model_type": ")") + usual.type + R"("})");
    REQUIRE(model);
    CHECK(parameters(*model) == usual.parameters);
  }
}

TEST_CASE("a class of hybrids is read where all its layers are of attention, else refused by name") {
  const std::string head = R"({"model_type": "granitemoehybrid", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "shared_intermediate_size": 128, "vocab_size": 100, "layer_types": )";
  CHECK(model_of(head + R"(["attention", "attention"]})"));
  const auto hybrid = model_of(head + R"(["mamba", "attention"]})");
  REQUIRE_FALSE(hybrid);
  CHECK(hybrid.error().message.find("'granitemoehybrid'") != std::string::npos);
}

}  // namespace
}  // namespace foretrain
