#include "formats/family.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"

namespace foretrain {
namespace {

struct Entry {
  std::string_view types;    // the first names the family
  std::string_view classes;  // without "ForCausalLM"
  std::string_view like;     // another family's name; its facts hold where these say nothing else
  std::string_view facts;
};

// Words that recur: class defaults that are Llama's hold for its kin where these state no others.
constexpr Entry kFamilies[] = {
    {"llama yi aquila skywork xverse solar Yi code_llama llava_llama",
     "Llama LLaMA LlavaLlama Yi Aquila Skywork Xverse LlamaForCausal", "",
     "hidden=4096 layers=32 heads=32 ffn=11008 vocab=32000 act=silu tied=false gated=true norm=rmsnorm "
     "positions=rope "
     "qkv_bias=@attention_bias:false projection_bias=@attention_bias:false biases=@mlp_bias:false dropout=0"},
    {"helium", "Helium", "llama",
     "vocab=48000 hidden=2560 ffn=7040 layers=24 heads=20 kv_heads=20 head_dim=128"},
    {"cwm", "Cwm", "llama",
     "vocab=128256 hidden=6144 ffn=21504 layers=64 heads=48 kv_heads=8 head_dim=128 window=8192 "
     "full_first=true "
     "full_every=4 biases=false"},
    {"mistral ministral llava_mistral", "Mistral Ministral LlavaMistral", "llama",
     "ffn=14336 kv_heads=8 window=4096 qkv_bias=false projection_bias=false biases=false"},
    {"ministral3", "Ministral3", "mistral", "vocab=131072 layers=34 head_dim=128 window="},
    {"mixtral", "Mixtral", "llama",
     "ffn=14336 kv_heads=8 experts=8 top_k=2 router=fp32_weights qkv_bias=false projection_bias=false "
     "biases=false"},
    // Queries, keys and values have biases, the projection none; windows only where a flag says so.
    {"qwen2 qwen2_vl qwen2_5_vl qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_audio dream llava_qwen",
     "Qwen2 Qwen2VL Qwen2_5_VL Dream LlavaQwen", "llama",
     "vocab=151936 ffn=22016 kv_heads=32 qkv_bias=true projection_bias=false biases=false window=4096 "
     "windowed=@use_sliding_window:false window_from=28"},
    {"molmo", "Molmo", "qwen2",
     "vocab=152064 hidden=3584 layers=28 heads=28 kv_heads=4 ffn=37888 ffn_halved=true fused_qkv=true "
     "tied=@weight_tying:false qkv_bias=@qkv_bias:true windowed=false"},
    // MiniCPM-V and o hold their text part flat: this is 2.6's (kVersions has others').
    {"minicpmv minicpmo", "MiniCPMV MiniCPMO", "qwen2", ""},
    {"mimo", "MiMo", "qwen2", "vocab=151680 ffn=11008 kv_heads=8 head_dim=128"},
    {"qwen3 qwen3_vl_text qwen3_vl", "Qwen3 Qwen3VL", "llama",
     "vocab=151936 ffn=22016 kv_heads=32 head_dim=128 qk_norm=true window=4096 "
     "windowed=@use_sliding_window:false window_from=28"},
    {"qwen2_moe", "Qwen2Moe", "qwen2",
     "hidden=2048 layers=24 heads=16 kv_heads=16 ffn=5632 experts=60 top_k=4 expert_ffn=1408 shared_ffn=5632 "
     "shared_gate=true router=half qkv_bias=@qkv_bias:true"},
    {"qwen3_moe qwen3_vl_moe_text qwen3_omni_moe_text qwen3_vl_moe", "Qwen3Moe Qwen3VLMoeText Qwen3VLMoe",
     "qwen3",
     "hidden=2048 layers=24 heads=32 kv_heads=4 ffn=6144 head_dim= experts=128 top_k=8 expert_ffn=768 "
     "router=half"},
    {"qwen", "QWen", "qwen2", "ffn_halved=true kv_heads= fused_qkv=true windowed=false biases=!no_bias:true"},
    {"gemma", "Gemma", "llama",
     "vocab=256000 hidden=3072 ffn=24576 layers=28 heads=16 kv_heads=16 head_dim=256 act=gelu_pytorch_tanh "
     "tied=true "
     "biases=false"},
    {"gemma2", "Gemma2", "gemma",
     "hidden=2304 ffn=9216 layers=26 heads=8 kv_heads=4 window=4096 full_every=2 post_norms=true "
     "softcap=@attn_logit_softcapping:50"},
    {"vaultgemma", "VaultGemma", "gemma2", "post_norms=false"},
    {"gemma3_text gemma3", "Gemma3", "gemma2",
     "vocab=262208 full_every=6 qk_norm=true softcap=@attn_logit_softcapping"},
    {"phi", "Phi", "",
     "hidden=2048 layers=24 heads=32 ffn=8192 vocab=51200 act=gelu_new tied=false gated=false norm=layernorm "
     "norm_bias=true positions=rope rotary_fraction=0.5 residual=parallel one_norm=true biases=true "
     "head_bias=true "
     "fused_qkv=false qk_norm=@qk_layernorm:false dropout=0"},
    {"phi-msft mixformer-sequential", "MixFormerSequential", "phi", "ffn= ffn_times=4 fused_qkv=true"},
    {"phi3 phi3_v phi4mm phi4_multimodal", "Phi3 Phi4MM", "llama",
     "hidden=3072 ffn=8192 vocab=32064 fused_qkv=true"},
    // Its attention is sparse by blocks in all but each second layer.
    {"phi3small", "Phi3Small", "phi3",
     "hidden=4096 ffn=14336 kv_heads=8 vocab=100352 act=gegelu tied=true norm=layernorm norm_bias=true "
     "qkv_bias=true projection_bias=true biases=true"},
    {"phimoe", "PhiMoE Phimoe", "llama",
     "ffn=6400 kv_heads=8 vocab=32064 experts=16 top_k=2 norm=layernorm norm_bias=true fused_qkv=false "
     "head_bias=@lm_head_bias:false router=half"},
    {"gpt2", "GPT2 GPT2LMHeadModel GPT2LMHead", "",
     "hidden=768 layers=12 heads=12 ffn_times=4 vocab=50257 seq=1024 act=gelu_new tied=true gated=false "
     "norm=layernorm "
     "norm_bias=true positions=learned biases=true dropout=0.1"},
    {"gpt_neo", "GPTNeo", "gpt2",
     "hidden=2048 layers=24 heads=16 seq=2048 window=256 full_first=true full_every=2 qkv_bias=false "
     "projection_bias=true fused_qkv=false dropout=0"},
    {"jais", "JAIS", "gpt2", "vocab=84992 positions=alibi act=swiglu gated=true"},
    {"gpt_bigcode", "GPTBigCode", "gpt2", "act=gelu_pytorch_tanh one_kv=@multi_query:true"},
    {"gpt_neox", "GPTNeoX", "",
     "hidden=6144 layers=44 heads=64 ffn=24576 vocab=50432 act=gelu tied=false gated=false norm=layernorm "
     "norm_bias=true positions=rope rotary_fraction=0.25 parallel=@use_parallel_residual:true "
     "qkv_bias=@attention_bias:true projection_bias=@attention_bias:true biases=true dropout=0"},
    {"gptj", "GPTJ", "",
     "hidden=4096 layers=28 heads=16 ffn_times=4 vocab=50400 act=gelu_new tied=false gated=false "
     "norm=layernorm "
     "norm_bias=true positions=rope rotary_dim=64 residual=parallel one_norm=true biases=true qkv_bias=false "
     "projection_bias=false head_bias=true fused_qkv=false dropout=0"},
    {"codegen", "CodeGen", "gptj", "fused_qkv=true"},
    // Two rows of its table of positions are for padding.
    {"opt", "OPT", "gpt2",
     "vocab=50272 seq=2048 act=relu position_offset=2 fused_qkv=false biases=@enable_bias:true "
     "norm_weights=@layer_norm_elementwise_affine:true norm_bias=@layer_norm_elementwise_affine:true"},
    {"biogpt", "BioGpt", "opt", "hidden=1024 layers=24 heads=16 ffn=4096 vocab=42384 seq=1024 act=gelu"},
    // Its positions are sines, of which nothing is trained.
    {"xglm", "XGLM", "opt", "hidden=1024 layers=24 heads=16 ffn=4096 vocab=256008 act=gelu positions=none"},
    {"bloom", "Bloom", "",
     "hidden=64 layers=2 heads=8 ffn_times=4 vocab=250880 act=gelu_new tied=true gated=false norm=layernorm "
     "norm_bias=true positions=alibi embedding_norm=true biases=true dropout=0"},
    {"falcon RefinedWebModel RefinedWeb", "Falcon RW", "",
     "hidden=4544 layers=32 heads=71 ffn_times=4 vocab=65024 act=gelu tied=true gated=false norm=layernorm "
     "norm_bias=true "
     "positions=rope biases=@bias:false one_kv=@multi_query:true parallel=@parallel_attn:true "
     "shared_norm=true dropout=0"},
    {"mpt", "Mpt MPT", "",
     "hidden=2048 layers=24 heads=16 ffn_times=@expansion_ratio:4 vocab=50368 act=gelu tied=true gated=false "
     "norm=layernorm norm_bias=!no_bias:true positions=alibi biases=!no_bias:true "
     "qk_norm=@attn_config.qk_ln:false qk_over=whole "
     "dropout=0"},
    {"dbrx", "Dbrx", "",
     "hidden=2048 layers=24 heads=16 kv_heads=1 ffn=3584 experts=4 top_k=1 vocab=32000 act=silu tied=false "
     "gated=true "
     "norm=layernorm norm_bias=false positions=rope fused_qkv=true router=half dropout=0"},
    {"olmo", "OLMo Olmo", "llama",
     "vocab=50304 norm=layernorm norm_bias=false norm_weights=false fused_qkv=false biases=false"},
    // What attention and feed-forward make is normed, not what they read: as many norms as elsewhere.
    {"olmo2", "Olmo2", "llama", "vocab=50304 qk_norm=whole biases=false"},
    {"olmo3", "Olmo3", "olmo2", "window=4096 full_every=4"},
    {"flex_olmo", "FlexOlmo", "olmo2", "vocab=100352 experts=7 top_k=5 router=half"},
    {"olmoe", "Olmoe OlmoE", "llama",
     "vocab=50304 hidden=2048 layers=16 heads=16 ffn=2048 experts=64 top_k=8 qk_norm=whole router=half "
     "biases=false"},
    {"granite", "Granite", "llama", ""},
    {"granitemoe granitemoeshared", "GraniteMoe GraniteMoeShared", "llama", "experts=8 top_k=2 router=half"},
    // Where no layer is of state spaces: its feed-forward is the part that all experts share.
    {"granitemoehybrid", "GraniteMoeHybrid", "granite", "ffn=@shared_intermediate_size:1024 experts="},
    {"cohere", "Cohere", "llama",
     "vocab=256000 hidden=8192 ffn=22528 layers=40 heads=64 tied=true norm=layernorm norm_bias=false "
     "fused_qkv=false "
     "residual=parallel one_norm=true qk_norm=@use_qk_norm:false qk_over=own biases=false"},
    {"cohere2", "Cohere2", "cohere", "window=4096 full_every=4 qk_norm=false"},
    {"stablelm stablelm_epoch", "StableLm StableLM StableLMEpoch", "llama",
     "vocab=50304 hidden=2560 ffn=6912 kv_heads=32 norm=layernorm norm_bias=true fused_qkv=false "
     "rotary_fraction=0.25 "
     "qkv_bias=@use_qkv_bias:false projection_bias=false biases=false parallel=@use_parallel_residual:false "
     "shared_norm=true qk_norm=@qk_layernorm:false qk_over=own"},
    {"starcoder2", "Starcoder2", "",
     "hidden=3072 layers=30 heads=24 kv_heads=2 ffn=12288 vocab=49152 act=gelu_pytorch_tanh tied=true "
     "gated=false "
     "norm=layernorm norm_bias=true positions=rope fused_qkv=false biases=@use_bias:true dropout=0"},
    {"internlm2", "InternLM2", "llama",
     "vocab=103168 fused_qkv=true qkv_bias=@bias:true projection_bias=@bias:true"},
    {"internlm", "InternLM", "llama", "vocab=103168 qkv_bias=@bias:true projection_bias=@bias:true"},
    {"internlm3", "InternLM3", "llama",
     "vocab=128512 qkv_bias=@qkv_bias:false projection_bias=@bias:false biases=@bias:false"},
    {"minicpm", "MiniCPM", "llama", "tied=true"},
    {"minicpm3", "MiniCPM3", "llama", "tied=true q_rank=768 kv_rank=256 nope_dim=64 rope_dim=32 v_dim=64"},
    {"baichuan", "Baichuan BaiChuan", "llama", "vocab=64000 fused_qkv=true"},
    {"exaone", "Exaone", "llama", "vocab=102400"},
    {"exaone4", "Exaone4", "llama",
     "vocab=102400 ffn=16384 kv_heads=32 qk_norm=true window=4096 full_every=4"},
    {"exaone_moe", "ExaoneMoe", "exaone4",
     "experts=64 top_k=8 expert_ffn=1024 shared_experts=1 dense_layers=1 router=fp32 balancing_bias=true"},
    {"orion", "Orion", "llama",
     "norm=layernorm norm_bias=true fused_qkv=false vocab=84608 hidden=5120 ffn=15360 "
     "layers=40 heads=40"},
    {"nemotron", "Nemotron", "llama",
     "vocab=256000 hidden=6144 ffn=24576 heads=48 act=relu2 gated=false norm=layernorm norm_bias=true "
     "fused_qkv=false "
     "rotary_fraction=0.5"},
    {"persimmon", "Persimmon", "",
     "hidden=4096 layers=36 heads=64 ffn=16384 vocab=262144 act=relu2 tied=false gated=false norm=layernorm "
     "norm_bias=true positions=rope rotary_fraction=0.5 biases=true fused_qkv=true "
     "qk_norm=@qk_layernorm:true dropout=0"},
    {"arcee", "Arcee", "llama", "hidden=2560 ffn=18432 act=relu2 gated=false"},
    {"apertus", "Apertus", "llama",
     "vocab=131072 ffn=14336 act=xielu gated=false trained_activation=true qk_norm=true biases=false"},
    {"smollm3", "SmolLM3", "llama",
     "vocab=128256 hidden=2048 layers=36 heads=16 kv_heads=4 tied=true window=0 "
     "windowed=@use_sliding_window:false"},
    {"seed_oss", "SeedOss", "llama",
     "vocab=155136 ffn=27648 layers=64 heads=80 kv_heads=8 head_dim=128 qkv_bias=@attention_bias:true "
     "projection_bias=@attention_out_bias:false"},
    {"ernie4_5", "Ernie4_5", "llama",
     "vocab=103424 hidden=1024 ffn=3072 layers=18 heads=16 kv_heads=2 head_dim=128 tied=true "
     "qkv_bias=@use_bias:false "
     "projection_bias=@use_bias:false biases=@use_bias:false"},
    {"ernie4_5_moe", "Ernie4_5_Moe Ernie4_5_MoE", "ernie4_5",
     "hidden=2560 ffn=12288 layers=28 heads=20 kv_heads=4 head_dim= experts=64 top_k=6 expert_ffn=1536 "
     "shared_experts=2 "
     "dense_layers=1 router=fp32 balancing_bias=@moe_use_aux_free:true"},
    {"hunyuan_v1_dense", "HunYuanDenseV1", "llama", "vocab=290943 qk_norm=true"},
    {"hunyuan_v1_moe", "HunYuanMoEV1", "hunyuan_v1_dense", "experts=1 top_k=1 shared_experts=1 router=fp32"},
    {"gpt_oss", "GptOss", "llama",
     "vocab=201088 hidden=2880 ffn=2880 layers=36 heads=64 kv_heads=8 head_dim=64 experts=128 top_k=4 "
     "window=128 "
     "full_every=2 sinks=true biases=true qkv_bias=@attention_bias:true projection_bias=@attention_bias:true "
     "router=half"},
    // Its norm of queries and keys has no weights.
    {"llama4_text llama4", "Llama4", "llama",
     "vocab=202048 hidden=5120 ffn=8192 dense_ffn=@intermediate_size_mlp:16384 layers=48 heads=40 kv_heads=8 "
     "head_dim=128 "
     "experts=16 top_k=1 shared_is_expert=true router=half"},
    // Its larger models state a rank of queries; of the smaller one a null, which some who write files leave out.
    {"deepseek_v2", "DeepseekV2", "llama",
     "vocab=102400 experts= kv_rank=512 nope_dim=128 rope_dim=64 v_dim=128 "
     "router=fp32"},
    // The bias that balances experts is a buffer of the router (e_score_correction_bias), which its checkpoints hold.
    {"deepseek_v3 kimi_k2 kimi_k25", "DeepseekV3 KimiK25", "llama",
     "vocab=129280 hidden=7168 ffn=18432 layers=61 heads=128 experts=256 top_k=8 expert_ffn=2048 "
     "shared_experts=1 "
     "dense_layers=3 q_rank=1536 kv_rank=512 nope_dim=128 rope_dim=64 v_dim=128 routing_groups=8 "
     "group_limit=4 "
     "router=fp32 balancing_bias=true"},
    {"glm4_moe_lite", "Glm4MoeLite", "deepseek_v3",
     "vocab=154880 hidden=2048 ffn=10240 layers=47 heads=20 experts=64 top_k=4 expert_ffn=1536 "
     "dense_layers=1 "
     "q_rank=768 nope_dim=192 v_dim=256 routing_groups=1 group_limit=1"},
    {"deepseek", "Deepseek", "llama", "vocab=102400 router=half"},
    {"dots1", "Dots1", "llama",
     "vocab=152064 hidden=4608 ffn=10944 layers=62 heads=32 kv_heads=32 expert_ffn=1408 qk_norm=true "
     "router=fp32 balancing_bias=true window=4096 windowed=@use_sliding_window:false window_from=62"},
    {"glm", "Glm", "llama",
     "vocab=151552 ffn=13696 layers=40 kv_heads=2 head_dim=128 rotary_fraction=0.5 "
     "qkv_bias=@attention_bias:true "
     "projection_bias=false biases=false"},
    {"glm4 glm4v_text glm4v", "Glm4 Glm4v", "glm", "post_norms=true"},
    {"glm4_moe glm4v_moe_text glm4v_moe", "Glm4Moe Glm4vMoe", "glm",
     "ffn=10944 layers=46 heads=96 kv_heads=8 head_dim=128 experts=128 top_k=8 expert_ffn=1408 "
     "shared_experts=1 "
     "dense_layers=1 qkv_bias=@attention_bias:false qk_norm=@use_qk_norm:false router=fp32 "
     "balancing_bias=true"},
    {"solar_open", "SolarOpen", "glm4_moe",
     "vocab=196608 layers=48 heads=64 expert_ffn=1280 dense_layers=0 rotary_fraction=1 qk_norm=false"},
    {"chatglm", "ChatGLM", "glm",
     "vocab=65024 layers=28 head_dim= fused_qkv=true qkv_bias=@add_qkv_bias:false "
     "projection_bias=@add_bias_linear:false "
     "biases=@add_bias_linear:false kv_heads=32"},
    // Its second version has the first one's type, and states what is new in it.
    {"bailing_moe", "BailingMoe", "llama",
     "qkv_bias=@use_qkv_bias:false projection_bias=@use_bias:false biases=@use_bias:false router=fp32 "
     "fused_qkv=true qk_norm=@use_qk_norm:false balancing_bias=@moe_router_enable_expert_bias:false"},
    {"bailing_moe_v2", "BailingMoeV2", "bailing_moe", "qk_norm=@use_qk_norm:true"},
    {"minimax_m2", "MiniMaxM2", "llama",
     "vocab=200064 hidden=3072 ffn=1536 layers=62 heads=48 kv_heads=8 head_dim=128 experts=256 top_k=8 "
     "qk_norm=@use_qk_norm:true qk_over=whole router=fp32 balancing_bias=@use_routing_bias:true"},
    {"PanguEmbedded pangu_embedded", "PanguEmbedded", "llama",
     "vocab=153376 ffn=12800 layers=34 kv_heads=8 qkv_bias=@bias:true projection_bias=@bias:true"},
    {"grok-1 grok", "Grok1", "llama",
     "vocab=131072 hidden=6144 ffn=32768 layers=64 heads=48 kv_heads=8 experts=8 top_k=2 act=gelu tied=true "
     "post_norms=true router=fp32"},
};

// Types whose versions have text parts of other families, by the key "version".
struct Version {
  std::string_view types;
  double number;
  std::string_view family;
};
constexpr Version kVersions[] = {
    {"minicpmv", 2.0, "minicpm"},        {"minicpmv", 2.5, "llama"},
    {"minicpmv minicpmo", 2.6, "qwen2"}, {"minicpmv minicpmo", 4.0, "llama"},
    {"minicpmv minicpmo", 4.5, "qwen3"},
};

struct Refusal {
  std::string_view types, why;
};
constexpr std::string_view kStateSpaces =
    "has layers of linear attention or state spaces, which are not modelled; the nearest that works is a "
    "transformer of "
    "the same hidden size and layers, as a model file";
constexpr std::string_view kEncoder =
    "is an encoder or has one, and only decoders are modelled; the nearest that works is a decoder of the "
    "same hidden "
    "size and layers (gpt2)";
constexpr Refusal kRefusals[] = {
    {"mamba mamba2 falcon_mamba rwkv rwkv5 rwkv6 rwkv7 xlstm jamba zamba zamba2 bamba nemotron_h falcon_h1 "
     "granitemoehybrid recurrent_gemma qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text "
     "kimi_linear minimax "
     "minimax_m1 minimax_text_01 MiniMaxText01 MiniMaxM1 lfm2 lfm2_moe plamo2 phi4flash olmo_hybrid hymba "
     "ssm "
     "bailing_moe_linear bailing_hybrid retnet hyena stripedhyena",
     kStateSpaces},
    {"bert roberta distilbert electra albert deberta deberta-v2 xlm-roberta xlm modernbert mpnet longformer "
     "big_bird esm "
     "t5 mt5 umt5 byt5 bart mbart pegasus blenderbot led marian m2m_100 nllb-moe switch_transformers t5gemma "
     "whisper "
     "wav2vec2 hubert speech_to_text vit deit beit swin dinov2 dinov3_vit clip siglip convnext resnet detr "
     "layoutlm "
     "encoder-decoder fsmt prophetnet nomic_bert camembert ernie",
     kEncoder},
    {"mllama mllama_text_model",
     "reads images by cross-attention in some layers, which is not modelled; the nearest that "
     "works is llama-3.1-8b or llama-3.1-70b, its text part"},
    {"gemma3n gemma3n_text gemma4 gemma4_text",
     "has embeddings, widths or keys of its own by layer, which are not "
     "modelled; the nearest that works is gemma-3-27b or another of gemma-3"},
    {"mimo_v2_flash step3 step3_text step3p5 step3p7",
     "has heads or experts by layer in a way that is not modelled; the "
     "nearest that works is qwen3-235b-a22b or another model file with experts"},
    {"deepseek_v32 deepseek_v4 glm_moe_dsa longcat_flash",
     "chooses keys by an index of its own, which is not modelled; "
     "the nearest that works is deepseek-v3"},
    {"afmoe bitnet diffllama doge jetmoe arctic",
     "has gates, norms or experts inside of its layers that are not modelled; the nearest that works is a "
     "model file of "
     "the same sizes"},
    {"openelm nemotron-nas deci",
     "has other widths in nearly every layer, and at most 8 kinds of layers are modelled; the "
     "nearest that works is a llama of the same parameters"},
};

bool is_one_of(std::string_view word, std::string_view list) {
  const std::vector<std::string_view> words = split(list, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

Fact fact_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  CHECK_THAT(equals != std::string_view::npos);
  Fact fact{.key = std::string(word.substr(0, equals)), .value = {}, .their = {}};
  std::string_view value = word.substr(equals + 1);
  if (value.starts_with('@') || value.starts_with('!')) {
    fact.negated = value.front() == '!';
    value.remove_prefix(1);
    const std::size_t colon = value.find(':');
    fact.their = value.substr(0, colon);
    value = colon == std::string_view::npos ? std::string_view() : value.substr(colon + 1);
  }
  fact.value = value;
  return fact;
}

void add_facts(const Entry& entry, std::vector<Fact>& facts) {
  for (const std::string_view word : split(entry.facts, ' ')) {
    if (word.empty()) continue;
    Fact fact = fact_of(word);
    const auto same =
        std::find_if(facts.begin(), facts.end(), [&](const Fact& known) { return known.key == fact.key; });
    if (same == facts.end())
      facts.push_back(std::move(fact));
    else
      *same = std::move(fact);
  }
}

const Entry& entry_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Entry& entry) {
    return split(entry.types, ' ').front() == name;
  });
  CHECK_THAT(found != std::end(kFamilies));
  return *found;
}

