#include "formats/config_translation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/config_keys.h"
#include "formats/layer_kinds.h"
#include "formats/map_writer.h"
#include "spec/model_fields.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

struct Activation {
  std::string_view mlp, gelu;
};

Activation activation_of(ConfigKeys& keys, bool gated) {
  const std::string act = keys.word("act").value_or("silu");
  const bool is_gelu = act.find("gelu") != std::string::npos;
  const std::string_view gelu = is_gelu && act != "gelu" ? "tanh" : "erf";
  if (act.find("relu2") != std::string::npos || act == "squared_relu" || act == "relu_squared") {
    if (gated) keys.assume(fmt::format("gate by {} is timed as silu", act));
    return {gated ? "swiglu" : "squared_relu", gelu};
  }
  if (gated) {
    const bool silu = act == "silu" || act == "swish" || act == "swiglu";
    if (!silu && !is_gelu) keys.assume(fmt::format("gate by {} is timed as silu", printable(act)));
    return {is_gelu ? "geglu" : "swiglu", gelu};
  }
  if (!is_gelu) keys.assume(fmt::format("{} is timed as gelu", printable(act)));
  return {"gelu", gelu};
}

class Translator {
 public:
  Translator(const Node& wrapper, const Node& text, const Family& family, std::string_view name)
      : wrapper_(wrapper), keys_(text, family), out_(text.at), name_(name) {}

  Result<HfModel> model() {
    TRY(sizes());
    TRY(whole_model());
    TRY(attention());
    TRY(feed_forward());
    layers_list();
    told_apart();
    HfModel read{.map = {}, .family = keys_.family().name, .ffn = stated_ffn_};
    if (!keys_.assumed().empty()) out_.put("assumed", assumed_list());
    read.map = out_.take();
    return read;
  }

 private:
  Result<std::int64_t> required(std::string_view key, std::int64_t high) {
    TRY_ASSIGN(const std::optional<std::int64_t> value, keys_.whole(key, high));
    if (value.value_or(0) < 1) return fail(fmt::format("{} is not stated", key), keys_.config().at);
    return *value;
  }
  Result<std::int64_t> optional(std::string_view key, std::int64_t high) {
    TRY_ASSIGN(const std::optional<std::int64_t> value, keys_.whole(key, high));
    return value.value_or(0);
  }
  Result<bool> flag(std::string_view key) {
    TRY_ASSIGN(const std::optional<bool> value, keys_.flag(key));
    return value.value_or(false);
  }

  Result<void> sizes() {
    TRY_ASSIGN(layers_, required("layers", kMaxLayers));
    TRY_ASSIGN(hidden_, required("hidden", kMaxWidth));
    TRY_ASSIGN(heads_, required("heads", kMaxHeads));
    TRY_ASSIGN(const std::int64_t vocab, required("vocab", kMaxVocab));
    if (const Node* narrow = keys_.raw("word_embed_proj_dim");
        narrow != nullptr && narrow->scalar != std::to_string(hidden_) && narrow->kind != Node::Kind::kNull)
      return fail(
          "word_embed_proj_dim: an embedding narrower than hidden_size is not modelled; the nearest that "
          "works "
          "is the same file without this key",
          narrow->at);
    const Node* stated = keys_.config().find("_name_or_path");
    out_.put("name", stated != nullptr && !stated->scalar.empty() && !stated->scalar.starts_with('/')
                         ? std::string_view(stated->scalar)
                         : std::string_view(name_));
    out_.put("hidden", hidden_);
    out_.put("vocab", vocab);
    return {};
  }

  Result<bool> tied() {
    const Node* outer = wrapper_.find("tie_word_embeddings");
    if (keys_.stated("tied") == nullptr && outer != nullptr && outer->is_scalar()) return outer->boolean();
    return flag("tied");
  }

  // Falcon's halves have a norm each in its new architecture, unless it is told to have one.
  Result<bool> shares_norm(bool parallel) {
    TRY_ASSIGN(const bool stated, flag("one_norm"));
    TRY_ASSIGN(const bool shared, flag("shared_norm"));
    if (stated || !shared) return stated;
    TRY_ASSIGN(const bool new_decoder, is_new_falcon());
    TRY_ASSIGN(const std::int64_t norms, keys_.raw_whole("num_ln_in_parallel_attn", new_decoder ? 2 : 1));
    return parallel && norms == 1;
  }
  Result<bool> is_new_falcon() {
    const bool older = keys_.raw("n_head_kv") != nullptr;  // RefinedWeb, Falcon-40B's first name
    return keys_.raw_flag("new_decoder_architecture", older);
  }

