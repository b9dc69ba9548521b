// Models whose layers differ: which layer is of which kind, what is refused, and their text.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "spec/catalog.h"
#include "spec/model_text.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

Result<Model> model_of(const std::string& yaml) { return parse_yaml(yaml, "m.yaml").and_then(parse_model); }

std::string error_of(const std::string& yaml) { return error_of(model_of(yaml)); }

std::vector<Block> layers_of(const Model& model) {
  std::vector<Block> layers;
  for (const BlockRun& run : model.blocks)
    layers.insert(layers.end(), static_cast<std::size_t>(run.count), run.block);
  return layers;
}

std::vector<Block> layers_of(std::string_view preset) {
  const auto model = Catalog().model(preset);
  REQUIRE_MESSAGE(model.has_value(), error_of(model));
  return layers_of(*model);
}

// A letter a layer: w windowed, f sees all; in upper case where it has experts.
std::string drawn(const std::vector<Block>& layers) {
  std::string text;
  for (const Block& layer : layers) {
    const bool windowed = layer.attention.window > 0;
    text += layer.feed_forward.has_experts() ? (windowed ? 'W' : 'F') : (windowed ? 'w' : 'f');
  }
  return text;
}

const std::string kPlain =
    "hidden: 512\nheads: 8\nnorm: rmsnorm\npositions: rope\nvocab: 1000\ntied: false\nmlp: swiglu\n";
const std::string kMixture =
    kPlain + "layers: 6\nffn: 2048\nexperts: 8\ntop_k: 2\nexpert_ffn: 256\n";  // lines 8 to 12
const std::string kLatent =
    kPlain + "layers: 2\nffn: 2048\nkv_rank: 64\nnope_dim: 32\nrope_dim: 16\nv_dim: 32\n";  // lines 8 to 13

}  // namespace

TEST_CASE("the layers of published models are of the kinds that their papers say") {
  // DeepSeek-V3: three dense layers, then experts.
  CHECK(drawn(layers_of("deepseek-v3")) == "fff" + std::string(58, 'F'));
  CHECK(layers_of("deepseek-v3")[0].feed_forward.ffn == 18432);
  // GPT-OSS: a window of 128 in each first of two. Gemma 2 as well, without experts.
  const auto oss = layers_of("gpt-oss-20b");
  CHECK(drawn(oss) == "WFWFWFWFWFWFWFWFWFWFWFWF");
  CHECK(oss[0].attention.window == 128);
  CHECK(drawn(layers_of("gemma-2-2b")) == "wfwfwfwfwfwfwfwfwfwfwfwfwf");
  // Gemma 3: five local layers, one global one, and what is left over is local.
  CHECK(drawn(layers_of("gemma-3-4b")) == "wwwwwfwwwwwfwwwwwfwwwwwfwwwwwfwwww");
  // Llama 4 Maverick: each second layer has experts, each fourth sees all.
  CHECK(drawn(layers_of("llama-4-maverick")).starts_with("wWwFwWwF"));
  CHECK(drawn(layers_of("llama-4-scout")).starts_with("WWWFWWWF"));
  CHECK(layers_of("llama-4-maverick")[0].feed_forward.ffn == 16384);
  CHECK(layers_of("llama-4-maverick")[1].feed_forward.expert_ffn == 8192);
}

TEST_CASE("the first layers are dense, and of the others each n-th has experts") {
  CHECK(drawn(layers_of(*model_of(kMixture))) == "FFFFFF");
  CHECK(drawn(layers_of(*model_of(kMixture + "dense_layers: 1\n"))) == "fFFFFF");
  CHECK(drawn(layers_of(*model_of(kMixture + "expert_every: 2\n"))) == "fFfFfF");
  CHECK(drawn(layers_of(*model_of(kMixture + "dense_layers: 1\nexpert_every: 3\n"))) == "fffFff");
  CHECK(drawn(layers_of(*model_of(kMixture + "dense_layers: 5\n"))) == "fffffF");
  CHECK(drawn(layers_of(*model_of(kMixture + "window: 64\nfull_every: 4\ndense_layers: 2\n"))) == "wwWFWW");
}

