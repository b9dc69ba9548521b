#include "spec/launch_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/text.h"
#include "spec/plan_fields.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxRules = 64;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kDots = "..";
constexpr std::string_view kNoRule = "none";  // a rule of the base that does not hold of this stack

struct TraitWords {
  std::string_view key;
  std::span<const std::string_view> words;  // empty: numbers
};

constexpr std::span<const std::string_view> words_of(const OneOf& kind) { return kind.names; }
constexpr std::span<const std::string_view> words_of(const WholeNumber&) { return {}; }
constexpr std::span<const std::string_view> words_of(const Flag&) { return {}; }

template <auto kMember>
constexpr TraitWords of() {
  return {plan_field<kMember>.key, words_of(plan_field<kMember>.kind)};
}

const std::array<TraitWords, kTraitCount> kTraits = {
    of<&Plan::tp>(),
    of<&Plan::sp>(),
    of<&Plan::pp>(),
    of<&Plan::vpp>(),
    of<&Plan::cp>(),
    of<&Plan::cp_type>(),
    of<&Plan::ep>(),
    of<&Plan::etp>(),
    of<&Plan::dp>(),
    of<&Plan::zero>(),
    of<&Plan::shard>(),
    of<&Plan::recompute>(),
    of<&Plan::recompute_layers>(),
    of<&Plan::schedule>(),
    of<&Plan::attention>(),
    of<&Plan::optimizer>(),
    of<&Plan::master_weights>(),
    of<&Plan::fp8_params>(),
    of<&Plan::sp_gather_again>(),
    of<&Plan::tp_overlap>(),
    of<&Plan::overlap_grad_reduce>(),
    of<&Plan::overlap_param_gather>(),
    of<&Plan::partition_activations>(),
    of<&Plan::dispatcher>(),
    of<&Plan::capacity_pad>(),
    of<&Plan::overlap_dispatch>(),
    of<&Plan::overlap_shared>(),
    of<&Plan::mlp_chunks>(),
    of<&Plan::offload>(),
    of<&Plan::offload_optimizer>(),
    of<&Plan::paged>(),
    of<&Plan::lora>(),
    of<&Plan::base>(),
    TraitWords{plan_field<&Plan::layers_per_stage>.key, {}},
    TraitWords{"even", {}},
    TraitWords{"experts", {}},
    TraitWords{"narrow", {}},
};

const TraitWords& about(Trait trait) { return kTraits[static_cast<std::size_t>(trait)]; }

Result<TraitValues::Range> parse_range(const Node& node, Trait trait) {
  TRY_ASSIGN(const std::string text, node.text());
  if (const auto words = about(trait).words; !words.empty()) {
    TRY_ASSIGN(const Trait word, parse_choice<Trait>(text, words, node.at));  // its place among the words
    return TraitValues::Range{static_cast<std::int64_t>(word), static_cast<std::int64_t>(word)};
  }
  const auto number = [&](std::string_view digits) {
    Node part = node;
    part.scalar = digits;
    return part.integer(0, kMaxDegree);
  };
  const std::size_t dots = text.find(kDots);
  TraitValues::Range range;
  if (dots == std::string::npos) {
    TRY_ASSIGN(range.low, number(text));
    range.high = range.low;
    return range;
  }
  TRY_ASSIGN(range.low, number(std::string_view(text).substr(0, dots)));
  range.high = kNoEnd;
  if (const std::string end = text.substr(dots + kDots.size()); !end.empty()) {
    TRY_ASSIGN(range.high, number(end));
  }
  if (range.high < range.low) return fail(fmt::format("found {}, which is empty", quoted(text)), node.at);
  return range;
}

Result<std::vector<TraitValues>> parse_side(const Node& rule, std::string_view key) {
  std::vector<TraitValues> side;
  std::vector<std::string_view> known;
  for (const TraitWords& trait : kTraits) known.push_back(trait.key);
  TRY_ASSIGN(const Node* map, optional_section(rule, key, known));
  for (const Node::Entry& entry : map->entries) {
    const auto place = std::find(known.begin(), known.end(), entry.key) - known.begin();
    TraitValues values;
    values.trait = static_cast<Trait>(place);
    if (entry.value.is_list() && entry.value.items.empty())
      return named(entry.key, Error{"found an empty list, expected at least one value", entry.value.at});
    const std::span<const Node> items = entry.value.is_list() ? std::span<const Node>(entry.value.items)
                                                              : std::span<const Node>(&entry.value, 1);
    for (const Node& item : items) {
      auto range = parse_range(item, values.trait);
      if (!range) return named(entry.key, std::move(range).error());
      values.any_of.push_back(*range);
    }
    side.push_back(std::move(values));
  }
  return side;
}

}  // namespace

std::string_view key_of(Trait trait) { return about(trait).key; }

bool LaunchRule::speaks_of(Trait trait) const {
  const auto of_it = [trait](const TraitValues& values) { return values.trait == trait; };
  return std::any_of(plan.begin(), plan.end(), of_it) || std::any_of(needs.begin(), needs.end(), of_it);
}

std::string word_of(Trait trait, std::int64_t value) {
  const auto words = about(trait).words;
  return words.empty() ? std::to_string(value) : std::string(words[static_cast<std::size_t>(value)]);
}

std::string to_text(const TraitValues& values) {
  std::vector<std::string> words;
  for (const TraitValues::Range& range : values.any_of) {
    std::string word = word_of(values.trait, range.low);
    if (range.high == kNoEnd)
      word += kDots;
    else if (range.high > range.low)
      word += fmt::format("{}{}", kDots, range.high);
    words.push_back(std::move(word));
  }
  return fmt::format("{}={}", key_of(values.trait), fmt::join(words, "|"));
}

Result<std::vector<LaunchRule>> parse_launch_rules(const Node& node) {
  if (!node.is_map()) return fail("expected a map of rules by name", node.at);
  if (node.entries.size() > kMaxRules)
    return fail(fmt::format("found {} rules, expected at most {}", node.entries.size(), kMaxRules), node.at);
  std::vector<LaunchRule> rules;
  for (const Node::Entry& entry : node.entries) {
    if (entry.value.is_scalar() && entry.value.scalar == kNoRule) continue;
    const auto read = [&]() -> Result<LaunchRule> {
      LaunchRule rule;
      rule.name = entry.key;
      TRY(only_fields(entry.value, "a rule", {"plan", "needs", "says"}));
      TRY_ASSIGN(rule.plan, parse_side(entry.value, "plan"));
      TRY_ASSIGN(rule.needs, parse_side(entry.value, "needs"));
      if (rule.needs.empty()) return missing(entry.value, "needs");
      TRY(read_required(entry.value, "says", rule.says));
      return rule;
    };
    auto rule = read();
    if (!rule) return named(entry.key, std::move(rule).error());
    rules.push_back(*std::move(rule));
  }
  return rules;
}

}  // namespace foretrain