  Result<void> whole_model() {
    out_.put("norm", keys_.family().value("norm"));
    TRY_ASSIGN(const bool is_tied, tied());
    out_.put_flag("tied", is_tied);
    for (const std::string_view key : {"biases", "qkv_bias", "projection_bias", "head_bias", "norm_bias",
                                       "norm_weights", "fused_qkv", "embedding_norm", "post_norms"}) {
      TRY_ASSIGN(const std::optional<bool> value, keys_.flag(key));
      if (value) out_.put_flag(key, *value);
    }
    TRY_ASSIGN(bool parallel, flag("parallel"));
    TRY_ASSIGN(const bool new_decoder, is_new_falcon());
    parallel = parallel || keys_.family().value("residual") == "parallel" || new_decoder;
    if (parallel) out_.put("residual", "parallel");
    TRY_ASSIGN(const bool one_norm, shares_norm(parallel));
    if (one_norm) out_.put_flag("one_norm", true);
    TRY(positions());
    TRY_ASSIGN(const std::optional<double> dropout, keys_.real("dropout", 0, 0.99));
    if (dropout) out_.put("dropout", std::string_view(fmt::format("{}", *dropout)));
    TRY_ASSIGN(const std::int64_t mtp, optional("mtp_layers", 100));
    if (mtp > 0) out_.put("mtp_layers", mtp);
    return {};
  }

  Result<void> positions() {
    TRY_ASSIGN(const bool alibi, keys_.raw_flag("alibi", false));
    std::string_view usual = keys_.family().value("positions");
    // MPT learns a table of positions where it is told to have no others.
    TRY_ASSIGN(const bool biased, keys_.raw_flag("attn_config.alibi", true));
    if (usual == "alibi" && !biased) usual = "learned";
    out_.put("positions", alibi ? std::string_view("alibi") : usual);
    if (usual == "learned") {
      TRY_ASSIGN(const std::int64_t rows, required("seq", kMaxSeq));
      TRY_ASSIGN(const std::int64_t offset, optional("position_offset", 10));
      out_.put("max_positions", rows + offset);
    }
    if (usual != "rope" || alibi) return {};
    TRY_ASSIGN(const std::optional<double> fraction, keys_.real("rotary_fraction", 0, 1));
    if (fraction) out_.put("rotary_fraction", std::string_view(fmt::format("{}", *fraction)));
    TRY_ASSIGN(const std::int64_t rotated, optional("rotary_dim", kMaxHeadDim));
    const std::int64_t head = hidden_ / heads_;
    if (!fraction && rotated > 0 && head > 0)
      out_.put("rotary_fraction",
               std::string_view(fmt::format(
                   "{}", std::min(1.0, static_cast<double>(rotated) / static_cast<double>(head)))));
    return {};
  }

  Result<void> attention() {
    out_.put("heads", heads_);
    TRY_ASSIGN(const std::int64_t kv_rank, optional("kv_rank", kMaxWidth));
    TRY_ASSIGN(windows_, windows_of(keys_, layers_));
    if (kv_rank > 0) {
      kv_heads_.assign(static_cast<std::size_t>(layers_), heads_);
      out_.put("kv_rank", kv_rank);
      for (const std::string_view key : {"q_rank", "nope_dim", "rope_dim", "v_dim"}) {
        TRY_ASSIGN(const std::int64_t width, optional(key, kMaxWidth));
        out_.put(key, width);
      }
      return {};
    }
    TRY(key_value_heads());
    TRY_ASSIGN(const std::int64_t head_dim, optional("head_dim", kMaxHeadDim));
    if (head_dim > 0) out_.put("head_dim", head_dim);
    if (const Node* v = keys_.raw("v_head_dim");
        v != nullptr && v->is_scalar() && v->scalar != std::to_string(head_dim))
      return fail(
          "v_head_dim: values of another width than keys are modelled in latent attention alone; the nearest "
          "that works is the same file without this key",
          v->at);
    TRY_ASSIGN(const bool sinks, flag("sinks"));
    if (sinks) out_.put_flag("sinks", true);
    if (keys_.family().value("qk_norm") == "whole") {
      out_.put("qk_norm", "whole");
      return {};
    }
    TRY_ASSIGN(const bool normed, flag("qk_norm"));
    const std::string_view over = keys_.family().value("qk_over");
    if (normed) out_.put("qk_norm", over.empty() ? "true" : over);
    return {};
  }

