#include "validate/row_model.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "spec/model_text.h"
#include "validate/spec_map.h"

namespace foretrain {

namespace {

// What models of Hugging Face's types (note `family`) are though their columns do not say it.
struct FamilyFact {
  std::string_view family, key, value;
};
constexpr FamilyFact kFamilyFacts[] = {
    {"gpt_neo", "fused_qkv", "false"},
    {"gpt_neo", "gelu", "tanh"},
    {"gptj", "fused_qkv", "false"},
    {"gptj", "gelu", "tanh"},
    {"codegen", "gelu", "tanh"},
    {"bloom", "gelu", "tanh"},
    {"phi", "fused_qkv", "false"},
    {"phi", "gelu", "tanh"},
    {"phi3", "fused_qkv", "true"},
    {"stablelm", "fused_qkv", "false"},
    {"olmo", "fused_qkv", "false"},
    {"opt", "fused_qkv", "false"},
    {"opt", "gelu", "erf"},
    {"starcoder2", "fused_qkv", "false"},
    {"qwen3", "qk_norm", "true"},
    {"qwen3moe", "qk_norm", "true"},
    {"olmoe", "qk_norm", "whole"},
    {"qwen2moe", "qkv_bias", "true"},
    {"qwen2moe", "shared_gate", "true"},
    {"gptoss", "biases", "true"},
    {"gptoss", "sinks", "true"},
    {"deepseekv2", "router", "fp32"},
    {"deepseekv3", "router", "fp32"},
    {"deepseekv3", "routing_groups", "8"},
    {"deepseekv3", "group_limit", "4"},
    {"glm4moe", "router", "fp32"},
    {"mixtral", "router", "fp32_weights"},
    {"gptoss", "router", "half"},
    {"llama4", "router", "half"},
    {"olmoe", "router", "half"},
    {"qwen2moe", "router", "half"},
    {"qwen3moe", "router", "half"},
};

// "qwen3_moe" and "qwen3moe" are one.
bool same_family(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view name) {
    std::string out(name);
    std::erase(out, '_');
    return out;
  };
  return plain(a) == plain(b);
}

bool is_latent(const MeasuredRow& row) { return row.notes.says("mla", "1"); }

bool alternates(const MeasuredRow& row) { return row.notes.word("moe_layer_pattern") == "alternate"; }

void put_attention(SpecMap& map, const MeasuredRow& row) {
  map.put("heads", row.heads);
  if (is_latent(row)) {
    map.put_note("q_rank", row, "q_lora_rank");
    map.put_note("kv_rank", row, "kv_lora_rank");
    map.put_note("nope_dim", row, "qk_nope_head_dim");
    map.put_note("rope_dim", row, "qk_rope_head_dim");
    map.put_note("v_dim", row, "v_head_dim");
    return;  // norms of queries and keys are those of its latents
  }
  map.put("kv_heads", row.kv_heads);
  map.put("head_dim", row.head_dim);
  const auto qk_norm = row.notes.word("qk_norm");
  if (qk_norm == "whole") {
    map.put("qk_norm", "whole");
  } else if (qk_norm == "1" || row.notes.says("qk_layernorm", "1")) {
    map.put("qk_norm", "true");
  }
  if (row.notes.has("attention sinks")) map.put("sinks", "true");
}

// Llama 4's attention inside chunks is that of the whole sequence where one chunk holds it.
Result<void> check_chunks(const MeasuredRow& row) {
  constexpr std::int64_t kChunk = 8192;
  if (row.notes.has("attention chunk 8192") && row.seq > kChunk)
    return fail("not modelled yet: attention inside chunks");
  return {};
}

// "128:alternate": every other layer sees 128 keys, the first among them; "4096": all layers see so many. Older
// tables have a note "128 on alternate layers".
Result<void> put_window(SpecMap& map, const MeasuredRow& row) {
  const std::string_view noted = row.notes.find("sliding_window").value_or("");
  const std::string_view text = row.sliding_window.empty() ? noted : row.sliding_window;
  if (text.empty()) return {};
  const std::size_t end = text.find_first_of(": ");
  const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end + 1);
  if (!rest.empty() && rest != "alternate" && rest != "on alternate layers")
    return fail(fmt::format("sliding_window {}: found {}, expected alternate", quoted(text), quoted(rest)));
  map.put("window", text.substr(0, end));
  if (!rest.empty()) map.put("full_every", 2);
  return {};
}

