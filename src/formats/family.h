// Families of Hugging Face models: what a config.json of a `model_type` leaves to its class, and what the class is that no
// file says. A family is one entry of the table in family.cc: its types and classes, a family that it is like, and facts in
// words of a model file (docs/formats/model.md), each
//   key=value     what holds where the file states nothing (and its own keys may override, see config_keys.h)
//   key=@their    their key's value; key=!their the opposite of a flag; key=@their:value with a default
// Facts come from the configuration and modelling classes of huggingface/transformers (src/transformers/models/TYPE), or,
// where it has none, from the code beside the published weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretrain {

struct Fact {
  std::string key;
  std::string value;  // a literal, or the default of `their`; empty: none
  std::string their;  // a key of the file; empty: a literal alone
  bool negated = false;
};

struct Family {
  std::string name;  // the first of its types
  std::vector<Fact> facts;

  const Fact* find(std::string_view key) const;
  std::string_view value(std::string_view key) const;  // of a literal; empty: none
};

// By `model_type`, or the name of a class without what follows "For" (LlamaForCausalLM); none: not known.
std::optional<Family> family_of_type(std::string_view model_type);
std::optional<Family> family_of_class(std::string_view architecture);

// Of a type whose versions have text parts of several families (MiniCPM-V 4.5: Qwen3's).
std::optional<Family> family_of_version(std::string_view model_type, double version);

// All types, for suggestions.
std::vector<std::string> family_types();

// Why a type that is known is no model that is trained as these are ("an encoder", ...), and what to take instead;
// none: nothing is known against it.
std::optional<std::string> why_refused(std::string_view model_type);

}  // namespace foretrain