  Result<void> key_value_heads() {
    TRY_ASSIGN(const bool one, flag("one_kv"));
    TRY_ASSIGN(const bool new_decoder, is_new_falcon());
    if (one && !new_decoder) {
      kv_heads_.assign(static_cast<std::size_t>(layers_), 1);
      return {};
    }
    const Fact* multi_query = keys_.family().find("kv_heads");
    // ChatGLM without multi_query_attention has as many as heads.
    if (const Node* flag = keys_.raw("multi_query_attention");
        flag != nullptr && flag->scalar == "false" && multi_query != nullptr) {
      kv_heads_.assign(static_cast<std::size_t>(layers_), heads_);
      return {};
    }
    // A class's own number may not divide the heads that a file states: then the file means as many as heads.
    TRY_ASSIGN(kv_heads_, by_layer(keys_, "kv_heads", layers_, kMaxHeads, heads_));
    return {};
  }

  Result<void> feed_forward() {
    TRY_ASSIGN(const bool gated, flag("gated"));
    const Activation act = activation_of(keys_, gated);
    out_.put("mlp", act.mlp);
    out_.put("gelu", act.gelu);
    TRY_ASSIGN(const bool trained, flag("trained_activation"));
    if (trained) out_.put_flag("trained_activation", true);
    TRY_ASSIGN(const std::optional<double> times, keys_.real("ffn_times", 0.01, 1000));
    const std::int64_t usual = times ? static_cast<std::int64_t>(*times * static_cast<double>(hidden_)) : 0;
    TRY_ASSIGN(ffn_, by_layer(keys_, "ffn", layers_, kMaxWidth, usual));
    stated_ffn_ = ffn_[0];
    TRY_ASSIGN(const bool halved, flag("ffn_halved"));
    if (halved)
      for (std::int64_t& width : ffn_) width /= 2;
    dense_ffn_ = ffn_;
    TRY_ASSIGN(const std::int64_t dense, optional("dense_ffn", kMaxWidth));
    if (dense > 0) dense_ffn_.assign(ffn_.size(), dense);
    TRY_ASSIGN(std::vector<std::int64_t> experts, by_layer(keys_, "experts", layers_, kMaxExperts, 0));
    experts_ = experts[0];
    expert_layers_.assign(ffn_.size(), false);
    if (experts_ <= 1) return check_dense();
    if (std::any_of(experts.begin(), experts.end(), [&](std::int64_t n) { return n != experts_; }))
      return fail("experts: other numbers of experts in some layers are not modelled",
                  keys_.stated("experts")->at);
    TRY_ASSIGN(expert_layers_, expert_layers_of(keys_, layers_));
    return expert_keys();
  }

  Result<void> check_dense() {
    if (ffn_[0] < 1) return fail("ffn is not stated", keys_.config().at);
    return {};
  }

  Result<void> expert_keys() {
    TRY_ASSIGN(const std::vector<std::int64_t> top_k, by_layer(keys_, "top_k", layers_, kMaxExperts, 0));
    TRY_ASSIGN(const std::vector<std::int64_t> width,
               by_layer(keys_, "expert_ffn", layers_, kMaxWidth, ffn_[0]));
    TRY_ASSIGN(const std::vector<std::int64_t> shared,
               by_layer(keys_, "shared_experts", layers_, kMaxExperts, 0));
    TRY_ASSIGN(std::int64_t shared_ffn, optional("shared_ffn", kMaxWidth));
    TRY_ASSIGN(const bool shared_is_expert, flag("shared_is_expert"));
    if (shared_is_expert) shared_ffn = ffn_[0];
    if (shared_ffn == 0) shared_ffn = shared[0] * width[0];
    expert_map_.put("experts", experts_);
    expert_map_.put("top_k", top_k[0]);
    expert_map_.put("expert_ffn", width[0]);
    if (shared_ffn > 0) expert_map_.put("shared_ffn", shared_ffn);
    TRY_ASSIGN(const bool gate, flag("shared_gate"));
    if (gate && shared_ffn > 0) expert_map_.put_flag("shared_gate", true);
    TRY_ASSIGN(const bool balanced, flag("balancing_bias"));
    if (balanced) expert_map_.put_flag("balancing_bias", true);
    if (const std::string_view router = keys_.family().value("router"); !router.empty())
      expert_map_.put("router", router);
    return groups();
  }

