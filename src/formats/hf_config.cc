#include "formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "formats/config_translation.h"
#include "formats/family.h"

namespace foretrain {
namespace {

constexpr std::array<std::string_view, 5> kTextParts = {"text_config", "llm_config", "language_config",
                                                        "thinker_config", "language_model"};

std::string type_of(const Node& config) {
  const Node* node = config.find("model_type");
  return node == nullptr ? std::string() : node->scalar;
}

std::string class_of(const Node& config) {
  const Node* node = config.find("architectures");
  return node == nullptr || !node->is_list() || node->items.empty() ? std::string() : node->items[0].scalar;
}

const Node* text_part(const Node& config) {
  for (const std::string_view key : kTextParts)
    if (const Node* part = config.find(key); part != nullptr && part->is_map() && !part->entries.empty())
      return part;
  return nullptr;
}

Position place_of(const Node& config, std::string_view key) {
  const Node* node = config.find(key);
  return node == nullptr ? config.at : node->at;
}

// Of a class that may have other layers (Granite 4's small models have that of its hybrids).
bool is_all_attention(const Node& config) {
  const Node* types = config.find("layer_types");
  return types != nullptr && types->is_list() && !types->items.empty() &&
         std::all_of(types->items.begin(), types->items.end(),
                     [](const Node& type) { return type.scalar == "attention"; });
}

Result<void> refuse_others(const Node& config) {
  const std::string type = type_of(config);
  const bool is_plain = family_of_type(type) && is_all_attention(config);
  if (const auto why = why_refused(type); why && !is_plain)
    return fail(fmt::format("model_type {} {}", quoted(type), *why), place_of(config, "model_type"));
  if (const Node* flag = config.find("is_encoder_decoder"); flag != nullptr && flag->scalar == "true")
    return fail(fmt::format("model_type {} {}", quoted(type), *why_refused("t5")), flag->at);
  return {};
}

// Of the part of text, or of the wrapper around it.
Result<Family> family_of(const Node& wrapper, const Node& text) {
  if (const Node* node = text.find("version"); node != nullptr && node->is_scalar())
    if (const auto version = parse_number(node->scalar))
      if (auto family = family_of_version(type_of(text), *version)) return *std::move(family);
  for (const Node* config : {&text, &wrapper})
    if (auto family = family_of_type(type_of(*config))) return *std::move(family);
  for (const Node* config : {&text, &wrapper})
    if (auto family = family_of_class(class_of(*config))) return *std::move(family);
  const Node& told = type_of(text).empty() ? wrapper : text;
  const std::string type = type_of(told);
  const std::vector<std::string> known = family_types();
  const auto near = nearest(type, known);
  return fail(
      fmt::format("unknown model_type {}, which may be written as a model file instead (foretrain show model "
                  "llama-3-8b shows one){}",
                  quoted(type.empty() ? class_of(told) : type),
                  near ? "; did you mean " + quoted(*near) + "?" : ""),
      place_of(told, "model_type"));
}

}  // namespace

bool is_hf_config(const Node& map) {
  return map.is_map() && (map.find("model_type") != nullptr || map.find("architectures") != nullptr);
}

Result<HfModel> read_hf_config(const Node& config, std::string_view name) {
  if (!is_hf_config(config))
    return fail("found neither model_type nor architectures, expected a config.json of Hugging Face",
                config.at);
  const Node* text = &config;
  TRY(refuse_others(*text));
  for (int depth = 0; depth < 3; ++depth) {
    const Node* inner = text_part(*text);
    if (inner == nullptr) break;
    text = inner;
    TRY(refuse_others(*text));
  }
  TRY_ASSIGN(const Family family, family_of(config, *text));
  return translate_config(config, *text, family, name);
}

}  // namespace foretrain
