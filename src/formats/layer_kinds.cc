#include "formats/layer_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/model_fields.h"

namespace foretrain {
namespace {

tl::unexpected<Error> recurrent(const Node& item) {
  return fail(
      fmt::format("found a layer of {}: layers of linear attention, state spaces or convolutions are not "
                  "modelled; the nearest that works is a transformer of the same sizes, as a model file",
                  quoted(item.scalar)),
      item.at);
}

Result<void> check_length(const Node& list, std::string_view key, std::int64_t layers) {
  if (std::ssize(list.items) >= layers) return {};
  return fail(fmt::format("{}: found {} items, expected {}, one a layer", key, list.items.size(), layers),
              list.at);
}

// layer_types, a word a layer.
Result<std::vector<std::int64_t>> windows_of_types(ConfigKeys& keys, const Node& types, std::int64_t layers,
                                                   std::int64_t window) {
  TRY(check_length(types, "layer_types", layers));
  std::vector<std::int64_t> windows;
  bool chunks = false;
  for (std::int64_t i = 0; i < layers; ++i) {
    const Node& item = types.items[static_cast<std::size_t>(i)];
    const std::string& word = item.scalar;
    const bool sliding = word.find("sliding") != std::string::npos || word == "local";
    chunks = chunks || word.find("chunked") != std::string::npos;
    if (!sliding && word.find("chunked") == std::string::npos && word.find("full") == std::string::npos &&
        word != "attention" && word != "global")
      return recurrent(item);
    windows.push_back(sliding ? window : 0);
  }
  if (chunks) keys.assume("attention inside chunks is taken as that of the whole sequence");
  return windows;
}

// GPT-Neo's attention_types: [[["global", "local"], 12]].
Result<std::vector<std::int64_t>> windows_of_pattern(const Node& pattern, std::int64_t layers,
                                                     std::int64_t window) {
  std::vector<std::int64_t> windows;
  for (const Node& part : pattern.items) {
    if (!part.is_list() || part.items.size() != 2 || !part.items[0].is_list())
      return fail("attention_types: expected a list of [words, count]", part.at);
    TRY_ASSIGN(const std::int64_t count, part.items[1].integer(1, kMaxLayers));
    for (std::int64_t i = 0; i < count && std::ssize(windows) < layers; ++i)
      for (const Node& word : part.items[0].items) windows.push_back(word.scalar == "local" ? window : 0);
  }
  if (std::ssize(windows) < layers)
    return fail(fmt::format("attention_types: found {} layers, expected {}", windows.size(), layers),
                pattern.at);
  windows.resize(static_cast<std::size_t>(layers));
  return windows;
}

// "LLLG": layers of a period, by letters.
Result<std::vector<std::int64_t>> windows_of_letters(const Node& node, std::int64_t layers,
                                                     std::int64_t window) {
  const std::string& letters = node.scalar;
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos)
    return fail(fmt::format("sliding_window_pattern: found {}, expected a number or letters L and G",
                            quoted(letters)),
                node.at);
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < layers; ++i)
    windows.push_back(letters[static_cast<std::size_t>(i) % letters.size()] == 'L' ? window : 0);
  windows.back() = 0;  // EXAONE 4: the last layer sees all
  return windows;
}

bool is_null(const Node* node) { return node == nullptr || node->kind == Node::Kind::kNull; }

Result<bool> is_listed(const Node* list, std::int64_t layer) {
  if (is_null(list) || !list->is_list()) return false;
  for (const Node& item : list->items) {
    TRY_ASSIGN(const std::int64_t index, item.integer(0, kMaxLayers));
    if (index == layer) return true;
  }
  return false;
}

// A number, or the first of a list of equal meaning (Ernie's layers of text and of images).
Result<std::int64_t> first_of(const ConfigKeys& keys, std::string_view key, std::int64_t otherwise) {
  const Node* node = keys.raw(key);
  if (is_null(node)) return otherwise;
  if (node->is_list()) {
    if (node->items.empty()) return otherwise;
    return node->items[0].integer(-1, kMaxLayers);
  }
  return keys.raw_whole(key, otherwise);
}

// ["dense", "sparse", ...], as transformers 5 writes it.
Result<std::vector<bool>> experts_of_types(const Node& types, std::int64_t layers) {
  TRY(check_length(types, "mlp_layer_types", layers));
  std::vector<bool> experts;
  for (const Node& type : types.items) {
    if (type.scalar != "dense" && type.scalar != "sparse")
      return fail(fmt::format("mlp_layer_types: found {}, expected dense or sparse", quoted(type.scalar)),
                  type.at);
    experts.push_back(type.scalar == "sparse");
  }
  experts.resize(static_cast<std::size_t>(layers));
  return experts;
}

}  // namespace

