// Trained numbers of published models: all, and those that one token passes.
#include <doctest/doctest.h>

#include <cstdint>

#include "spec/catalog.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

Model preset(std::string_view name) {
  const auto model = Catalog().model(name);
  REQUIRE_MESSAGE(model.has_value(), error_of(model));
  return *model;
}

struct Counts {
  const char* name;
  std::int64_t all;
  std::int64_t active;
};

}  // namespace

TEST_CASE("every preset that states its parameters has as many") {
  for (const std::string& name : Catalog().names("models")) {
    CAPTURE(name);
    const Model model = preset(name);
    if (model.stated_params > 0) CHECK(parameters(model) == model.stated_params);
    CHECK(active_parameters(model) <= parameters(model));
  }
}

// All: of the checkpoint, as model hubs publish it. Active: every weight but the experts that a token does not
// pass, the embedding in full.
TEST_CASE("the parameters of published mixtures are counted to the digit, all and active") {
  const Counts published[] = {
      {"mixtral-8x7b", 46702792704, 12879925248},   {"mixtral-8x22b", 140620634112, 39152031744},
      {"dbrx", 131596523520, 36469708800},          {"olmoe-1b-7b", 6919161856, 1282017280},
      {"qwen3-30b-a3b", 30532122624, 3353032704},   {"qwen3-235b-a22b", 235093634560, 22190763520},
      {"qwen2-57b-a14b", 57408658944, 14249270784}, {"deepseek-v2-lite", 15706484224, 2661150208},
      {"deepseek-v2", 235741434880, 21375800320},   {"gpt-oss-20b", 20914757184, 4187440704},
      {"gpt-oss-120b", 116829156672, 5711982912},
  };
  for (const auto& [name, all, active] : published) {
    CAPTURE(name);
    CHECK(parameters(preset(name)) == all);
    CHECK(active_parameters(preset(name)) == active);
  }
  // OpenAI's card leaves the embedding out: 5.13 billion active, "5.1B".
  const Model oss = preset("gpt-oss-120b");
  CHECK(active_parameters(oss) - oss.vocab * oss.hidden == 5132849472);
}

TEST_CASE("dense models pass every parameter") {
  const Counts published[] = {
      {"qwen3-0.6b", 596049920, 0},        {"qwen3-1.7b", 1720574976, 0},
      {"qwen3-4b", 4022468096, 0},         {"qwen3-8b", 8190735360, 0},
      {"qwen3-14b", 14768307200, 0},       {"qwen3-32b", 32762123264, 0},
      {"llama-3.1-8b", 8030261248, 0},     {"llama-3.1-70b", 70553706496, 0},
      {"llama-3.1-405b", 405853388800, 0}, {"llama-3.3-70b", 70553706496, 0},
      {"gemma-2-2b", 2614341888, 0},       {"gemma-2-9b", 9241705984, 0},
      {"gemma-2-27b", 27227128320, 0},     {"gemma-3-1b", 999885952, 0},
  };
  for (const auto& [name, all, unused] : published) {
    CAPTURE(name);
    CHECK(parameters(preset(name)) == all);
    CHECK(active_parameters(preset(name)) == all);
  }
}

// A checkpoint of these has a copy of the embedding and one of the head for the layer that predicts further.
TEST_CASE("checkpoints with a layer that predicts further hold what is counted and copies") {
  const auto stored = [](const Model& m) {
    return parameters(m) + mtp_parameters(m) + 2 * m.vocab * m.hidden;
  };
  // DeepSeek-V3's are in bf16 and fp8; what is in fp32 are scales of fp8 and these biases.
  CHECK(stored(preset("deepseek-v3")) == std::int64_t{3918786560} + 680571043840 + 59 * 256);
  CHECK(parameters(preset("deepseek-v3")) == 671026419200);
  CHECK(active_parameters(preset("deepseek-v3")) == 37552282624 + 58 * 256);
  CHECK(stored(preset("glm-4.5")) == 358337791296);
  CHECK(stored(preset("glm-4.5-air")) == 110468824832);
  CHECK(parameters(preset("glm-4.5-air")) == 106852251264);
}