TEST_CASE("a list of blocks goes round until there are layers enough") {
  const Model model =
      *model_of(kPlain + "layers: 12\nffn: 2048\nblocks: [{layers: 3, window: 64}, {layers: 2}]\n");
  CHECK(drawn(layers_of(model)) == "wwwffwwwffww");
  CHECK(model.kind_of_layers() == std::vector<std::uint8_t>{0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0});
  CHECK(BlockKinds(model).size() == 2);
  CHECK(model.layers() == 12);
  // Without `layers` it is gone through once; runs of equal blocks are one.
  const Model once = *model_of(kPlain + "ffn: 2048\nblocks: [{layers: 3}, {layers: 2}, {ffn: 1024}]\n");
  CHECK(once.blocks.size() == 2);
  CHECK(once.blocks[0].count == 5);
  CHECK(once.blocks[1].block.feed_forward.ffn == 1024);
}

TEST_CASE("blocks may differ in everything that a block has") {
  const Model model =
      *model_of(kPlain +
                "blocks:\n"
                "  - {layers: 2, ffn: 1024, head_dim: 64, kv_heads: 2}\n"
                "  - {ffn: 2048, mlp: geglu, head_dim: 32, qk_norm: whole, sinks: true}\n"
                "  - {experts: 4, top_k: 1, expert_ffn: 128, shared_ffn: 64, shared_gate: true}\n"
                "  - {ffn: 2048, kv_rank: 64, nope_dim: 32, rope_dim: 16, v_dim: 32}\n");
  CHECK(model.layers() == 5);
  CHECK(BlockKinds(model).size() == 4);
  CHECK(model.blocks[0].block.attention.head_dim == 64);
  CHECK(model.blocks[1].block.attention.qk_norm == QkNorm::kWhole);
  CHECK(model.blocks[1].block.feed_forward.mlp == MlpKind::kGeglu);
  CHECK(model.blocks[2].block.attention.head_dim == 64);  // 512 / 8
  CHECK(model.blocks[3].block.attention.head_dim == 48);
  CHECK(model.blocks[3].block.attention.out_width() == 8 * 32);
}

TEST_CASE("a run of layers may leave what the model states for all") {
  const Model model = *model_of(kMixture + "blocks: [{layers: 2, experts: 0, ffn: 4096}, {layers: 4}]\n");
  CHECK(drawn(layers_of(model)) == "ffFFFF");
  CHECK(model.blocks[0].block.feed_forward == FeedForward{.mlp = MlpKind::kSwiglu, .ffn = 4096});
  CHECK(error_of(kMixture + "blocks: [{layers: 2, experts: 0, top_k: 2}, {layers: 4}]\n")
            .find("error: top_k is of experts, and none are stated") != std::string::npos);
}

TEST_CASE("a pattern that no layer is left for is refused where it stands") {
  CHECK(error_of(kMixture + "dense_layers: 6\n")
            .find("error: dense_layers: found 6, expected at most 5 of 6 layers") != std::string::npos);
  CHECK(error_of(kMixture + "dense_layers: 4\nexpert_every: 3\n")
            .find("error: expert_every: found 3, expected at most 2 of 6 layers") != std::string::npos);
  CHECK(error_of(kMixture + "window: 64\nfull_every: 7\n")
            .find("error: full_every: found 7, expected at most 6 of 6 layers") != std::string::npos);
}

TEST_CASE("a model of several kinds written as YAML reads back equal") {
  for (const std::string& yaml :
       {kMixture + "dense_layers: 1\nwindow: 64\nfull_every: 3\nshared_ffn: 512\nmtp_layers: 1\n",
        kLatent + "q_rank: 96\npost_norms: true\n",
        kPlain +
            "qkv_bias: true\nffn: 2048\nblocks: [{layers: 3, window: 64, sinks: true}, {qk_norm: true}, "
            "{qk_norm: whole, experts: 4, top_k: 4, expert_ffn: 64, shared_ffn: 32, shared_gate: true}]\n"}) {
    CAPTURE(yaml);
    const auto model = model_of(yaml);
    REQUIRE_MESSAGE(model.has_value(), error_of(yaml));
    const auto again = model_of(to_yaml(*model));
    REQUIRE_MESSAGE(again.has_value(), error_of(again));
    CHECK(*again == *model);
  }
}

TEST_CASE("aliases are no part of a model") {
  CHECK(*model_of(kMixture) == *model_of(kMixture + "aliases: [ours/mixture]\n"));
  CHECK(error_of(kMixture + "aliases: mixture\n") ==
        "m.yaml:13:10: error: aliases: expected a list of names");
  CHECK(error_of(kMixture + "aliases: ['']\n") ==
        "m.yaml:13:11: error: aliases: found an empty text, expected a name");
}

