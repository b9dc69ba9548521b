#include "report/model_report.h"

#include "base/json.h"
#include "base/text.h"

namespace foretrain {
namespace {

std::int64_t usual_ffn(const Model& model) {
  for (const BlockRun& run : model.blocks)
    if (!run.block.feed_forward.has_experts()) return run.block.feed_forward.ffn;
  return model.blocks.front().block.feed_forward.expert_ffn;
}

void write_attention(JsonWriter& w, const Attention& a) {
  w.key("heads").value(a.heads).key("kv_heads").value(a.kv_heads).key("head_dim").value(a.head_dim);
  w.key("qk_norm").value(kQkNormNames[static_cast<std::size_t>(a.qk_norm)]);
  w.key("window").value(a.window);
  if (a.sinks) w.key("sinks").value(true);
  if (!a.is_latent()) return;
  w.key("q_rank").value(a.q_rank).key("kv_rank").value(a.kv_rank).key("nope_dim").value(a.nope_dim);
  w.key("rope_dim").value(a.rope_dim).key("v_dim").value(a.v_dim);
}

void write_feed_forward(JsonWriter& w, const FeedForward& f) {
  w.key("mlp").value(kMlpNames[static_cast<std::size_t>(f.mlp)]);
  w.key("ffn").value(f.has_experts() ? f.expert_ffn : f.ffn);
  if (!f.has_experts()) return;
  w.key("experts").value(f.experts).key("top_k").value(f.top_k).key("expert_ffn").value(f.expert_ffn);
  w.key("shared_ffn").value(f.shared_ffn);
}

}  // namespace

void write_node(JsonWriter& w, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      w.null();
      return;
    case Node::Kind::kScalar:
      if (const auto whole = parse_integer(node.scalar))
        w.value(*whole);
      else if (const auto number = parse_number(node.scalar))
        w.value(*number);
      else if (node.scalar == "true" || node.scalar == "false")
        w.value(node.scalar == "true");
      else
        w.value(node.scalar);
      return;
    case Node::Kind::kList:
      w.begin_array();
      for (const Node& item : node.items) write_node(w, item);
      w.end_array();
      return;
    case Node::Kind::kMap:
      w.begin_object();
      for (const auto& [key, value] : node.entries) write_node(w.key(key), value);
      w.end_object();
      return;
  }
}

void write_model_facts(JsonWriter& w, const Model& model, std::int64_t ffn) {
  const Block& first = model.blocks.front().block;
  w.key("name").value(model.name);
  w.key("parameters").value(parameters(model)).key("active_parameters").value(active_parameters(model));
  w.key("mtp_parameters").value(mtp_parameters(model));
  w.key("layers").value(model.layers()).key("hidden").value(model.hidden);
  w.key("heads").value(first.attention.heads).key("kv_heads").value(first.attention.kv_heads);
  w.key("head_dim").value(first.attention.head_dim);
  w.key("ffn").value(ffn > 0 ? ffn : usual_ffn(model));
  w.key("vocab").value(model.vocab).key("tied").value(model.tied);
  w.key("norm").value(kNormNames[static_cast<std::size_t>(model.norm)]);
  w.key("positions").value(kPositionsNames[static_cast<std::size_t>(model.positions)]);
  w.key("residual").value(kResidualNames[static_cast<std::size_t>(model.residual)]);
  w.key("biases").value(model.biases).key("qkv_bias").value(model.qkv_bias);
  w.key("mtp_layers").value(model.mtp_layers);
  w.key("blocks").begin_array();
  for (const BlockRun& run : model.blocks) {
    w.begin_object().key("layers").value(run.count);
    write_attention(w, run.block.attention);
    write_feed_forward(w, run.block.feed_forward);
    w.end_object();
  }
  w.end_array().key("assumed").begin_array();
  for (const std::string& words : model.assumed) w.value(words);
  w.end_array();
}

std::string model_json(const Model& model, std::int64_t ffn) {
  JsonWriter w;
  write_model_facts(w.begin_answer(), model, ffn);
  w.end_object();
  return w.text();
}

std::string node_json(const Node& map) {
  JsonWriter w;
  w.begin_answer();
  for (const auto& [key, value] : map.entries) write_node(w.key(key), value);
  w.end_object();
  return w.text();
}

}  // namespace foretrain
