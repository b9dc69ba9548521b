// A model as the text that parse_model reads back.
#include <fmt/format.h>

#include <span>

#include "base/yaml_text.h"
#include "spec/model_text.h"

namespace foretrain {
namespace {

class Writer {
 public:
  template <class T>
  void line(std::string_view key, const T& value) {
    text_ += fmt::format("{}{}: {}", separator(), key, value);
  }
  // Where it is not what a reader takes it to be anyway.
  template <class T>
  void line_unless(std::string_view key, const T& value, const T& usual) {
    if (value != usual) line(key, value);
  }
  void item(std::string_view words) { text_ += fmt::format("\n  - {}", words); }
  void begin_item() {
    text_ += text_.empty() || text_.ends_with("\n") ? "  - {" : "\n  - {", in_item_ = true;
  }
  void end_item() { text_ += "}", in_item_ = false; }
  std::string take() { return std::move(text_) + "\n"; }

 private:
  std::string_view separator() const {
    if (in_item_) return text_.ends_with("{") ? "" : ", ";
    return text_.empty() ? "" : "\n";
  }

  std::string text_;
  bool in_item_ = false;
};

void write_attention(const Attention& a, Writer& out) {
  out.line("heads", a.heads);
  out.line("kv_heads", a.kv_heads);
  out.line("head_dim", a.head_dim);
  out.line_unless("window", a.window, std::int64_t{0});
  out.line_unless("sinks", a.sinks, false);
  if (!a.is_latent()) return;
  out.line("q_rank", a.q_rank);
  out.line("kv_rank", a.kv_rank);
  out.line("nope_dim", a.nope_dim);
  out.line("rope_dim", a.rope_dim);
  out.line("v_dim", a.v_dim);
}

void write_feed_forward(const FeedForward& f, Writer& out) {
  if (!f.has_experts()) out.line("ffn", f.ffn);
  out.line("mlp", kMlpNames[static_cast<std::size_t>(f.mlp)]);
  out.line_unless("trained_activation", f.trained_activation, false);
  if (!f.has_experts()) return;
  out.line("experts", f.experts);
  out.line("top_k", f.top_k);
  out.line_unless("routing_groups", f.routing_groups, std::int64_t{0});
  out.line_unless("group_limit", f.group_limit, std::int64_t{0});
  out.line("expert_ffn", f.expert_ffn);
  out.line_unless("shared_ffn", f.shared_ffn, std::int64_t{0});
  out.line_unless("shared_gate", f.shared_gate, false);
  out.line_unless("balancing_bias", f.balancing_bias, false);
  out.line("router", kRouterNames[static_cast<std::size_t>(f.router)]);
}

std::string_view qk_norm_word(const Attention& a) {
  return kQkNormNames[static_cast<std::size_t>(a.qk_norm)];
}

}  // namespace

std::string to_yaml(const Model& model) {
  Writer out;
  const auto word = [](std::span<const std::string_view> names, auto value) {
    return names[static_cast<std::size_t>(value)];
  };
  out.line("name", yaml_quoted(model.name));
  if (!model.source.empty()) out.line("source", yaml_quoted(model.source));
  out.line("hidden", model.hidden);
  const bool one_kind = model.blocks.size() == 1;
  const Block& first = model.blocks.front().block;
  out.line("layers", model.layers());
  if (one_kind) {
    write_attention(first.attention, out);
    write_feed_forward(first.feed_forward, out);
  } else {
    out.line("blocks", "");
    for (const BlockRun& run : model.blocks) {
      out.begin_item();
      out.line("layers", run.count);
      write_attention(run.block.attention, out);
      out.line_unless("qk_norm", qk_norm_word(run.block.attention), kQkNormNames[0]);
      write_feed_forward(run.block.feed_forward, out);
      out.end_item();
    }
  }
  out.line("norm", word(kNormNames, model.norm));
  out.line("positions", word(kPositionsNames, model.positions));
  out.line("rotary_fraction", model.rotary_fraction);
  out.line_unless("max_positions", model.max_positions, std::int64_t{0});
  out.line("vocab", model.vocab);
  out.line("tied", model.tied);
  out.line("biases", model.biases);
  out.line("qkv_bias", model.qkv_bias);
  out.line_unless("projection_bias", model.projection_bias, model.biases);
  out.line_unless("head_bias", model.head_bias, false);
  out.line("norm_bias", model.norm_bias);
  out.line_unless("norm_weights", model.norm_weights, true);
  out.line_unless("one_norm", model.one_norm, false);
  out.line("fused_qkv", model.fused_qkv);
  out.line("gelu", word(kGeluNames, model.gelu));
  if (one_kind) out.line("qk_norm", qk_norm_word(first.attention));
  out.line("embedding_norm", model.embedding_norm);
  out.line_unless("post_norms", model.post_norms, false);
  out.line("residual", word(kResidualNames, model.residual));
  if (model.dropout) out.line("dropout", *model.dropout);
  out.line_unless("mtp_layers", model.mtp_layers, std::int64_t{0});
  out.line_unless("seq", model.default_seq, std::int64_t{0});
  out.line_unless("params", model.stated_params, std::int64_t{0});
  if (!model.assumed.empty()) out.line("assumed", "");
  for (const std::string& words : model.assumed) out.item(yaml_quoted(words));
  return out.take();
}

}  // namespace foretrain
