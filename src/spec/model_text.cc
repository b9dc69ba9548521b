#include "spec/model_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/catalog_entry.h"
#include "spec/model_fields.h"
#include "spec/read_fields.h"

namespace foretrain {

template <class E>
static Result<void> read_value(const Node& node, E& out, const FlagOrWord& kind) {
  if (const auto flag = node.boolean()) {
    out = static_cast<E>(*flag ? 1 : 0);
    return {};
  }
  TRY_ASSIGN(out, parse_choice<E>(node, kind.names));
  return {};
}

namespace {

// What people call layers whose state does not grow with the sequence, in keys or in a list of layer_types.
constexpr std::array<std::string_view, 9> kRecurrent = {"mamba",     "ssm",          "state_space",
                                                        "rwkv",      "linear_atten", "linear_attn",
                                                        "delta_net", "deltanet",     "recurrent"};

bool is_recurrent(std::string_view word) {
  return std::any_of(kRecurrent.begin(), kRecurrent.end(),
                     [&](std::string_view name) { return word.find(name) != std::string_view::npos; });
}

// These are not modelled, and nothing else stands for them: said by name rather than as an unknown key.
Result<void> refuse_recurrent(const Node& map) {
  const auto refused = [](std::string_view word, const Position& at) {
    return fail(
        fmt::format("found {}: layers of linear attention or state spaces are not modelled", quoted(word)),
        at);
  };
  for (std::size_t i = 0; map.is_map() && i < map.entries.size(); ++i) {
    const auto& [key, value] = map.entries[i];
    if (is_recurrent(key)) return refused(key, map.key_at[i]);
    if (key == "layer_types" || key == "layers_block_type")
      for (const Node& item : value.items)
        if (is_recurrent(item.scalar)) return refused(item.scalar, item.at);
  }
  return {};
}

void append(std::vector<std::string_view>& keys, std::vector<std::string_view> more) {
  keys.insert(keys.end(), more.begin(), more.end());
}

std::vector<std::string_view> block_keys() {
  std::vector<std::string_view> keys = keys_of(kAttentionFields);
  append(keys, keys_of(kFeedForwardFields));
  return keys;
}

// A key as stated for a block, or for all of them.
const Node* stated(std::string_view key, const Node& block, const Node& model) {
  const Node* own = block.find(key);
  return own != nullptr ? own : model.find(key);
}

// The same, where a run of layers may leave what the model states for all, by a `leave` of its own (experts:
// 0): then only its own keys count.
const Node* stated(std::string_view key, const Node& block, const Node& model, std::string_view leave) {
  const bool leaves = &block != &model && block.find(leave) != nullptr;
  return leaves ? block.find(key) : stated(key, block, model);
}

// The dense layers of a model that has experts in others.
FeedForward dense(const FeedForward& f) {
  return {.mlp = f.mlp, .ffn = f.ffn, .trained_activation = f.trained_activation};
}

Result<void> require(std::string_view key, const Node& block, const Node& model) {
  if (stated(key, block, model) == nullptr) return missing(block, key);
  return {};
}

Result<void> complete_latent(const Node& block, const Node& model, Attention& a) {
  for (const std::string_view key : {"nope_dim", "rope_dim", "v_dim"}) TRY(require(key, block, model));
  if (stated("head_dim", block, model) != nullptr && a.head_dim != a.nope_dim + a.rope_dim)
    return fail(fmt::format("head_dim {} is stated, but nope_dim {} and rope_dim {} make {}", a.head_dim,
                            a.nope_dim, a.rope_dim, a.nope_dim + a.rope_dim),
                stated("head_dim", block, model)->at);
  a.head_dim = a.nope_dim + a.rope_dim;
  for (const auto& [key, width] : {std::pair("rope_dim", a.head_dim), std::pair("v_dim", a.v_dim)})
    if (width < 1)
      return fail(fmt::format("found {} 0, expected a width of at least 1", key),
                  stated(key, block, model)->at);
  if (a.kv_heads != a.heads)
    return fail(fmt::format("kv_heads {} is not heads {}, which latent attention has of keys and values too",
                            a.kv_heads, a.heads),
                stated("kv_heads", block, model)->at);
  if (a.qk_norm != QkNorm::kNone)
    return fail("qk_norm: latent attention has norms of its latents instead",
                stated("qk_norm", block, model)->at);
  return {};
}

Result<void> complete_attention(const Node& block, const Node& model, std::int64_t hidden, Attention& a) {
  TRY(require("heads", block, model));
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  if (a.heads % a.kv_heads != 0)
    return fail(fmt::format("kv_heads {} does not divide heads {}", a.kv_heads, a.heads),
                stated("kv_heads", block, model)->at);
  if (a.is_latent()) return complete_latent(block, model, a);
  for (const std::string_view key : {"q_rank", "nope_dim", "rope_dim", "v_dim"})
    if (const Node* given = stated(key, block, model, "kv_rank"))
      return fail(fmt::format("{} is of latent attention, which needs kv_rank", key), given->at);
  a.q_rank = a.nope_dim = a.rope_dim = a.v_dim = 0;
  if (a.head_dim > 0) return {};
  if (hidden % a.heads != 0)
    return fail(fmt::format("heads {} does not divide hidden {}; state head_dim", a.heads, hidden),
                stated("heads", block, model)->at);
  a.head_dim = hidden / a.heads;
  return {};
}

Result<void> check_groups(const Node& block, const Node& model, const FeedForward& f) {
  if (f.routing_groups > 0 && f.experts % f.routing_groups != 0)
    return fail(fmt::format("routing_groups {} does not divide experts {}", f.routing_groups, f.experts),
                stated("routing_groups", block, model)->at);
  if (f.group_limit == 0) return {};
  const Position at = stated("group_limit", block, model)->at;
  if (f.group_limit > f.routing_groups)
    return fail(fmt::format("group_limit {} is more than routing_groups {}", f.group_limit, f.routing_groups),
                at);
  if (const std::int64_t eligible = f.experts / f.routing_groups * f.group_limit; f.top_k > eligible)
    return fail(fmt::format("group_limit {} leaves {} experts to a token, and top_k is {}", f.group_limit,
                            eligible, f.top_k),
                at);
  return {};
}

Result<void> complete_feed_forward(const Node& block, const Node& model, FeedForward& f) {
  if (!f.has_experts()) {
    TRY(require("ffn", block, model));
    TRY(require("mlp", block, model));
    for (const std::string_view key : {"top_k", "routing_groups", "group_limit", "expert_ffn", "router",
                                       "shared_ffn", "shared_gate", "balancing_bias"})
      if (const Node* given = stated(key, block, model, "experts"))
        return fail(fmt::format("{} is of experts, and none are stated", key), given->at);
    f = dense(f);
    return {};
  }
  for (const std::string_view key : {"top_k", "expert_ffn", "mlp"}) TRY(require(key, block, model));
  f.trained_activation = false;
  if (f.top_k < 1 || f.top_k > f.experts)
    return fail(fmt::format("top_k {} is not between 1 and experts {}", f.top_k, f.experts),
                stated("top_k", block, model)->at);
  TRY(check_groups(block, model, f));
  if (f.shared_gate && f.shared_ffn == 0)
    return fail("shared_gate needs shared_ffn", stated("shared_gate", block, model)->at);
  return {};
}

// One layer after the other; runs of equal ones are joined.
class LayerRuns {
 public:
  Result<void> add(const Block& block, const Node& at) {
    if (!runs_.empty() && runs_.back().block == block) {
      ++runs_.back().count;
      return {};
    }
    if (std::find(kinds_.begin(), kinds_.end(), block) == kinds_.end()) kinds_.push_back(block);
    if (kinds_.size() > kMaxBlockKinds)
      return fail(fmt::format("more than {} kinds of layers", kMaxBlockKinds), at.at);
    runs_.push_back({1, block});
    return {};
  }
  std::vector<BlockRun> take() { return std::move(runs_); }

