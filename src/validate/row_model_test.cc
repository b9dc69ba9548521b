#include "validate/row_model.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "validate/example_table.h"

using namespace foretrain;

namespace {

Result<Model> read(const Cells& replaced) {
  std::vector<std::string> assumed;
  return model_of(example_row(replaced), assumed);
}

Model model(const Cells& replaced) { return read(replaced).value(); }

std::string refusal(const Cells& replaced) {
  const auto model = read(replaced);
  return model ? "" : model.error().message;
}

std::vector<std::string> assumed(const Cells& replaced) {
  std::vector<std::string> assumed;
  model_of(example_row(replaced), assumed).value();
  return assumed;
}

// The cells of a mixture of experts: rmsnorm, rope, no dense layer.
Cells mixture(Cells more) {
  Cells cells = {{"norm", "rmsnorm"},    {"positions", "rope"}, {"ffn", ""},
                 {"ffn_type", "swiglu"}, {"experts", "8"},      {"top_k", "2"},
                 {"expert_ffn", "512"},  {"dense_layers", "0"}, {"notes", "family=mixtral"}};
  for (auto& [name, value] : more) {
    const auto same =
        std::find_if(cells.begin(), cells.end(), [&](const auto& c) { return c.first == name; });
    if (same != cells.end())
      same->second = value;
    else
      cells.emplace_back(name, value);
  }
  return cells;
}

Attention attention(const Cells& replaced) { return model(replaced).blocks.at(0).block.attention; }

}  // namespace

TEST_CASE("a family that stores or activates otherwise than its kin is known by name") {
  const auto of = [](const char* notes, const char* positions) {
    return model({{"notes", notes}, {"positions", positions}});
  };
  CHECK(of("biases=1; family=gpt2", "learned").gelu == Gelu::kTanh);
  CHECK(of("biases=1; family=gpt_neox", "rope").gelu == Gelu::kErf);
  CHECK(of("biases=1; family=gpt_neox", "rope").fused_qkv);
  CHECK(of("biases=1; family=phi", "rope").gelu == Gelu::kTanh);
  CHECK_FALSE(of("biases=1; family=phi", "rope").fused_qkv);
  CHECK(of("biases=1; family=opt", "learned").gelu == Gelu::kErf);
}

TEST_CASE("norms of queries and keys are noted, or known of a family") {
  const auto norm = [](const char* notes) { return attention({{"notes", notes}}).qk_norm; };
  CHECK(norm("qk_layernorm=1") == QkNorm::kHead);
  CHECK(norm("qk_norm=1") == QkNorm::kHead);
  CHECK(norm("qk_norm=whole (over all heads)") == QkNorm::kWhole);
  CHECK(norm("family=qwen3") == QkNorm::kHead);
  CHECK(norm("family=qwen3_moe") == QkNorm::kHead);
  CHECK(norm("family=olmoe") == QkNorm::kWhole);
  CHECK(norm("family=qwen2") == QkNorm::kNone);
}

TEST_CASE("experts stand in every layer but those said to be dense") {
  const Model mixtral = model(mixture({}));
  REQUIRE(mixtral.blocks.size() == 1);
  const FeedForward& experts = mixtral.blocks[0].block.feed_forward;
  CHECK(experts.experts == 8);
  CHECK(experts.top_k == 2);
  CHECK(experts.expert_ffn == 512);
  CHECK(experts.shared_ffn == 0);
  CHECK(experts.ffn == 0);
  // A width that no layer has says nothing.
  CHECK(model(mixture({{"ffn", "4096"}})) == mixtral);

  const Model deepseek = model(mixture(
      {{"ffn", "4096"}, {"dense_layers", "3"}, {"shared_experts", "2"}, {"shared_expert_ffn", "1024"}}));
  REQUIRE(deepseek.blocks.size() == 2);
  CHECK(deepseek.blocks[0].count == 3);
  CHECK(deepseek.blocks[0].block.feed_forward.ffn == 4096);
  CHECK(deepseek.blocks[1].count == 5);
  CHECK(deepseek.blocks[1].block.feed_forward.shared_ffn == 1024);
}

TEST_CASE("layers of both kinds may alternate, a dense one first") {
  // Llama 4: the column counts the dense layers, the note says where they are.
  const Model llama = model(mixture({{"ffn", "4096"},
                                     {"dense_layers", "4"},
                                     {"notes", "moe_layer_pattern=alternate (dense;moe;dense;moe...)"}}));
  REQUIRE(llama.blocks.size() == 8);
  CHECK_FALSE(llama.blocks[0].block.feed_forward.has_experts());
  CHECK(llama.blocks[1].block.feed_forward.has_experts());
  CHECK(llama.blocks[7].block.feed_forward.has_experts());
}