TEST_CASE("Kimi K2 is DeepSeek-V3 with half the heads and half as many experts more") {
  CHECK(parameters(preset("kimi-k2")) == 1026408209408 + 60 * 384);
  CHECK(active_parameters(preset("kimi-k2")) == 32861477888 + 60 * 384);
}

TEST_CASE("models that see have as many more as their vision towers") {
  // Gemma 3: SigLIP, and a projector from its 1152 with a norm.
  const auto with_vision = [](const Model& m) { return parameters(m) + 416866032 + 1152 * m.hidden + 1152; };
  CHECK(with_vision(preset("gemma-3-4b")) == 4300079472);
  CHECK(with_vision(preset("gemma-3-12b")) == 12187325040);
  CHECK(with_vision(preset("gemma-3-27b")) == 27432406640);
  // Llama 4: 34 layers of 1408 with biases and an MLP of 5632, patches of 14 x 14 x 3, 577 positions, a class
  // token, norms before and after, an adapter from 4 x 1408 by 4096 to 4096, and the projector.
  const std::int64_t layer = 4 * (1408 * 1408 + 1408) + 2 * 1408 * 5632 + 5632 + 1408 + 4 * 1408;
  const std::int64_t tower = 34 * layer + (588 + 1 + 577 + 4) * 1408 + 5632 * 4096 + 4096 * 4096;
  const std::int64_t vision = tower + 4096 * 5120;
  CHECK(parameters(preset("llama-4-scout")) + vision == 108641793536);
  CHECK(active_parameters(preset("llama-4-scout")) == 17172894720);
  CHECK(parameters(preset("llama-4-maverick")) + vision == 401583781376);
  CHECK(active_parameters(preset("llama-4-maverick")) == 17184691200);
}

TEST_CASE("latent attention has two narrow products for keys and values, and two for queries with a rank") {
  // DeepSeek-V2-Lite: 2048 x 16 x 192 of queries; 2048 x (512 + 64) down, a norm of 512, 512 x 16 x (128 +
  // 128) up; 16 x 128 x 2048 out.
  const Attention lite{.heads = 16,
                       .kv_heads = 16,
                       .head_dim = 192,
                       .kv_rank = 512,
                       .nope_dim = 128,
                       .rope_dim = 64,
                       .v_dim = 128};
  CHECK(attention_parameters(lite, 2048, {}) ==
        2048 * 16 * 192 + 2048 * 576 + 512 + 512 * 16 * 256 + 16 * 128 * 2048);
  Attention ranked = lite;
  ranked.q_rank = 1536;
  CHECK(attention_parameters(ranked, 2048, {}) - attention_parameters(lite, 2048, {}) ==
        2048 * 1536 + 1536 + 1536 * 16 * 192 - 2048 * 16 * 192);
}

TEST_CASE("experts, router and shared experts have biases where the model has") {
  const FeedForward f{.mlp = MlpKind::kSwiglu,
                      .experts = 4,
                      .top_k = 2,
                      .expert_ffn = 10,
                      .shared_ffn = 20,
                      .shared_gate = true};
  const std::int64_t expert = 3 * 8 * 10, shared = 3 * 8 * 20, router = 8 * 4, gate = 8;
  CHECK(feed_forward_parameters(f, 8, false).all == 4 * expert + shared + router + gate);
  CHECK(feed_forward_parameters(f, 8, false).active == 2 * expert + shared + router + gate);
  // Each MLP has a bias of both of its gated halves and one of its output; the router one an expert.
  CHECK(feed_forward_parameters(f, 8, true).all - feed_forward_parameters(f, 8, false).all ==
        4 * (20 + 8) + (40 + 8) + 4);
}