Result<std::vector<std::int64_t>> windows_of(ConfigKeys& keys, std::int64_t layers) {
  std::vector<std::int64_t> none(static_cast<std::size_t>(layers), 0);
  TRY_ASSIGN(const std::optional<bool> windowed, keys.flag("windowed"));
  TRY_ASSIGN(const std::optional<std::int64_t> stated,
             windowed.value_or(true) ? keys.whole("window", kMaxSeq) : std::optional<std::int64_t>());
  const std::int64_t window = stated.value_or(0);
  if (const Node* types = keys.raw("layer_types"); !is_null(types) && types->is_list())
    return windows_of_types(keys, *types, layers, window);
  if (const Node* chunk = keys.raw("attention_chunk_size"); !is_null(chunk))
    keys.assume("attention inside chunks is taken as that of the whole sequence");
  if (window == 0) return none;
  if (const Node* types = keys.raw("attention_types"); !is_null(types) && types->is_list())
    return windows_of_pattern(*types, layers, window);
  const Node* pattern = keys.stated("full_every");
  if (!is_null(pattern) && pattern->is_scalar() && !parse_integer(pattern->scalar))
    return windows_of_letters(*pattern, layers, window);
  TRY_ASSIGN(const std::optional<std::int64_t> every, keys.whole("full_every", kMaxLayers));
  const std::int64_t usual = parse_integer(keys.family().value("window_from")).value_or(0);
  TRY_ASSIGN(const std::int64_t first, keys.raw_whole("max_window_layers", usual));
  const std::int64_t from = windowed ? first : 0;  // of families with that flag alone
  TRY_ASSIGN(const std::optional<bool> full_first, keys.flag("full_first"));
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t place = full_first.value_or(false) ? i : i + 1;
    const bool full = every.value_or(0) > 0 && place % *every == 0;
    windows.push_back(full || i < from ? 0 : window);
  }
  return windows;
}

Result<std::vector<bool>> expert_layers_of(ConfigKeys& keys, std::int64_t layers) {
  if (const Node* types = keys.raw("mlp_layer_types"); !is_null(types) && types->is_list())
    return experts_of_types(*types, layers);
  TRY_ASSIGN(const std::int64_t first, first_of(keys, "first_k_dense_replace", -1));
  TRY_ASSIGN(const std::int64_t start, first_of(keys, "moe_layer_start_index", -1));
  const std::int64_t usual = parse_integer(keys.family().value("dense_layers")).value_or(0);
  const std::int64_t dense = first >= 0 ? first : start >= 0 ? start : usual;
  TRY_ASSIGN(const std::int64_t end, first_of(keys, "moe_layer_end_index", -1));
  TRY_ASSIGN(const std::int64_t interval, first_of(keys, "moe_layer_interval", 1));
  TRY_ASSIGN(const std::int64_t step, keys.raw_whole("decoder_sparse_step", 1));
  TRY_ASSIGN(const std::int64_t interleave, keys.raw_whole("interleave_moe_layer_step", 1));
  const Node* only_dense = keys.raw("mlp_only_layers");
  const Node* listed = keys.raw("moe_layers");
  const Node* frequency = keys.raw("moe_layer_freq");
  const bool by_list = !is_null(frequency) && frequency->is_list();
  if (by_list) TRY(check_length(*frequency, "moe_layer_freq", layers));
  TRY_ASSIGN(const std::int64_t freq,
             by_list ? Result<std::int64_t>(1) : keys.raw_whole("moe_layer_freq", 1));
  for (const auto& [key, value] :
       {std::pair("moe_layer_interval", interval), std::pair("decoder_sparse_step", step),
        std::pair("interleave_moe_layer_step", interleave), std::pair("moe_layer_freq", freq)})
    if (value < 1)
      return fail(fmt::format("{}: found {}, expected at least 1", key, value), keys.raw(key)->at);
  std::vector<bool> experts;
  for (std::int64_t i = 0; i < layers; ++i) {
    bool has = i >= dense && (end < 0 || i <= end) && i % freq == 0 && (i + 1) % interval == 0 &&
               (i + 1) % step == 0 && (i + 1) % interleave == 0;
    TRY_ASSIGN(const bool left_out, is_listed(only_dense, i));
    has = has && !left_out;
    if (!is_null(listed) && listed->is_list() && !listed->items.empty()) {
      TRY_ASSIGN(has, is_listed(listed, i));
    }
    if (by_list) {
      TRY_ASSIGN(has, frequency->items[static_cast<std::size_t>(i)].boolean());
    }
    experts.push_back(has);
  }
  return experts;
}

Result<std::vector<std::int64_t>> by_layer(ConfigKeys& keys, std::string_view key, std::int64_t layers,
                                           std::int64_t high, std::int64_t otherwise) {
  std::vector<std::int64_t> values;
  const Node* node = keys.stated(key);
  if (!is_null(node) && node->is_list()) {
    TRY(check_length(*node, key, layers));
    for (std::int64_t i = 0; i < layers; ++i) {
      TRY_ASSIGN(const std::int64_t value, node->items[static_cast<std::size_t>(i)].integer(1, high));
      values.push_back(value);
    }
    return values;
  }
  TRY_ASSIGN(const std::optional<std::int64_t> value, keys.whole(key, high));
  values.assign(static_cast<std::size_t>(layers), value.value_or(0) > 0 ? *value : otherwise);
  return values;
}

}  // namespace foretrain
