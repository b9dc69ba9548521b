#include "plan_keys.h"

#include <fmt/format.h>

#include "spec/plan_fields.h"

namespace foretrain {
namespace {

using Words = std::vector<std::string_view>;

Words words_of(std::span<const std::string_view> names) { return {names.begin(), names.end()}; }

Words words_of(const WholeNumber& kind) {
  static constexpr std::string_view kDigits[] = {"0", "1", "2", "3"};
  return kind.low == 0 && kind.high == 3 ? words_of(kDigits) : Words{};
}
Words words_of(const RealNumber&) { return {}; }
Words words_of(const Flag&) { return {"0", "1"}; }
Words words_of(const OneOf& kind) { return words_of(kind.names); }
Words words_of(const SomeOf& kind) { return words_of(kind.names); }
Words words_of(const LoraModules&) {
  Words words = words_of(kLoraTargetNames);
  words.insert(words.end(), {"attention", "mlp", "all"});
  return words;
}
Words words_of(const GraphScope&) {
  Words words = words_of(kGraphModuleNames);
  words.insert(words.begin(), "none");
  return words;
}
Words words_of(const FreeText&) { return {}; }
Words words_of(const EndsText&) { return {}; }
Words words_of(const LayerList&) { return {}; }

// Where they cannot be listed.
std::string value_name(const WholeNumber&) { return "N"; }
std::string value_name(const RealNumber&) { return "X"; }
std::string value_name(const EndsText&) { return "N-N"; }
std::string value_name(const LayerList&) { return "N-N-..."; }
template <class Kind>
std::string value_name(const Kind&) {
  return "WORD";
}

template <class Kind>
constexpr bool kJoins =
    std::is_same_v<Kind, SomeOf> || std::is_same_v<Kind, LoraModules> || std::is_same_v<Kind, GraphScope>;

// Code marks go, of a link stays what it is on.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`' || (text[i] == '*' && text.substr(i).starts_with("**"))) {
      i += text[i] == '*';
      continue;
    }
    const std::size_t link = text[i] == '[' ? text.find("](", i) : std::string_view::npos;
    if (link == std::string_view::npos) {
      out += text[i];
      continue;
    }
    out += text.substr(i + 1, link - i - 1);
    i = text.find(')', link);
  }
  return out;
}

// What stands in docs/formats/plan.md alone is not told elsewhere: "pp > 1; see below".
std::string without_references(std::string text) {
  constexpr std::string_view kBelow = "see below";
  if (!text.ends_with(kBelow)) return text;
  text.resize(text.size() - kBelow.size());
  while (text.ends_with(' ') || text.ends_with(';')) text.pop_back();
  return text;
}

}  // namespace

std::vector<PlanKey> plan_keys() {
  std::vector<PlanKey> keys;
  for_each_field(kPlanFields, [&](const auto& f) {
    using Kind = std::remove_cvref_t<decltype(f.kind)>;
    PlanKey key{f.key, {}, words_of(f.kind), plain(f.words), without_references(plain(f.besides))};
    key.values = key.words.empty() ? value_name(f.kind)
                                   : fmt::format("{}", fmt::join(key.words, kJoins<Kind> ? "+" : "|"));
    keys.push_back(std::move(key));
  });
  return keys;
}

}  // namespace foretrain
