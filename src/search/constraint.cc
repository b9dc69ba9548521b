#include "search/constraint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "job/choices.h"
#include "job/pipeline.h"
#include "job/split.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"
#include "timeline/schedule.h"

namespace foretrain {
namespace {

constexpr Value kMostValue = 10'000'000;
constexpr std::size_t kMostValues = 10'000;
constexpr Value kMostTried = 100'000;  // of a range
constexpr std::string_view kFirst = "first_layers", kLast = "last_layers";
constexpr std::string_view kSplit = plan_field<&Plan::layers_per_stage>.key;

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const Dimension& d : dimensions()) names.emplace_back(d.name);
  names.emplace_back(kFirst);
  names.emplace_back(kLast);
  return names;
}

// A key of plans that is not searched: one value of it may be given, for every plan.
bool is_given(std::string_view key) {
  const auto known = keys_of(kPlanFields);
  return find_dimension(key) == nullptr && std::find(known.begin(), known.end(), key) != known.end();
}

bool is_flag(const Dimension& d) { return d.words.size() == 2 && d.words[0] == "0"; }

Result<Value> value_of(std::string_view key, std::string_view word, Problem* problem) {
  const Dimension* d = find_dimension(key);
  if (d != nullptr && d->read != nullptr && problem != nullptr) return d->read(*problem, word);
  if (d == nullptr || d->words.empty()) {
    const auto number = parse_integer(word);
    if (!number || *number < 0 || *number > kMostValue)
      return fail(
          fmt::format("{}: found {}, expected a whole number from 0 to {}", key, quoted(word), kMostValue));
    return *number;
  }
  if (is_flag(*d)) {
    for (const std::string_view yes : {"1", "true", "yes", "on"})
      if (word == yes) return 1;
    for (const std::string_view no : {"0", "false", "no", "off"})
      if (word == no) return 0;
    return fail(fmt::format("{}: found {}, expected 0 or 1", key, quoted(word)));
  }
  const auto found = std::find(d->words.begin(), d->words.end(), word);
  if (found != d->words.end()) return found - d->words.begin();
  const std::vector<std::string> words(d->words.begin(), d->words.end());
  return fail(fmt::format("{}: unknown {}{}", key, quoted(word), suggestion(word, words)));
}

// A number that no plan may have is refused, as it is there; otherwise the answer would be that nothing is
// legal.
Result<void> check_number(std::string_view key, std::string_view word) {
  const Dimension* d = find_dimension(key);
  if (d == nullptr || !d->words.empty() || key == "gpus" || d->read != nullptr) return {};
  TRY(parse_plan(fmt::format("{}={}", key, word)));
  return {};
}

Result<void> check_key(std::string_view key) {
  if (find_dimension(key) != nullptr || key == kFirst || key == kLast || is_given(key)) return {};
  return fail(fmt::format("unknown key {}{}", quoted(key), suggestion(key, keys())));
}

std::string not_searched(std::string_view key) {
  return fmt::format("{}: is not searched, expected {} with one value for every plan", key, marked("set"));
}

// "tp=4,8,pp=2" as key and word pairs: a word without a key belongs to the key before it.
Result<std::vector<std::pair<std::string, std::string>>> pairs_of(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos && pairs.empty())
      return fail(fmt::format("expected key=value, found {}", quoted(trim(part))));
    const std::string key(equals == std::string_view::npos ? pairs.back().first
                                                           : trim(part.substr(0, equals)));
    const std::string word(trim(equals == std::string_view::npos ? part : part.substr(equals + 1)));
    TRY(check_key(key));
    if (word.empty()) return fail(fmt::format("{}: found nothing, expected a value", key));
    pairs.emplace_back(key, word);
    if (pairs.size() > kMostValues) return fail(fmt::format("expected at most {} values", kMostValues));
  }
  return pairs;
}

// Modules that `recompute` names are what every plan has, and it is selective.
Result<void> take_modules(std::vector<std::pair<std::string, std::string>>& pairs, Problem& problem) {
  const std::string key(plan_field<&Plan::recompute>.key);
  std::vector<std::string> modules, words;
  for (const auto& [of, word] : pairs)
    if (of == key) (is_recompute_module(split(word, '+').front()) ? modules : words).push_back(word);
  if (modules.empty()) return {};
  if (!words.empty())
    return fail(fmt::format("{}: found {} beside the module {}, expected modules alone or none", key,
                            quoted(words.front()), quoted(modules.front())));
  TRY_ASSIGN(problem.given,
             parse_plan(fmt::format("{}={}", plan_field<&Plan::recompute_modules>.key, join(modules, "+")),
                        problem.given));
  std::erase_if(pairs, [&](const auto& pair) { return pair.first == key; });
  pairs.emplace_back(key, kRecomputeNames[static_cast<std::size_t>(Recompute::kSelective)]);
  return {};
}