  Result<void> groups() {
    const Node* method = keys_.raw("topk_method");
    if (method != nullptr && method->scalar == "greedy") return {};
    TRY_ASSIGN(const std::int64_t groups, optional("routing_groups", kMaxExperts));
    TRY_ASSIGN(const std::int64_t limit, optional("group_limit", kMaxExperts));
    if (groups < 2 || limit < 1 || limit >= groups) return {};
    expert_map_.put("routing_groups", groups);
    expert_map_.put("group_limit", limit);
    return {};
  }

  // Runs of layers that are equal.
  void layers_list() {
    Node list;
    list.kind = Node::Kind::kList;
    list.at = keys_.config().at;
    for (std::int64_t begin = 0, end = 0; begin < layers_; begin = end) {
      while (end < layers_ && same(end, begin)) ++end;
      list.items.push_back(run(begin, end - begin));
    }
    out_.put("layers", layers_);
    out_.put("blocks", std::move(list));
  }
  bool same(std::int64_t a, std::int64_t b) const {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return windows_[i] == windows_[j] && kv_heads_[i] == kv_heads_[j] &&
           expert_layers_[i] == expert_layers_[j] && (expert_layers_[i] || dense_ffn_[i] == dense_ffn_[j]);
  }
  Node run(std::int64_t first, std::int64_t count) const {
    const auto i = static_cast<std::size_t>(first);
    MapWriter map(keys_.config().at);
    if (expert_layers_[i]) map = expert_map_;
    if (!expert_layers_[i]) map.put("ffn", dense_ffn_[i]);
    map.put("layers", count);
    if (!out_.has("kv_rank")) map.put("kv_heads", kv_heads_[i]);
    if (windows_[i] > 0) map.put("window", windows_[i]);
    return map.take();
  }

  // What the file says that changes no count, and of which no time is modelled.
  void told_apart() {
    const auto stated = [&](std::string_view key) {
      const Node* node = keys_.raw(key);
      return node != nullptr && node->kind != Node::Kind::kNull && node->scalar != "false" &&
             node->scalar != "0";
    };
    if (&wrapper_ != &keys_.config())
      keys_.assume("the part of text alone; encoders of images or sound are left out");
    if (stated("dense_attention_every_n_layers"))
      keys_.assume("attention that is sparse by blocks is taken as that of the whole sequence");
    if (stated("quantization_config"))
      keys_.assume("weights are trained as the run says, not quantised as in the file");
    if (keys_.word("softcap")) keys_.assume("the cap on attention's logits takes no time");
    const Node* no_rope = keys_.raw("no_rope_layers");
    if (stated("no_rope_layer_interval") ||
        (no_rope != nullptr && no_rope->is_list() && !no_rope->items.empty()))
      keys_.assume("positions are rotated in every layer");
    if (keys_.family().value("router") == "fp32" && experts_ > 1)
      keys_.assume("a bias an expert that balances them without being trained is not counted");
  }

  Node assumed_list() const {
    Node list;
    list.kind = Node::Kind::kList;
    list.at = keys_.config().at;
    for (const std::string& words : keys_.assumed()) list.items.push_back(out_.scalar(words));
    return list;
  }

  const Node& wrapper_;
  ConfigKeys keys_;
  MapWriter out_;
  MapWriter expert_map_;
  std::string name_;
  std::int64_t layers_ = 0, hidden_ = 0, heads_ = 0, experts_ = 0, stated_ffn_ = 0;
  std::vector<std::int64_t> windows_, kv_heads_, ffn_, dense_ffn_;
  std::vector<bool> expert_layers_;
};

}  // namespace

Result<HfModel> translate_config(const Node& wrapper, const Node& text, const Family& family,
                                 std::string_view name) {
  return Translator(wrapper, text, family, name).model();
}

}  // namespace foretrain