void put_feed_forward(SpecMap& map, const MeasuredRow& row) {
  map.put("mlp", row.ffn_type, kMlpNames);
  if (has_dense_layers(row)) map.put("ffn", row.ffn);
  if (row.experts.value_or(0) == 0) return;
  map.put("experts", row.experts);
  map.put("top_k", row.top_k);
  map.put("expert_ffn", row.expert_ffn);
  map.put("shared_ffn", row.shared_expert_ffn);
  if (alternates(row)) {
    map.put("expert_every", 2);  // a dense layer comes first
  } else {
    map.put("dense_layers", row.dense_layers);
  }
}

void put_family(SpecMap& map, const MeasuredRow& row) {
  const auto family = row.notes.word("family");
  if (!family) return;
  for (const FamilyFact& fact : kFamilyFacts) {
    // Of models of that type with other numbers of experts (Moonlight, Kimi-K2) all lie in one group.
    const bool of_groups = fact.key == "routing_groups" || fact.key == "group_limit";
    const bool fits = of_groups ? row.experts == 256 : fact.key != "router" || map.has("experts");
    if (same_family(*family, fact.family) && fits && !map.has(fact.key)) map.put(fact.key, fact.value);
  }
}

void put_biases(SpecMap& map, const MeasuredRow& row, std::vector<std::string>& assumed) {
  const bool gpt = row.norm == Norm::kLayernorm;
  if (map.has("biases")) return;
  if (row.notes.has("linear biases")) {
    map.put("biases", "1");
  } else {
    map.put("biases", gpt ? "1" : "0");
    assumed.push_back(gpt ? "biases=1" : "biases=0");
  }
}

// What a row says of its model that a model has no key for.
void assume_unsaid(const MeasuredRow& row, std::vector<std::string>& assumed) {
  if (row.notes.has("nope on every 4th layer")) assumed.emplace_back("positions on every layer");
}

}  // namespace

bool has_dense_layers(const MeasuredRow& row) {
  return row.experts.value_or(0) == 0 || row.dense_layers.value_or(0) > 0 || alternates(row);
}

Result<Model> model_of(const MeasuredRow& row, std::vector<std::string>& assumed) {
  CHECK_THAT(row.norm && row.heads && row.tied);
  SpecMap map;
  map.put("name", row.model);
  map.put("layers", row.layers);
  map.put("hidden", row.hidden);
  put_attention(map, row);
  if (!row.kv_heads) assumed.push_back(fmt::format("kv_heads={}", *row.heads));
  TRY(put_window(map, row));
  TRY(check_chunks(row));
  put_feed_forward(map, row);
  map.put("norm", row.norm, kNormNames);
  map.put("positions", row.positions, kPositionsNames);
  if (row.positions == Positions::kLearned) map.put("max_positions", row.seq);
  map.put("vocab", row.vocab);
  map.put_flag("tied", *row.tied);
  if (row.mtp) {
    map.put("mtp_layers", row.mtp);
  } else {
    map.put_note("mtp_layers", row, "mtp");
  }
  map.put_note("rotary_fraction", row, "rotary_fraction");
  map.put_note("residual", row, "residual");
  map.put_note("qkv_bias", row, "qkv_bias");
  map.put_note("biases", row, "biases");
  put_family(map, row);
  put_biases(map, row, assumed);

  const bool gpt = row.norm == Norm::kLayernorm;
  if (!gpt) map.put("dropout", "0");
  assumed.push_back(gpt ? "dropout of the stack" : "dropout=0");
  assume_unsaid(row, assumed);
  return parse_model(map.node());
}

}  // namespace foretrain