TEST_CASE("experts that do not fit are refused where they stand") {
  CHECK(error_of(replaced(kMixture, "top_k: 2", "top_k: 9")) ==
        "m.yaml:11:8: error: top_k 9 is not between 1 and experts 8");
  CHECK(error_of(replaced(kMixture, "top_k: 2", "top_k: 0")) ==
        "m.yaml:11:8: error: top_k: found '0', expected a whole number from 1 to 10000");
  CHECK(error_of(replaced(kMixture, "top_k: 2\n", "")) == "m.yaml:1:1: error: missing key 'top_k'");
  CHECK(error_of(replaced(kMixture, "expert_ffn: 256\n", "")) ==
        "m.yaml:1:1: error: missing key 'expert_ffn'");
  CHECK(error_of(replaced(kMixture, "experts: 8\n", "")) ==
        "m.yaml:10:8: error: top_k is of experts, and none are stated");
  CHECK(error_of(replaced(kMixture, "ffn: 2048\n", "") + "dense_layers: 1\n") ==
        "m.yaml:1:1: error: missing key 'ffn'");
  CHECK(error_of(kMixture + "shared_gate: true\n") == "m.yaml:13:14: error: shared_gate needs shared_ffn");
  CHECK(error_of(kPlain + "layers: 2\nffn: 8\ndense_layers: 1\n") ==
        "m.yaml:10:15: error: dense_layers is of experts, and none are stated");
  CHECK(error_of(kPlain + "layers: 2\nffn: 8\nexpert_every: 2\n") ==
        "m.yaml:10:15: error: expert_every is of experts, and none are stated");
  CHECK(error_of(kPlain + "layers: 2\nffn: 8\nfull_every: 2\n") ==
        "m.yaml:10:13: error: full_every is of windows, and none is stated");
}

TEST_CASE("latent attention that does not fit is refused where it stands") {
  REQUIRE_MESSAGE(model_of(kLatent).has_value(), error_of(kLatent));
  CHECK(error_of(replaced(kLatent, "kv_rank: 64", "q_rank: 64")) ==
        "m.yaml:10:9: error: q_rank is of latent attention, which needs kv_rank");
  CHECK(error_of(replaced(kLatent, "kv_rank: 64", "kv_rank: 0")) ==
        "m.yaml:11:11: error: nope_dim is of latent attention, which needs kv_rank");
  CHECK(error_of(replaced(kLatent, "v_dim: 32\n", "")) == "m.yaml:1:1: error: missing key 'v_dim'");
  CHECK(error_of(kLatent + "head_dim: 64\n") ==
        "m.yaml:14:11: error: head_dim 64 is stated, but nope_dim 32 and rope_dim 16 make 48");
  CHECK(error_of(kLatent + "kv_heads: 2\n") ==
        "m.yaml:14:11: error: kv_heads 2 is not heads 8, which latent attention has of keys and values too");
  CHECK(error_of(kLatent + "qk_norm: true\n") ==
        "m.yaml:14:10: error: qk_norm: latent attention has norms of its latents instead");
}

TEST_CASE("lists of blocks that make no model are refused where they stand") {
  CHECK(error_of(kPlain + "layers: 2\nffn: 8\nblocks: []\n") ==
        "m.yaml:10:9: error: blocks: expected a list of maps, a run of layers each");
  CHECK(error_of(kPlain + "ffn: 8\nblocks: [{widnow: 8}]\n") ==
        "m.yaml:9:11: error: unknown key 'widnow'; did you mean 'window'?");
  CHECK(error_of(kPlain + "layers: 2\nffn: 8\nblocks: [{layers: 2}, {window: 8}]\n") ==
        "m.yaml:10:9: error: blocks: 3 layers are listed, expected at most the 2 of `layers`");
  CHECK(error_of(kPlain + "ffn: 8\nblocks:\n  - {heads: 7}\n") ==
        "m.yaml:10:13: error: heads 7 does not divide hidden 512; state head_dim");
  std::string nine = kPlain + "ffn: 8\nblocks:\n";  // lines 10 to 18
  for (int i = 1; i <= 9; ++i) nine += "  - {window: " + std::to_string(i) + "}\n";
  CHECK(error_of(nine) == "m.yaml:18:5: error: more than 8 kinds of layers");
  CHECK(model_of(replaced(nine, "{window: 9}", "{window: 8}")).has_value());
}