TEST_CASE("what a family's experts have beside their columns") {
  const Model qwen2 = model(mixture({{"shared_expert_ffn", "2048"}, {"notes", "family=qwen2_moe"}}));
  CHECK(qwen2.blocks[0].block.feed_forward.shared_gate);
  CHECK(qwen2.qkv_bias);
  CHECK_FALSE(qwen2.biases);
  CHECK_FALSE(model(mixture({{"shared_expert_ffn", "2048"}})).blocks[0].block.feed_forward.shared_gate);
  const auto router = [](const char* notes) {
    return model(mixture({{"notes", notes}})).blocks[0].block.feed_forward.router;
  };
  CHECK(router("family=deepseekv3") == Router::kFp32);
  CHECK(router("family=qwen3_moe") == Router::kHalf);
  CHECK(router("family=mixtral") == Router::kFp32Weights);
  // A note comes before the family's custom.
  CHECK_FALSE(
      model(mixture({{"shared_expert_ffn", "2048"}, {"notes", "qkv_bias=0; family=qwen2_moe"}})).qkv_bias);
}

TEST_CASE("latent attention has the widths of its notes, and no other head_dim") {
  const char* notes =
      "mla=1; q_lora_rank=96; kv_lora_rank=64; qk_nope_head_dim=32; qk_rope_head_dim=16; v_head_dim=24; "
      "qk_layernorm=1";
  const Attention latent = attention(mixture({{"head_dim", "128"}, {"notes", notes}}));
  CHECK(latent.is_latent());
  CHECK(latent.q_rank == 96);
  CHECK(latent.kv_rank == 64);
  CHECK(latent.head_dim == 48);
  CHECK(latent.v_dim == 24);
  CHECK(latent.qk_norm == QkNorm::kNone);  // the norms are those of its latents
  CHECK(refusal(mixture({{"notes", "mla=1; kv_lora_rank=64"}})).find("nope_dim") != std::string::npos);
}

TEST_CASE("windows on every other layer, the first among them") {
  for (const Cells& cells : {Cells{{"sliding_window", "128:alternate"}},
                             Cells{{"notes", "sliding_window=128 on alternate layers"}}}) {
    const Model gpt_oss = model(mixture(cells));
    REQUIRE(gpt_oss.blocks.size() == 8);
    CHECK(gpt_oss.blocks[0].block.attention.window == 128);
    CHECK(gpt_oss.blocks[1].block.attention.window == 0);
  }
  CHECK(model({{"sliding_window", "512"}}).blocks.size() == 1);
  CHECK(attention({{"sliding_window", "512"}}).window == 512);
  CHECK(refusal({{"sliding_window", "512:every third"}}).find("'every third'") != std::string::npos);
}

TEST_CASE("biases and sinks are said in words") {
  const Model gpt_oss = model(mixture({{"notes", "linear biases; attention sinks"}}));
  CHECK(gpt_oss.biases);
  CHECK(gpt_oss.blocks[0].block.attention.sinks);
  CHECK(model(mixture({{"notes", "family=gpt_oss"}})).blocks[0].block.attention.sinks);
  CHECK_FALSE(model(mixture({})).biases);
}

TEST_CASE("multi-token prediction by its column, or by a note") {
  CHECK(model(mixture({{"mtp", "1"}})).mtp_layers == 1);
  CHECK(model(mixture({{"notes", "mtp=1"}})).mtp_layers == 1);
  CHECK(model(mixture({{"mtp", "0"}, {"notes", "mtp=1"}})).mtp_layers == 0);
}

TEST_CASE("what a model has no key for is assumed away, or refused where it would be another model") {
  const auto says = [](const Cells& cells, const char* item) {
    const auto list = assumed(cells);
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  CHECK(says(mixture({{"notes", "nope on every 4th layer"}}), "positions on every layer"));
  CHECK(refusal(mixture({{"notes", "attention chunk 8192"}})) == "");
  CHECK(refusal(mixture({{"seq", "16384"}, {"notes", "attention chunk 8192"}})).find("inside chunks") !=
        std::string::npos);
}

TEST_CASE("a row whose experts contradict themselves is refused") {
  CHECK(refusal(mixture({{"top_k", "9"}})).find("top_k 9") != std::string::npos);
  CHECK(refusal(mixture({{"expert_ffn", ""}})).find("expert_ffn") != std::string::npos);
  CHECK(refusal(mixture({{"ffn", "4096"}, {"dense_layers", "8"}})).find("dense_layers") != std::string::npos);
}