 private:
  std::vector<BlockRun> runs_;
  std::vector<Block> kinds_;
};

struct StatedBlock {
  const Node* node;
  std::int64_t layers = 1;
  Block block;
};

// What `blocks` lists, or the one kind that the model's own keys state.
Result<std::vector<StatedBlock>> stated_blocks(const Node& node, std::int64_t hidden,
                                               const LayerPattern& pattern) {
  Block common;
  TRY(read_fields(node, kAttentionFields, common.attention));
  TRY(read_fields(node, kFeedForwardFields, common.feed_forward));
  std::vector<StatedBlock> stated;
  if (const Node* list = node.find("blocks")) {
    if (!list->is_list() || list->items.empty())
      return fail("blocks: expected a list of maps, a run of layers each", list->at);
    std::vector<std::string_view> allowed = {"layers"};
    append(allowed, block_keys());
    for (const Node& item : list->items) {
      TRY(refuse_recurrent(item));
      TRY(only_fields(item, "a run of layers", allowed));
      StatedBlock each{&item, 1, common};
      TRY(read_optional(item, "layers", each.layers, WholeNumber{1, kMaxLayers}));
      TRY(read_fields(item, kAttentionFields, each.block.attention));
      TRY(read_fields(item, kFeedForwardFields, each.block.feed_forward));
      stated.push_back(each);
    }
  } else {
    stated.push_back({&node, pattern.layers, common});
  }
  for (StatedBlock& each : stated) {
    TRY(complete_attention(*each.node, node, hidden, each.block.attention));
    TRY(complete_feed_forward(*each.node, node, each.block.feed_forward));
  }
  return stated;
}

// A pattern of what no layer has would change nothing, so it is a mistake.
Result<void> check_pattern(const Node& node, const LayerPattern& pattern,
                           const std::vector<StatedBlock>& stated) {
  const auto any = [&](auto has) {
    return std::any_of(stated.begin(), stated.end(),
                       [&](const StatedBlock& each) { return has(each.block); });
  };
  if (!any([](const Block& block) { return block.feed_forward.has_experts(); })) {
    if (pattern.dense_layers > 0)
      return fail("dense_layers is of experts, and none are stated", node.find("dense_layers")->at);
    if (pattern.expert_every > 1)
      return fail("expert_every is of experts, and none are stated", node.find("expert_every")->at);
  }
  if (pattern.full_every > 0 && !any([](const Block& block) { return block.attention.window > 0; }))
    return fail("full_every is of windows, and none is stated", node.find("full_every")->at);
  return {};
}

Result<std::vector<BlockRun>> parse_blocks(const Node& node, std::int64_t hidden) {
  LayerPattern pattern;
  TRY(read_fields(node, kPatternFields, pattern));
  if (pattern.layers == 0 && node.find("blocks") == nullptr) return missing(node, "layers");
  TRY_ASSIGN(const std::vector<StatedBlock> stated, stated_blocks(node, hidden, pattern));
  TRY(check_pattern(node, pattern, stated));
  std::int64_t listed = 0;
  for (const StatedBlock& each : stated) listed += each.layers;
  const std::int64_t layers = pattern.layers > 0 ? pattern.layers : listed;
  if (layers < listed || layers > kMaxLayers)
    return fail(fmt::format("blocks: {} layers are listed, expected at most the {} of `layers`", listed,
                            std::min(layers, kMaxLayers)),
                node.find("blocks")->at);
  for (const auto& [key, value, most] :
       {std::tuple("dense_layers", pattern.dense_layers, layers - 1),
        std::tuple("expert_every", pattern.expert_every, layers - pattern.dense_layers),
        std::tuple("full_every", pattern.full_every, layers)})
    if (value > most && node.find(key) != nullptr)
      return fail(fmt::format("{}: found {}, expected at most {} of {} layers", key, value, most, layers),
                  node.find(key)->at);
  LayerRuns out;
  std::size_t run = 0;
  std::int64_t left = stated[0].layers;
  for (std::int64_t i = 0; i < layers; ++i, --left) {
    if (left == 0) {  // the list goes round until there are layers enough
      run = (run + 1) % stated.size();
      left = stated[run].layers;
    }
    Block block = stated[run].block;
    const bool experts =
        i >= pattern.dense_layers && (i - pattern.dense_layers + 1) % pattern.expert_every == 0;
    if (block.feed_forward.has_experts() && !experts) {
      block.feed_forward = dense(block.feed_forward);
      if (block.feed_forward.ffn == 0) return missing(*stated[run].node, "ffn");
    }
    if (block.feed_forward.has_experts()) block.feed_forward.ffn = 0;
    if (pattern.full_every > 0 && (i + 1) % pattern.full_every == 0) block.attention.window = 0;
    TRY(out.add(block, *stated[run].node));
  }
  return out.take();
}

Result<void> read_positions(const Node& node, Model& model) {
  if (model.positions != Positions::kLearned || model.max_positions > 0) return {};
  if (model.default_seq == 0)
    return fail("missing key 'max_positions', which learned positions need (or state seq)", node.at);
  model.max_positions = model.default_seq;
  return {};
}

// Defaults: models with layer norms (GPT-2, GPT-NeoX, BLOOM, Falcon) store one matrix, those with rms norms
// (Llama, Mistral, Qwen, Gemma) three; GPT-2 and its kin with learned positions approximate gelu by tanh.
Result<void> complete(const Node& node, Model& model) {
  const auto given = [&](std::string_view key) { return node.find(key) != nullptr; };
  if (!given("qkv_bias")) model.qkv_bias = model.biases;
  if (!given("projection_bias")) model.projection_bias = model.biases;
  if (!given("norm_bias")) model.norm_bias = model.biases && model.norm != Norm::kRmsnorm;
  if (model.norm == Norm::kRmsnorm && model.norm_bias)
    return fail("norm_bias: rmsnorm has no bias", node.find("norm_bias")->at);
  if (model.one_norm && model.residual != Residual::kParallel)
    return fail("one_norm needs residual: parallel", node.find("one_norm")->at);
  if (model.one_norm && model.post_norms)
    return fail("one_norm and post_norms exclude each other", node.find("one_norm")->at);
  if (!given("fused_qkv")) model.fused_qkv = model.norm == Norm::kLayernorm;
  if (!given("gelu")) model.gelu = model.positions == Positions::kLearned ? Gelu::kTanh : Gelu::kErf;
  return read_positions(node, model);
}

Result<void> read_assumed(const Node& node, Model& model) {
  const Node* list = node.find("assumed");
  if (list == nullptr) return {};
  if (!list->is_list()) return fail("assumed: expected a list of words for readers", list->at);
  for (const Node& item : list->items) {
    TRY_ASSIGN(std::string words, item.text());
    model.assumed.push_back(std::move(words));
  }
  return {};
}

Result<void> check_parameters(const Node& node, const Model& model) {
  // Of one plain block the limits of fields keep the sum inside 64 bits, of others this does.
  for (const BlockRun& run : model.blocks)
    if ((run.block.feed_forward.has_experts() || run.block.attention.is_latent()) &&
        block_parameters(model, run.block) > kMaxParameters / model.layers())
      return fail("the model has more than 10^15 parameters", node.at);
  const std::int64_t count = parameters(model);
  if (count > kMaxParameters)
    return fail(fmt::format("the model has {} parameters, more than 10^15", count), node.at);
  if (model.stated_params != 0 && model.stated_params != count)
    return fail(fmt::format("params {} is stated, but the other fields give {}", model.stated_params, count),
                node.find("params")->at);
  return {};
}

}  // namespace

Result<Model> parse_model(const Node& node) {
  std::vector<std::string_view> allowed = keys_of(kModelFields);
  append(allowed, keys_of(kPatternFields));
  append(allowed, block_keys());
  append(allowed, keys_of(kCatalogFields));
  allowed.push_back("blocks");
  allowed.push_back("assumed");
  TRY(refuse_recurrent(node));
  TRY(only_fields(node, "a model", allowed));
  TRY(aliases_of(node));
  Model model;
  model.name = "inline";
  TRY(read_fields(node, kModelFields, model));
  if (node.find("hidden") == nullptr) return missing(node, "hidden");
  TRY_ASSIGN(model.blocks, parse_blocks(node, model.hidden));
  for (const std::string_view key : {"norm", "vocab", "tied", "positions"})
    if (node.find(key) == nullptr) return missing(node, key);
  TRY(complete(node, model));
  TRY(check_parameters(node, model));
  TRY(read_assumed(node, model));
  return model;
}

}  // namespace foretrain
