#include "search/list_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "job/run_check.h"
#include "search/members.h"
#include "search/one_plan.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostVariants = 6;  // that are told of a family

using FamilyValues = std::array<Value, kFamilyKeys.size()>;

FamilyValues family_of(const Problem& problem, const Candidate& candidate) {
  FamilyValues values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = find_dimension(kFamilyKeys[i])->get(problem, candidate);
  return values;
}

bool is_family_key(std::string_view key) {
  return std::find(kFamilyKeys.begin(), kFamilyKeys.end(), key) != kFamilyKeys.end();
}

std::string word(const Dimension& d, const Problem& problem, const Candidate& candidate) {
  if (!is_split(d)) return word_of(d, problem, candidate);
  const auto& layers = candidate.plan.layers_per_stage;
  return layers.empty() ? "even" : fmt::format("{}", fmt::join(layers, "-"));
}

struct Member {
  ScoredPlan scored;
  Candidate candidate;
};

// In their order, but made in that of their numbers, in which those of a family of the space follow one another.
std::vector<Candidate> candidates_of(const Space& space, const std::vector<ScoredPlan>& plans) {
  std::vector<std::size_t> by_number(plans.size());
  std::iota(by_number.begin(), by_number.end(), std::size_t{0});
  std::sort(by_number.begin(), by_number.end(),
            [&](std::size_t a, std::size_t b) { return plans[a].index < plans[b].index; });
  std::vector<Candidate> candidates(plans.size());
  std::optional<Members> members;
  for (const std::size_t i : by_number) {
    const std::uint64_t index = plans[i].index;
    if (!members || !members->family().has(index)) members.emplace(space.legal(), space.family_of(index));
    candidates[i] = members->member(index - members->family().first);
  }
  return candidates;
}

// What a plan chooses otherwise than another of its family: "schedule=zbv,layers_per_stage=15-17".
std::string change_of(const Problem& problem, const Candidate& from, const Candidate& to) {
  std::vector<std::string> parts;
  for (const Dimension& d : dimensions())
    if (std::string now = word(d, problem, to); now != word(d, problem, from))
      parts.push_back(fmt::format("{}={}", d.name, now));
  return join(parts, ",");
}

// Of each choice beside the family's own, the nearest plan that makes another; the nearest of these first.
std::vector<FamilyVariant> variants_of(const Problem& problem, const std::vector<Member>& members) {
  const Candidate& best = members.front().candidate;
  std::vector<std::size_t> nearest;
  for (const Dimension& d : dimensions()) {
    if (is_family_key(d.name) || d.name == "gpus") continue;
    const std::string own = word(d, problem, best);
    const auto other = std::find_if(members.begin() + 1, members.end(),
                                    [&](const Member& m) { return word(d, problem, m.candidate) != own; });
    if (other != members.end()) nearest.push_back(static_cast<std::size_t>(other - members.begin()));
  }
  std::sort(nearest.begin(), nearest.end());  // members stand in order
  nearest.erase(std::unique(nearest.begin(), nearest.end()), nearest.end());
  if (nearest.size() > kMostVariants) nearest.resize(kMostVariants);
  std::vector<FamilyVariant> out;
  for (const std::size_t i : nearest)
    out.push_back(
        {change_of(problem, best, members[i].candidate), members[i].scored, members[i].candidate.plan, {}});
  return out;
}

}  // namespace

std::string family_text(const Problem& problem, const Candidate& candidate) {
  std::string out;
  const FamilyValues values = family_of(problem, candidate);
  for (std::size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{}={}", i == 0 ? "" : " ", kFamilyKeys[i], values[i]);
  return out;
}

std::vector<ListFamily> list_families(const Space& space, const SearchResult& result, std::size_t most,
                                      Evaluator& evaluator) {
  std::map<FamilyValues, std::size_t> places;
  std::vector<std::vector<Member>> families;
  std::vector<Candidate> candidates = candidates_of(space, result.best);
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    const ScoredPlan& plan = result.best[i];
    Candidate& candidate = candidates[i];
    const auto [place, added] = places.try_emplace(family_of(space.problem(), candidate), families.size());
    if (added) families.emplace_back();
    families[place->second].push_back({plan, std::move(candidate)});
  }
  std::vector<ListFamily> out;
  Run run = run_without_plan(space.problem());  // of variants
  for (std::size_t f = 0; f < std::min(most, families.size()); ++f) {
    const std::vector<Member>& members = families[f];
    ListFamily& family = out.emplace_back();
    family.best = ranked(space, members.front().scored, evaluator);
    family.plans = members.size();
    family.last = members.back().scored;
    if (f > 0) family.tie = compare(out.front().best.prediction, family.best.prediction);
    family.variants = variants_of(space.problem(), members);
    for (FamilyVariant& variant : family.variants) {
      run.plan = variant.plan;
      run.gpus = variant.scored.gpus;
      run.assumed.clear();
      CHECK_THAT(check_run(run).has_value());
      variant.tie = compare(family.best.prediction, predict(run, evaluator));
    }
  }
  return out;
}

}  // namespace foretrain
