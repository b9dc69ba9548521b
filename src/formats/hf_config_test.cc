#include "formats/hf_config.h"

#include <doctest/doctest.h>

#include "base/json_node.h"
#include "formats/family.h"
#include "formats/foreign_model.h"
#include "spec/model.h"
#include "spec/model_text.h"

namespace foretrain {
namespace {

Result<Model> model_of(const std::string& text) {
  TRY_ASSIGN(const Node config, parse_json(text, "config.json"));
  TRY_ASSIGN(const HfModel read, read_hf_config(config, "tiny"));
  return parse_model(read.map);
}

std::string error_of(const std::string& text) {
  const auto model = model_of(text);
  return model ? "" : model.error().text();
}

// Embedding and head of 100 tokens, a final norm.
constexpr std::int64_t kEnds = 2 * 100 * 16 + 16;

TEST_CASE("a file that states all is read by its own words") {
  const auto model = model_of(R"({"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32, "vocab_size": 100,
    "tie_word_embeddings": false})");
  REQUIRE(model);
  // q and o of 16x16, k and v of 16x8, three matrices of 16x32, two norms.
  CHECK(parameters(*model) == kEnds + 2 * (2 * 256 + 2 * 128 + 3 * 512 + 32));
  CHECK(model->assumed.empty());
}

TEST_CASE("what a file leaves out is its class's, and is said") {
  const auto model = model_of(R"({"model_type": "gemma3_text", "hidden_size": 16, "num_hidden_layers": 7,
    "intermediate_size": 32, "vocab_size": 100})");
  REQUIRE(model);
  CHECK(model->tied);
  CHECK(model->post_norms);
  CHECK(model->blocks.front().block.attention.heads == 8);
  CHECK(model->blocks.front().block.attention.head_dim == 256);
  // Five layers of windows, a full one, and the next of a window.
  REQUIRE(model->blocks.size() == 3);
  CHECK(model->blocks[0].count == 5);
  CHECK(model->blocks[1].block.attention.window == 0);
  CHECK_FALSE(model->assumed.empty());
}

TEST_CASE("a list of dense and sparse layers says where experts are, and their balancing bias is counted") {
  const std::string head = R"({"model_type": "glm4_moe_lite", "hidden_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 4, "intermediate_size": 32, "moe_intermediate_size": 8, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "vocab_size": 100, "mlp_layer_types": )";
  const auto model = model_of(head + R"(["dense", "sparse", "sparse"]})");
  REQUIRE(model);
  REQUIRE(model->blocks.size() == 2);
  CHECK(model->blocks[0].count == 1);
  CHECK_FALSE(model->blocks[0].block.feed_forward.has_experts());
  CHECK(model->blocks[1].count == 2);
  CHECK(model->blocks[1].block.feed_forward.balancing_bias);
  // The class's own: one shared expert, latents of 512, queries through 768.
  CHECK(model->blocks[1].block.feed_forward.shared_ffn == 8);
  CHECK(model->blocks[1].block.attention.q_rank == 768);
  CHECK_FALSE(model_of(head + R"(["dense", "other", "sparse"]})"));
  CHECK_FALSE(model_of(head + R"(["dense"]})"));
}

TEST_CASE("a null is a statement: no window, as many heads of keys as of queries") {
  const std::string tail = R"("hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
    "intermediate_size": 32, "vocab_size": 100})";
  const auto without =
      model_of(R"({"model_type": "mistral", "sliding_window": null, "num_key_value_heads": null, )" + tail);
  REQUIRE(without);
  CHECK(without->blocks[0].block.attention.window == 0);
  CHECK(without->blocks[0].block.attention.kv_heads == 4);
}

TEST_CASE("layers are told apart by lists") {
  const auto model = model_of(R"({"model_type": "qwen3_moe", "hidden_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 4, "intermediate_size": 32, "vocab_size": 100,
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "mlp_only_layers": [1]})");
  REQUIRE(model);
  REQUIRE(model->blocks.size() == 3);
  CHECK(model->blocks[0].block.feed_forward.experts == 4);
  CHECK(model->blocks[1].block.feed_forward.ffn == 32);
}

TEST_CASE("of a wrapper the text is read, by the wrapper's own words where it has none") {
  const auto model = model_of(R"({"model_type": "some_vl", "tie_word_embeddings": true, "vision_config": {},
    "text_config": {"model_type": "qwen2", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "intermediate_size": 32, "vocab_size": 100}})");
  REQUIRE(model);
  CHECK(model->tied);
  CHECK(model->qkv_bias);
  CHECK_FALSE(model->projection_bias);
}

TEST_CASE("classes tell where types do not") {
  const auto model =
      model_of(R"({"architectures": ["PhiForCausalLM"], "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100})");
  REQUIRE(model);
  // One norm a block with bias, biases of all products and of the head.
  CHECK(parameters(*model) == 2 * 1600 + 32 + 100 + 4 * (256 + 16) + 2 * 16 * 64 + 64 + 16 + 32);
}

TEST_CASE("of a type whose versions have other text parts, the version tells which") {
  const std::string tail = R"(, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 4, "intermediate_size": 32, "vocab_size": 100})";
  const auto of = [&](const std::string& version) {
    const auto model = model_of(R"({"model_type": "minicpmv", "version": )" + version + tail);
    REQUIRE(model);
    return *model;
  };
  CHECK(of("2.6").qkv_bias);
  CHECK_FALSE(of("4.0").qkv_bias);
  CHECK_FALSE(of("\"2.5\"").qkv_bias);
  CHECK(of("4.5").blocks[0].block.attention.qk_norm == QkNorm::kHead);
}

TEST_CASE("what is no decoder of attention is refused by name, with the nearest that works") {
  CHECK(error_of(R"({"model_type": "bert"})").find("model_type 'bert' is an encoder") != std::string::npos);
  CHECK(error_of(R"({"model_type": "mamba2"})").find("state spaces") != std::string::npos);
  CHECK(error_of(R"({"model_type": "lama"})").find("did you mean 'llama'?") != std::string::npos);
  CHECK(error_of(R"({"model_type": "x", "is_encoder_decoder": true})").find("config.json:1:") == 0);
  CHECK(error_of(R"({"model_type": "qwen3", "layer_types": ["linear_attention"], "num_hidden_layers": 1})")
            .find("linear attention") != std::string::npos);
}

TEST_CASE("bad values are refused where they stand") {
  CHECK(error_of("{\"model_type\": \"llama\",\n \"hidden_size\": \"wide\"}")
            .find("config.json:2:17: error: hidden") == 0);
  CHECK(error_of(R"({"model_type": "llama", "num_hidden_layers": -3})").find("layers") != std::string::npos);
}

TEST_CASE("names come from folders and caches") {
  const std::string dashes(2, '-');
  CHECK(model_name("hub/models" + dashes + "org" + dashes + "name-7b/snapshots/abc/config.json") ==
        "org/name-7b");
  CHECK(model_name("ckpt/llama-x/config.json") == "llama-x");
  CHECK(model_name("a/tiny.json") == "tiny");
}

TEST_CASE("every family makes a model of what its class holds") {
  for (const std::string& type : family_types()) {
    CAPTURE(type);
    if (type == "granitemoehybrid") continue;  // of state spaces but where each layer is said not to be
    const auto model = model_of("{\"model_type\": \"" + type + "\", \"num_hidden_layers\": 4}");
    if (!model) CAPTURE(model.error().text());
    CHECK(model);
    CHECK_FALSE(why_refused(type));
  }
}

}  // namespace
}  // namespace foretrain
