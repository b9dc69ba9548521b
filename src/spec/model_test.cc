#include "spec/model.h"

#include <doctest/doctest.h>

#include <string>

#include "spec/model_text.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

Result<Model> model_of(const std::string& yaml) { return parse_yaml(yaml, "m.yaml").and_then(parse_model); }

std::string error_of(const std::string& yaml) { return error_of(model_of(yaml)); }

const std::string kGpt2 =
    "hidden: 768\nlayers: 12\nheads: 12\nffn: 3072\nmlp: gelu\nnorm: layernorm\npositions: learned\n"
    "max_positions: 1024\nvocab: 50257\ntied: true\nbiases: true\n";
const std::string kQwen =
    "hidden: 1536\nlayers: 28\nheads: 12\nkv_heads: 2\nffn: 8960\nmlp: swiglu\nnorm: rmsnorm\n"
    "positions: rope\nvocab: 151936\ntied: true\nqkv_bias: true\n";

}  // namespace

TEST_CASE("the parameters of published checkpoints are counted exactly") {
  CHECK(parameters(*model_of(kGpt2)) == 124439808);
  CHECK(parameters(*model_of(kQwen)) == 1543714304);
  // Llama-2 7B: gated MLP, no biases, RMSNorm, untied head.
  CHECK(parameters(*model_of("{hidden: 4096, layers: 32, heads: 32, ffn: 11008, mlp: swiglu, norm: rmsnorm, "
                             "positions: rope, vocab: 32000, tied: false}")) == 6738415616);
  // Pythia 1.4B: parallel residual with two norms a block, biases everywhere but in the untied head.
  CHECK(parameters(*model_of("{hidden: 2048, layers: 24, heads: 16, ffn: 8192, mlp: gelu, norm: layernorm, "
                             "positions: rope, rotary_fraction: 0.25, vocab: 50304, tied: false, "
                             "biases: true, residual: parallel}")) == 1414647808);
}

TEST_CASE("norms of queries and keys have a scale of one head each") {
  // Qwen3 0.6B: 151936 x 1024 embedded, 28 blocks of 1024 x (2048 + 2 x 1024), 2048 x 1024, 3 x 1024 x 3072
  // and 2 x (1024 + 128), one norm more.
  const std::string qwen3 =
      "{hidden: 1024, layers: 28, heads: 16, kv_heads: 8, head_dim: 128, ffn: 3072, mlp: swiglu, "
      "norm: rmsnorm, positions: rope, vocab: 151936, tied: true, qk_norm: true}";
  CHECK(parameters(*model_of(qwen3)) == 596049920);
  CHECK(parameters(*model_of(replaced(qwen3, "qk_norm: true", "qk_norm: false"))) == 596049920 - 28 * 256);
}

TEST_CASE("a GPT block with ffn = 4 hidden has 12 H^2 + 13 H parameters") {
  const std::int64_t h = 1024, layers = 3, vocab = 5000, seq = 512;
  const Model model = *model_of(
      "{hidden: 1024, layers: 3, heads: 16, ffn: 4096, mlp: gelu, norm: layernorm, positions: learned, "
      "max_positions: 512, vocab: 5000, tied: true, biases: true}");
  CHECK(block_parameters(model, model.blocks[0].block) == 12 * h * h + 13 * h);
  CHECK(parameters(model) == 12 * layers * h * h + 13 * layers * h + 2 * h + (vocab + seq) * h);
}

TEST_CASE("an embedding norm adds one norm") {
  const Model plain = *model_of(kGpt2);
  const Model normed = *model_of(kGpt2 + "embedding_norm: true\n");
  CHECK(parameters(normed) - parameters(plain) == norm_parameters(plain));
  CHECK(norm_parameters(plain) == 2 * 768);
}

TEST_CASE("what a model leaves out follows from the rest") {
  const Model gpt2 = *model_of(kGpt2);
  CHECK(gpt2.name == "inline");
  CHECK(gpt2.layers() == 12);
  CHECK(gpt2.blocks[0].block.attention.kv_heads == 12);
  CHECK(gpt2.blocks[0].block.attention.head_dim == 64);
  CHECK(gpt2.qkv_bias);
  CHECK(gpt2.norm_bias);
  CHECK_FALSE(gpt2.dropout.has_value());
  CHECK(gpt2.fused_qkv);
  CHECK(gpt2.gelu == Gelu::kTanh);
  CHECK(model_of(kGpt2 + std::string("gelu: erf\nfused_qkv: false\n"))->gelu == Gelu::kErf);
  CHECK_FALSE(model_of(kGpt2 + std::string("fused_qkv: false\n"))->fused_qkv);
  CHECK_FALSE(model_of(kQwen)->fused_qkv);
  CHECK(model_of(kQwen)->gelu == Gelu::kErf);
  const Model qwen = *model_of(replaced(kQwen, "qkv_bias: true", "biases: true"));
  CHECK_FALSE(qwen.norm_bias);  // an RMSNorm has none, whatever the linears have
}

