#include "formats/config_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

struct Names {
  std::string_view key, theirs;  // ours; theirs in the order in which they count
};
constexpr Names kNames[] = {
    {"layers", "num_hidden_layers n_layer n_layers num_layers"},
    {"hidden", "hidden_size n_embd n_embed d_model"},
    {"heads", "num_attention_heads n_head n_heads num_heads attention_heads"},
    {"kv_heads", "num_key_value_heads num_kv_heads n_head_kv multi_query_group_num attn_config.kv_n_heads"},
    {"head_dim", "head_dim kv_channels attention_head_dim"},
    {"ffn",
     "intermediate_size n_inner ffn_dim ffn_hidden_size ff_intermediate_size ffn_config.ffn_hidden_size"},
    {"vocab", "padded_vocab_size vocab_size"},
    {"act", "hidden_act hidden_activation activation_function activation"},
    {"tied", "tie_word_embeddings"},
    {"seq", "max_position_embeddings n_positions max_seq_len max_sequence_length seq_length n_ctx"},
    {"window", "sliding_window window_size"},
    {"full_every", "sliding_window_pattern"},
    {"rotary_fraction", "partial_rotary_factor rotary_pct rope_pct rope_parameters.partial_rotary_factor"},
    {"rotary_dim", "rotary_dim"},
    {"experts", "num_local_experts num_experts n_routed_experts moe_num_experts ffn_config.moe_num_experts"},
    {"top_k", "num_experts_per_tok moe_topk moe_top_k moe_k num_experts_per_token ffn_config.moe_top_k"},
    {"expert_ffn", "moe_intermediate_size expert_ffn_hidden_size"},
    {"shared_experts", "n_shared_experts num_shared_experts moe_num_shared_experts num_shared_expert"},
    {"shared_ffn",
     "shared_expert_intermediate_size shared_intermediate_size moe_shared_expert_intermediate_size"},
    {"dense_layers", "first_k_dense_replace moe_layer_start_index"},
    {"routing_groups", "n_group"},
    {"group_limit", "topk_group"},
    {"mtp_layers", "num_nextn_predict_layers num_mtp_modules"},
    {"q_rank", "q_lora_rank"},
    {"kv_rank", "kv_lora_rank"},
    {"nope_dim", "qk_nope_head_dim"},
    {"rope_dim", "qk_rope_head_dim"},
    {"v_dim", "v_head_dim"},
    {"dropout", "resid_pdrop hidden_dropout resid_dropout residual_dropout"},
};

// Class defaults that every model of a family has in common are not news.
constexpr std::string_view kNotWorthSaying[] = {"dropout", "act", "seq", "windowed", "full_every"};

Node literal_node(std::string_view word) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = word;
  return node;
}

}  // namespace

const Node* ConfigKeys::raw(std::string_view their_key) const {
  const std::size_t dot = their_key.find('.');
  if (dot == std::string_view::npos) return config_.find(their_key);
  const Node* inner = config_.find(their_key.substr(0, dot));
  return inner == nullptr || !inner->is_map() ? nullptr : inner->find(their_key.substr(dot + 1));
}

const Node* ConfigKeys::stated(std::string_view key) const {
  const Node* null = nullptr;
  for (const Names& names : kNames) {
    if (names.key != key) continue;
    for (const std::string_view their : split(names.theirs, ' ')) {
      const Node* node = raw(their);
      if (node == nullptr) continue;
      if (node->kind != Node::Kind::kNull) return node;
      null = node;
    }
  }
  return null;
}

ConfigKeys::Found ConfigKeys::find(std::string_view key) const {
  if (const Node* node = stated(key)) {
    if (node->kind == Node::Kind::kNull) return {};
    return {.node = node, .literal = {}};
  }
  const Fact* fact = family_.find(key);
  if (fact == nullptr) return {};
  if (!fact->their.empty())
    if (const Node* node = raw(fact->their))
      return node->kind == Node::Kind::kNull ? Found{} : Found{node, {}, fact->negated};
  return {.node = nullptr, .literal = fact->value, .negated = fact->negated};
}

void ConfigKeys::note(std::string_view key, const Found& found) {
  if (found.node != nullptr || found.literal.empty()) return;
  const bool named =
      std::any_of(std::begin(kNames), std::end(kNames), [&](const Names& names) { return names.key == key; });
  if (!named ||
      std::find(std::begin(kNotWorthSaying), std::end(kNotWorthSaying), key) != std::end(kNotWorthSaying))
    return;
  assume(fmt::format("{}: {} (not in the file: as its class {} has it)", key, found.literal, family_.name));
}

Result<std::optional<std::int64_t>> ConfigKeys::whole(std::string_view key, std::int64_t high) {
  const Found found = find(key);
  if (!found.any()) return std::optional<std::int64_t>();
  note(key, found);
  const Node literal = literal_node(found.literal);
  const Node& node = found.node != nullptr ? *found.node : literal;
  if (node.is_list() || node.is_map())
    return fail(fmt::format("{}: found a list, which is read for lists of layers alone", key), node.at);
  auto value = node.integer(0, high);
  if (!value) return named(key, value.error());
  return std::optional(*value);
}

Result<std::optional<double>> ConfigKeys::real(std::string_view key, double low, double high) {
  const Found found = find(key);
  if (!found.any()) return std::optional<double>();
  note(key, found);
  const Node literal = literal_node(found.literal);
  auto value = (found.node != nullptr ? *found.node : literal).number(low, high);
  if (!value) return named(key, value.error());
  return std::optional(*value);
}

Result<std::optional<bool>> ConfigKeys::flag(std::string_view key) {
  const Found found = find(key);
  if (!found.any()) return std::optional<bool>();
  note(key, found);
  const Node literal = literal_node(found.literal);
  auto value = (found.node != nullptr ? *found.node : literal).boolean();
  if (!value) return named(key, value.error());
  return std::optional(*value != found.negated);
}

std::optional<std::string> ConfigKeys::word(std::string_view key) {
  const Found found = find(key);
  if (!found.any()) return std::nullopt;
  note(key, found);
  return found.node != nullptr ? found.node->scalar : found.literal;
}

Result<bool> ConfigKeys::raw_flag(std::string_view their_key, bool otherwise) const {
  const Node* node = raw(their_key);
  if (node == nullptr || node->kind == Node::Kind::kNull) return otherwise;
  auto value = node->boolean();
  if (!value) return named(their_key, value.error());
  return *value;
}

Result<std::int64_t> ConfigKeys::raw_whole(std::string_view their_key, std::int64_t otherwise) const {
  const Node* node = raw(their_key);
  if (node == nullptr || node->kind == Node::Kind::kNull) return otherwise;
  auto value = node->integer(-1, 1'000'000'000);
  if (!value) return named(their_key, value.error());
  return *value;
}

}  // namespace foretrain
