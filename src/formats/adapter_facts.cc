#include "formats/adapter_facts.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "spec/adapters.h"

namespace foretrain {
namespace {

// Products that models write as one, by what their modules are called.
struct Module {
  std::string_view theirs, ours;
};
constexpr Module kModules[] = {
    {"Wqkv", "linear_qkv"},   {"qkv_proj", "linear_qkv"},
    {"c_attn", "linear_qkv"}, {"query_key_value", "linear_qkv"},
    {"out_proj", "o_proj"},   {"gate_up_proj", "linear_fc1"},
    {"all-linear", "all"},
};

std::string_view ours_of(std::string_view name) {
  for (const Module& module : kModules)
    if (module.theirs == name) return module.ours;
  const bool is_ours = std::any_of(kLoraWords.begin(), kLoraWords.end(),
                                   [&](const LoraWord& ours) { return ours.word == name; });
  return is_ours ? name : std::string_view();
}

}  // namespace

void name_targets(Facts& facts) {
  std::string names = facts.word("lora_target"), known;
  std::replace_if(
      names.begin(), names.end(), [](char c) { return c == ',' || c == ' '; }, '+');
  for (const std::string_view name : split(names, '+')) {
    if (name.empty()) continue;
    if (const std::string_view ours = ours_of(name); !ours.empty())
      known += (known.empty() ? "" : "+") + std::string(ours);
    else
      facts.assume("an adapter beside " + printable(name) + " is not known: left out");
  }
  if (!known.empty()) facts.set_usual("plan.lora_targets", known);
}

}  // namespace foretrain