TEST_CASE("a learned table has as many rows as the sequence where nothing else is stated") {
  const std::string no_rows = replaced(kGpt2, "max_positions: 1024\n", "");
  CHECK(model_of(no_rows + "seq: 1024\n")->max_positions == 1024);
  CHECK(error_of(no_rows) ==
        "m.yaml:1:1: error: missing key 'max_positions', which learned positions need (or state seq)");
}

TEST_CASE("stated params must be what the fields give") {
  CHECK(model_of(kGpt2 + "params: 124439808\n").has_value());
  CHECK(error_of(kGpt2 + "params: 124000000\n") ==
        "m.yaml:12:9: error: params 124000000 is stated, but the other fields give 124439808");
}

TEST_CASE("a model written as YAML reads back equal") {
  for (const std::string& yaml :
       {kGpt2 + "name: \"odd \\\"name\\\" \\\\ tab\\t\"\nsource: 'a: b # c'\ndropout: 0.1\nseq: 1024\n",
        kQwen + "head_dim: 100\nrotary_fraction: 0.3\nparams: 1509983488\n",
        kGpt2 + "residual: parallel\nembedding_norm: true\nqkv_bias: false\nnorm_bias: false\n"}) {
    const auto model = model_of(yaml);
    REQUIRE_MESSAGE(model.has_value(), error_of(yaml));
    CHECK(*model_of(to_yaml(*model)) == *model);
  }
}

TEST_CASE("a wrong model is refused with place, finding and remedy") {
  CHECK(error_of(kGpt2 + "hiden: 3\n") == "m.yaml:12:1: error: unknown key 'hiden'; did you mean 'hidden'?");
  // What is not modelled is refused by its name.
  CHECK(error_of(kGpt2 + "mamba_d_state: 16\n") ==
        "m.yaml:12:1: error: found 'mamba_d_state': layers of linear attention or state spaces are not "
        "modelled");
  CHECK(error_of(kGpt2 + "layer_types: [full_attention, linear_attention]\n") ==
        "m.yaml:12:31: error: found 'linear_attention': layers of linear attention or state spaces are not "
        "modelled");
  CHECK(error_of("hidden: 768\n") == "m.yaml:1:1: error: missing key 'layers'");
  CHECK(error_of("[1, 2]") == "m.yaml:1:1: error: expected a map that describes a model");
  CHECK(error_of(replaced(kGpt2, "mlp: gelu", "mlp: swigul")) ==
        "m.yaml:5:6: error: mlp: unknown word 'swigul'; did you mean 'swiglu'?");
  CHECK(error_of(replaced(kQwen, "kv_heads: 2", "kv_heads: 5")) ==
        "m.yaml:4:11: error: kv_heads 5 does not divide heads 12");
  CHECK(error_of(replaced(kGpt2, "heads: 12", "heads: 7")) ==
        "m.yaml:3:8: error: heads 7 does not divide hidden 768; state head_dim");
  CHECK(error_of(kQwen + "norm_bias: true\n") == "m.yaml:12:12: error: norm_bias: rmsnorm has no bias");
  for (const char* layers :
       {"-12", "0", "1000000000000", "99999999999999999999", "12.5", "twelve", "", "[]"}) {
    CAPTURE(layers);
    const std::string error = error_of(replaced(kGpt2, "layers: 12", "layers: " + std::string(layers)));
    CHECK(error.starts_with("m.yaml:2:"));
    CHECK(error.find("error: layers: ") != std::string::npos);
  }
}

TEST_CASE("a model of more than 10^15 parameters is refused") {
  CHECK(error_of("{hidden: 1000000, layers: 10000, heads: 10000, head_dim: 10000, ffn: 1000000, mlp: swiglu, "
                 "norm: rmsnorm, positions: none, vocab: 100000000, tied: false}") ==
        "m.yaml:1:1: error: the model has 4030200020001000000 parameters, more than 10^15");
}
