#include "formats/launch_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/text.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

std::string digits(std::int64_t value) { return std::to_string(value); }

template <class E, std::size_t kCount>
std::string_view word(const std::array<std::string_view, kCount>& names, E value) {
  return names[static_cast<std::size_t>(value)];
}

// What the layers have in common: the attention, an MLP and experts. None: they differ in more than windows and experts.
struct Kinds {
  Attention attention;
  std::optional<FeedForward> dense, experts;
  std::string expert_layers, window_layers;
};
std::optional<Kinds> kinds_of(const Model& model) {
  Kinds kinds;
  kinds.attention = model.blocks.front().block.attention;
  for (const BlockRun& run : model.blocks)
    kinds.attention.window = std::max(kinds.attention.window, run.block.attention.window);
  for (const BlockRun& run : model.blocks) {
    Attention attention = run.block.attention;
    const bool windowed = attention.window > 0;
    attention.window = windowed ? attention.window : kinds.attention.window;
    const FeedForward& mlp = run.block.feed_forward;
    auto& kind = mlp.has_experts() ? kinds.experts : kinds.dense;
    if (!(attention == kinds.attention) || (kind && !(*kind == mlp))) return std::nullopt;
    kind = mlp;
    kinds.expert_layers.append(static_cast<std::size_t>(run.count), mlp.has_experts() ? '1' : '0');
    kinds.window_layers.append(static_cast<std::size_t>(run.count), windowed ? '1' : '0');
  }
  return kinds;
}

void add_attention(const Attention& a, Statements& s) {
  s.add("heads", digits(a.heads));
  s.add("kv_heads", digits(a.kv_heads));
  s.add("head_dim", digits(a.head_dim));
  if (a.qk_norm != QkNorm::kNone) s.add("qk_norm", word(kQkNormNames, a.qk_norm));
  if (a.window > 0) s.add("window", digits(a.window));
  if (a.sinks) s.add("sinks", "true");
  if (!a.is_latent()) return;
  if (a.q_rank > 0) s.add("q_rank", digits(a.q_rank));
  s.add("kv_rank", digits(a.kv_rank));
  s.add("nope_dim", digits(a.nope_dim));
  s.add("rope_dim", digits(a.rope_dim));
  s.add("v_dim", digits(a.v_dim));
}

void add_experts(const FeedForward& f, Statements& s) {
  s.add("experts", digits(f.experts));
  s.add("top_k", digits(f.top_k));
  s.add("expert_ffn", digits(f.expert_ffn));
  s.add("router", word(kRouterNames, f.router));
  if (f.shared_ffn > 0) s.add("shared_ffn", digits(f.shared_ffn));
  if (f.shared_gate) s.add("shared_gate", "true");
  if (f.routing_groups > 0) s.add("routing_groups", digits(f.routing_groups));
  if (f.group_limit > 0) s.add("group_limit", digits(f.group_limit));
}

void add_blocks(const Model& model, Statements& s) {
  const auto kinds = kinds_of(model);
  s.add("mlp", word(kMlpNames, model.blocks.front().block.feed_forward.mlp));
  if (!kinds) {
    s.add("blocks", "of several kinds");
    return;
  }
  add_attention(kinds->attention, s);
  if (kinds->dense && kinds->dense->trained_activation) s.add("trained_activation", "true");
  if (kinds->dense) s.add("ffn", digits(kinds->dense->ffn));
  if (kinds->experts) add_experts(*kinds->experts, s);
  if (kinds->dense && kinds->experts) s.add("expert_layers", kinds->expert_layers);
  if (kinds->attention.window > 0 && kinds->window_layers.find('0') != std::string::npos)
    s.add("window_layers", kinds->window_layers);
}