void add_all(const Entry& entry, std::vector<Fact>& facts) {
  if (!entry.like.empty()) add_all(entry_named(entry.like), facts);
  add_facts(entry, facts);
}

Family family(const Entry& entry) {
  Family out{.name = std::string(split(entry.types, ' ').front()), .facts = {}};
  add_all(entry, out.facts);
  return out;
}

}  // namespace

const Fact* Family::find(std::string_view key) const {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& f) { return f.key == key; });
  return found == facts.end() ? nullptr : &*found;
}

std::string_view Family::value(std::string_view key) const {
  const Fact* fact = find(key);
  return fact == nullptr ? std::string_view() : std::string_view(fact->value);
}

std::optional<Family> family_of_type(std::string_view model_type) {
  for (const Entry& entry : kFamilies)
    if (is_one_of(model_type, entry.types)) return family(entry);
  return std::nullopt;
}

std::optional<Family> family_of_class(std::string_view architecture) {
  std::string_view stem = architecture.substr(0, architecture.find("For"));
  if (stem.ends_with("LMHeadModel")) stem.remove_suffix(11);
  for (const Entry& entry : kFamilies)
    if (is_one_of(stem, entry.classes)) return family(entry);
  return std::nullopt;
}

std::optional<Family> family_of_version(std::string_view model_type, double version) {
  for (const Version& known : kVersions)
    if (known.number == version && is_one_of(model_type, known.types))
      return family(entry_named(known.family));
  return std::nullopt;
}

std::vector<std::string> family_types() {
  std::vector<std::string> types;
  for (const Entry& entry : kFamilies)
    for (const std::string_view type : split(entry.types, ' ')) types.emplace_back(type);
  return types;
}

std::optional<std::string> why_refused(std::string_view model_type) {
  for (const Refusal& refusal : kRefusals)
    if (is_one_of(model_type, refusal.types)) return std::string(refusal.why);
  return std::nullopt;
}

}  // namespace foretrain
