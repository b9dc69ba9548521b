#include "search/launch_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "search/split_dimension.h"
#include "spec/plan_fields.h"

namespace foretrain {
namespace {

bool all_keep(const std::vector<LaunchRule>& rules, const Traits& traits) {
  return std::all_of(rules.begin(), rules.end(), [&](const LaunchRule& rule) { return keeps(rule, traits); });
}

std::int64_t& at(Traits& traits, Trait trait) { return traits[static_cast<std::size_t>(trait)]; }

}  // namespace

Result<LaunchFilter> LaunchFilter::of(const Stack& stack) {
  LaunchFilter filter;
  filter.any_ = !stack.rules.empty();
  for (const LaunchRule& rule : stack.rules) {
    const auto speaks = [&](Trait a, Trait b) { return rule.speaks_of(a) || rule.speaks_of(b); };
    std::vector<Rules*> kinds;
    if (rule.speaks_of(Trait::kRecomputeLayers)) kinds.push_back(&filter.of_layers_);
    if (rule.speaks_of(Trait::kPartitionActivations)) kinds.push_back(&filter.of_partition_);
    if (speaks(Trait::kLayersPerStage, Trait::kEven)) kinds.push_back(&filter.of_split_);
    if (speaks(Trait::kOverlapGradReduce, Trait::kOverlapParamGather)) kinds.push_back(&filter.of_flags_);
    if (kinds.size() > 1)
      return fail(
          fmt::format("stack {}: rule {} speaks of two of recompute_layers, partition_activations, "
                      "how layers are split and what overlaps, expected one in a rule",
                      quoted(stack.name), quoted(rule.name)));
    (kinds.empty() ? filter.of_families_ : *kinds.front()).push_back(rule);
  }
  return filter;
}

Traits LaunchFilter::traits(const Problem& problem, const Candidate& shared) const {
  return any_ ? traits_of(problem.model, problem.stack, shared.plan) : Traits{};
}

bool LaunchFilter::family(const Traits& traits) const { return all_keep(of_families_, traits); }

const LaunchFilter::Rules* LaunchFilter::rules_of(const Dimension& dimension) const {
  const Rules* rules = nullptr;
  if (is_split(dimension))
    rules = &of_split_;
  else if (dimension.name == plan_field<&Plan::recompute_layers>.key)
    rules = &of_layers_;
  else if (dimension.name == plan_field<&Plan::partition_activations>.key)
    rules = &of_partition_;
  return rules != nullptr && rules->empty() ? nullptr : rules;
}

void LaunchFilter::keep(const Problem& problem, const Candidate& shared, const Traits& traits,
                        const Dimension& dimension, std::vector<Value>& values) const {
  const Rules* rules = rules_of(dimension);
  if (rules == nullptr) return;
  Candidate candidate = shared;
  std::erase_if(values, [&](Value value) {
    Traits changed = traits;
    if (rules == &of_layers_) {
      at(changed, Trait::kRecomputeLayers) = value;
    } else if (rules == &of_partition_) {
      if (value != kUnset) at(changed, Trait::kPartitionActivations) = value;
    } else {
      dimension.put(problem, candidate, value);
      changed = traits_of(problem.model, problem.stack, candidate.plan);
    }
    return !all_keep(*rules, changed);
  });
}

void LaunchFilter::keep_flags(const Traits& traits, std::vector<std::vector<Value>>& together) const {
  if (of_flags_.empty()) return;
  constexpr std::array kFlags = {Trait::kOverlapGradReduce, Trait::kOverlapParamGather};
  std::erase_if(together, [&](const std::vector<Value>& flags) {
    Traits changed = traits;
    for (std::size_t i = 0; i < kFlags.size(); ++i)
      if (flags[i] != kUnset) at(changed, kFlags[i]) = flags[i];
    return !all_keep(of_flags_, changed);
  });
}

}  // namespace foretrain