void add_model(const Model& m, Statements& s) {
  s.add("layers", digits(m.layers()));
  s.add("hidden", digits(m.hidden));
  add_blocks(m, s);
  s.add("norm", word(kNormNames, m.norm));
  s.add("positions", word(kPositionsNames, m.positions));
  if (m.rotary_fraction != 1.0) s.add("rotary_fraction", fmt::format("{}", m.rotary_fraction));
  s.add("vocab", digits(m.vocab));
  s.add("tied", m.tied ? "true" : "false");
  for (const auto& [key, is] :
       {std::pair("biases", m.biases), std::pair("qkv_bias", m.qkv_bias),
        std::pair("projection_bias", m.projection_bias), std::pair("norm_bias", m.norm_bias)})
    s.add(key, is ? "true" : "false");
  for (const auto& [key, is] :
       {std::pair("head_bias", m.head_bias), std::pair("one_norm", m.one_norm),
        std::pair("embedding_norm", m.embedding_norm), std::pair("post_norms", m.post_norms)})
    if (is) s.add(key, "true");
  if (!m.norm_weights) s.add("norm_weights", "false");
  if (m.residual != Residual::kSequential) s.add("residual", word(kResidualNames, m.residual));
  s.add("dropout", fmt::format("{}", m.dropout.value_or(0.0)));
  if (m.mtp_layers > 0) s.add("mtp_layers", digits(m.mtp_layers));
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// "k=v,k=v": the value of a key.
std::string value_in(std::string_view text, std::string_view key) {
  for (const std::string_view part : split(text, ','))
    if (const std::size_t equals = part.find('='); part.substr(0, equals) == key)
      return std::string(part.substr(equals + 1));
  return {};
}

void add_plan(const LaunchRun& run, Statements& s) {
  const std::string stated = to_text(run.plan), own = to_text(run.own);
  for_each_field(kPlanFields, [&](const auto& f) {
    std::string value = value_in(stated, f.key);
    if (value.empty()) return;
    using Value = typename std::remove_cvref_t<decltype(f)>::Value;
    // Of the optional keys one alone is a degree, which no stack chooses.
    const bool chooses = IsOptional<Value>::value && f.key != plan_field<&Plan::etp>.key;
    const bool unasked = chooses && value == value_in(own, f.key);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(f.kind)>, Flag>)
      value = value == "1" ? "true" : "false";
    s.add(fmt::format("plan.{}", f.key), value, unasked);
  });
  s.take("plan.dp");
  s.take("plan.layers_per_stage");
  s.take("plan.schedule");
  // Said whatever they are: a configuration that is overridden may have them otherwise.
  s.add("plan.tp", digits(run.plan.tp));
  s.add("plan.sp", run.plan.sp ? "true" : "false");
  s.add("plan.pp", digits(run.plan.pp));
  s.add("plan.cp", digits(run.plan.cp));
  if (s.has("experts")) s.add("plan.ep", digits(run.plan.ep));
  s.add("plan.zero", digits(run.plan.zero));
  s.add("plan.recompute", word(kRecomputeNames, run.plan.recompute));
  s.add("plan.precision", run.plan.precision);
  s.add("plan.micro_batch", digits(run.plan.micro_batch));
  if (run.plan.pp > 1 && run.schedule != ScheduleKind::k1f1b) s.add("plan.schedule", name(run.schedule));
  const bool equal = std::all_of(run.layers.begin(), run.layers.end(),
                                 [&](std::int64_t n) { return n == run.layers.front(); });
  if (!equal) s.add("plan.layers_per_stage", fmt::format("{}", fmt::join(run.layers, "-")));
  // How tokens and documents fall is the data's matter.
  s.take("plan.expert_imbalance");
  s.take("plan.document_imbalance");
}

}  // namespace

Statements statements_of(const LaunchRun& run) {
  Statements s;
  add_model(run.model, s);
  add_plan(run, s);
  s.add("seq", digits(run.seq));
  s.add("global_batch", digits(run.global_batch));
  s.add("nodes", digits(run.nodes()));
  s.add("gpus_per_node", digits(run.processes()));
  if (!run.documents.empty()) s.add("documents", run.documents);
  return s;
}

void take_model(Statements& statements) {
  for (const Statements::Statement& left : statements.all())
    if (const std::string key = left.key; !key.starts_with("plan.") && key != "seq" &&
                                          key != "global_batch" && key != "nodes" && key != "gpus_per_node" &&
                                          key != "documents")
      statements.take(key);
}

}  // namespace foretrain