// A word that says two things, as in plans (attention=flash2, optimizer=paged_adamw_8bit), is put as these: the key's
// own word first, then what every plan has besides.
Result<void> take_double_words(std::vector<std::pair<std::string, std::string>>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [key, word] = pairs[i];
    const Dimension* d = find_dimension(key);
    if (d == nullptr || d->words.empty() || is_flag(*d)) continue;
    if (std::find(d->words.begin(), d->words.end(), word) != d->words.end()) continue;
    const auto plan = parse_plan(fmt::format("{}={}", key, word));
    if (!plan) continue;  // refused below, in the search's words
    const Candidate said{0, *plan};
    Candidate own;
    d->put({}, own, d->get({}, said));
    const std::string besides = to_text(said.plan, own.plan);
    if (besides.empty()) continue;
    for (const auto& [of, other] : pairs)
      if (of == key && other != word)
        return fail(fmt::format("{}: found {} beside {}, which says {} of every plan, expected it alone", key,
                                quoted(other), quoted(word), besides));
    pairs[i].second = word_of(*d, {}, own);
    for (const std::string_view part : split(besides, ',')) {
      const std::size_t equals = part.find('=');
      pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    }
  }
  return {};
}

}  // namespace

bool Constraint::allows(Value value) const {
  const auto has = [value](const std::vector<Value>& values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  if (!set.empty() && !has(set)) return false;
  if (low && (value < *low || value > *high)) return false;
  return !has(forbidden);
}

std::string Constraint::text() const {
  std::vector<std::string> parts;
  if (!set.empty())
    parts.push_back(fmt::format("{} {}={}", marked("set"), key, printable(join(set_words, ","))));
  if (low) parts.push_back(fmt::format("{} {}={}..{}", marked("range"), key, *low, *high));
  if (!forbidden.empty())
    parts.push_back(fmt::format("{} {}={}", marked("forbid"), key, printable(join(forbidden_words, ","))));
  return join(parts, " ");
}

Constraint& Constraints::of(std::string_view key) {
  const auto found = std::find_if(constraints_.begin(), constraints_.end(),
                                  [key](const Constraint& c) { return c.key == key; });
  if (found != constraints_.end()) return *found;
  constraints_.emplace_back().key = key;
  return constraints_.back();
}

namespace {

// What no plan of the model can have: a search of nothing would be no answer.
Result<void> check_experts(const Model& model, std::string_view key, Value value) {
  const std::string_view of_experts[] = {
      plan_field<&Plan::ep>.key, plan_field<&Plan::etp>.key, plan_field<&Plan::dispatcher>.key,
      plan_field<&Plan::overlap_dispatch>.key, plan_field<&Plan::overlap_shared>.key};
  if (std::find(std::begin(of_experts), std::end(of_experts), key) == std::end(of_experts)) return {};
  const bool plain = key == plan_field<&Plan::ep>.key ? value == 1 : value <= 0;
  if (!has_experts(model) && !plain)
    return fail(fmt::format("{} needs experts, and model {} has none", key, quoted(model.name)));
  for (const BlockRun& run : model.blocks) {
    const FeedForward& f = run.block.feed_forward;
    if (key == plan_field<&Plan::ep>.key && f.experts % value != 0)
      return fail(fmt::format("{} {} does not divide experts {}", key, value, f.experts));
    if (key == plan_field<&Plan::etp>.key && value > 0 && f.expert_ffn % value != 0)
      return fail(fmt::format("{} {} does not divide expert_ffn {}", key, value, f.expert_ffn));
  }
  return {};
}

// Likewise of the stack, or of a model without a dense MLP.
Result<void> check_pieces(const Problem& problem, std::string_view key, Value value) {
  if (key == plan_field<&Plan::loss>.key && !offers(problem.stack, static_cast<LossKind>(value)))
    return fail(fmt::format("stack {} offers no loss {}", quoted(problem.stack.name),
                            kLossNames[static_cast<std::size_t>(value)]));
  const auto dense = [](const BlockRun& run) { return !run.block.feed_forward.has_experts(); };
  const auto& blocks = problem.model.blocks;
  if (key == plan_field<&Plan::mlp_chunks>.key && value > 1 &&
      std::none_of(blocks.begin(), blocks.end(), dense))
    return fail(
        fmt::format("mlp_chunks needs a dense MLP, and model {} has none", quoted(problem.model.name)));
  return {};
}

// Nor with the stack.
Result<void> check_context(const Stack& stack, std::string_view key, Value value) {
  const CpTypes& types = stack.context_parallel.types;
  const bool of_ranks = key == plan_field<&Plan::cp>.key && value > 1;
  const bool of_type = key == plan_field<&Plan::cp_type>.key;
  if (types.empty() && (of_ranks || of_type))
    return fail(fmt::format("{}: stack {} has no context parallelism", key, quoted(stack.name)));
  if (of_type && !types.has(static_cast<CpType>(value)))
    return fail(fmt::format("{}: stack {} has no {}", key, quoted(stack.name),
                            kCpTypeNames[static_cast<std::size_t>(value)]));
  return {};
}

// A range none of whose values any plan of the model can have is refused for the reason of its first.
Result<void> check_range(const Problem& problem, std::string_view key, Value low, Value high) {
  const auto check = [&](Value value) -> Result<void> {
    TRY(check_experts(problem.model, key, value));
    TRY(check_pieces(problem, key, value));
    return check_context(problem.stack, key, value);
  };
  for (Value value = std::max<Value>(low, 1); value <= std::min(high, low + kMostTried); ++value)
    if (check(value)) return {};
  return high < 1 ? Result<void>() : check(std::max<Value>(low, 1));
}

}  // namespace

Result<void> Constraints::add_set(std::string_view text, Problem& problem) {
  TRY_ASSIGN(auto pairs, pairs_of(text));
  TRY(take_modules(pairs, problem));
  TRY(take_double_words(pairs));
  for (const auto& [key, word] : pairs) {
    if (is_given(key)) {
      const bool twice =
          std::count_if(pairs.begin(), pairs.end(), [&k = key](const auto& p) { return p.first == k; }) > 1;
      if (twice) return fail(fmt::format("{}: is not searched, expected one value for every plan", key));
      TRY_ASSIGN(problem.given, parse_plan(fmt::format("{}={}", key, word), problem.given));
      continue;
    }
    Constraint& constraint = of(key);
    TRY_ASSIGN(const Value value, value_of(key, word, &problem));
    TRY(check_number(key, word));
    TRY(check_experts(problem.model, key, value));
    TRY(check_pieces(problem, key, value));
    TRY(check_context(problem.stack, key, value));
    constraint.set.push_back(value);
    constraint.set_words.push_back(word);
  }
  return {};
}

Result<void> Constraints::add_forbid(std::string_view text, Problem& problem) {
  TRY_ASSIGN(const auto pairs, pairs_of(text));
  for (const auto& [key, word] : pairs) {
    if (key == kSplit && word != "even" && word != "stack")
      return fail(
          fmt::format("{}: found {}, expected first_layers or last_layers for values", key, quoted(word)));
    if (is_given(key)) return fail(not_searched(key));
    Constraint& constraint = of(key);
    TRY_ASSIGN(const Value value, value_of(key, word, &problem));
    constraint.forbidden.push_back(value);
    constraint.forbidden_words.push_back(word);
  }
  return {};
}

Result<void> Constraints::add_range(std::string_view text, const Problem& problem) {
  TRY_ASSIGN(const auto pairs, pairs_of(text));
  for (const auto& [key, word] : pairs) {
    if (is_given(key)) return fail(not_searched(key));
    Constraint& constraint = of(key);
    const Dimension* d = find_dimension(key);
    if (d != nullptr && (d->read != nullptr || !d->words.empty()))
      return fail(fmt::format("{}: has no range, expected {} or {}", key, marked("set"), marked("forbid")));
    const std::size_t dots = word.find("..");
    if (dots == std::string::npos)
      return fail(fmt::format("{}: found {}, expected a range such as 1..16", key, quoted(word)));
    TRY_ASSIGN(const Value low, value_of(key, std::string_view(word).substr(0, dots), nullptr));
    TRY_ASSIGN(const Value high, value_of(key, std::string_view(word).substr(dots + 2), nullptr));
    if (low > high)
      return fail(fmt::format("{}: found {}, expected the smaller number first", key, quoted(word)));
    TRY(check_range(problem, key, low, high));
    constraint.low = low;
    constraint.high = high;
  }
  return {};
}

const Constraint* Constraints::find(std::string_view key) const {
  const auto found = std::find_if(constraints_.begin(), constraints_.end(),
                                  [key](const Constraint& c) { return c.key == key; });
  return found == constraints_.end() ? nullptr : &*found;
}

Constraints Constraints::without(std::string_view key) const {
  Constraints out = *this;
  std::erase_if(out.constraints_, [key](const Constraint& c) { return c.key == key; });
  return out;
}

bool Constraints::allows(std::string_view key, Value value) const {
  const Constraint* constraint = find(key);
  return constraint == nullptr || constraint->allows(value);
}

bool Constraints::allows_ends(const Problem& problem, const Candidate& candidate) const {
  if (find(kFirst) == nullptr && find(kLast) == nullptr) return true;
  if (candidate.plan.pp == 1) return true;
  const Plan& plan = candidate.plan;
  if (static_cast<std::int64_t>(plan.layers_per_stage.size()) == plan.pp)
    return allows(kFirst, plan.layers_per_stage.front()) && allows(kLast, plan.layers_per_stage.back());
  // By chunk: those of each rank together.
  const Pipeline pipeline = pipeline_of(plan);
  const std::vector<Value> chunks =
      plan.layers_per_stage.empty()
          ? split_layers(problem.model, problem.stack.pipeline.split, pipeline.model_chunks())
          : plan.layers_per_stage;
  Value first = 0, last = 0;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(chunks.size()); ++n) {
    if (pipeline.rank(n) == 0) first += chunks[static_cast<std::size_t>(n)];
    if (pipeline.rank(n) == plan.pp - 1) last += chunks[static_cast<std::size_t>(n)];
  }
  return allows(kFirst, first) && allows(kLast, last);
}

}  // namespace foretrain
