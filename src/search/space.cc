#include "search/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "job/run_check.h"
#include "job/split.h"
#include "search/split_dimension.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostFamilies = 5'000'000;  // of about 100 bytes each

std::size_t split_place() {
  static const auto place = static_cast<std::size_t>(
      std::find_if(dimensions().begin(), dimensions().end(), is_split) - dimensions().begin());
  return place;
}

}  // namespace

// Whoever speaks of a dimension, or of one that hangs on it (cp_type on cp), has all of its values.
bool Space::is_bounded(const Dimension& dimension) const {
  if (dimension.most == nullptr) return false;
  const std::string hangs_on_it = std::string(dimension.name) + "_";
  return std::none_of(constraints_.all().begin(), constraints_.all().end(), [&](const Constraint& c) {
    return c.key == dimension.name || c.key.rfind(hangs_on_it, 0) == 0;
  });
}

std::vector<LeftOut> Space::left_out() const {
  std::vector<LeftOut> all;
  if (not_launched_ > 0)
    all.push_back({fmt::format("{} plans", with_commas(static_cast<std::int64_t>(not_launched_))),
                   fmt::format("stack {} does not launch them; {} any looks at what any framework runs",
                               problem_.stack.name, marked("stack"))});
  for (const Dimension& dimension : dimensions()) {
    if (is_bounded(dimension))
      if (const Value most = dimension.most(problem_); most < problem_.gpus.back())
        all.push_back({fmt::format("{} > {}", dimension.name, most), dimension.why_not_more(problem_)});
    if (dimension.others != nullptr && constraints_.find(dimension.name) == nullptr)
      if (auto others = dimension.others(problem_)) all.push_back(*std::move(others));
  }
  return all;
}

// The legal values that the constraints allow.
void Space::fill(const Dimension& dimension, const Candidate& so_far, std::vector<Value>& out) const {
  out.clear();
  const Constraint* constraint = constraints_.find(dimension.name);
  const bool named = constraint != nullptr && (!constraint->set.empty() || constraint->low);
  (named && dimension.asked != nullptr ? dimension.asked : dimension.values)(problem_, so_far, out);
  if (constraint == nullptr) {
    if (dimension.scope == Scope::kAllowed && out.size() > 1) out.resize(1);
    if (is_bounded(dimension))
      std::erase_if(out, [most = dimension.most(problem_)](Value value) { return value > most; });
  } else {
    std::erase_if(out, [&](Value value) { return !constraint->allows(value); });
    // A stack's own choice stands for itself, unless values are set.
    if (dimension.scope == Scope::kAllowed && constraint->set.empty() && !constraint->low && out.size() > 1)
      out.resize(1);
  }
  if (!is_split(dimension)) return;
  Candidate candidate = so_far;
  std::erase_if(out, [&](Value value) {
    dimension.put(problem_, candidate, value);
    return !constraints_.allows_ends(problem_, candidate);
  });
}

std::vector<std::vector<Value>> Space::inner_values(const Candidate& shared, const Traits& traits) const {
  std::vector<std::vector<Value>> inner;
  for (const Dimension& d : dimensions().subspan(outer_count())) {
    fill(d, shared, inner.emplace_back());
    launches_.keep(problem_, shared, traits, d, inner.back());
    if (is_split(d)) break;
  }
  return inner;
}

std::vector<std::vector<Value>> Space::flag_values(const Candidate& shared, const Traits& traits) const {
  std::vector<std::vector<Value>> together = {{}};
  std::vector<Value> values;
  for (const Dimension& d : dimensions().subspan(split_place() + 1)) {
    fill(d, shared, values);
    std::vector<std::vector<Value>> longer;
    for (const std::vector<Value>& some : together)
      for (const Value value : values) {
        longer.push_back(some);
        longer.back().push_back(value);
      }
    together = std::move(longer);
  }
  launches_.keep_flags(traits, together);
  return together;
}

std::vector<std::vector<Value>> Space::parts(const Candidate& shared) const {
  std::vector<std::vector<Value>> parts;
  const Traits traits = launches_.traits(problem_, shared);
  for (const Dimension& d : dimensions().subspan(outer_count())) {
    if (is_split(d)) break;
    fill(d, shared, parts.emplace_back());
    launches_.keep(problem_, shared, traits, d, parts.back());
  }
  return parts;
}

// The most layers that a chunk has, by any of these splits.
std::int64_t Space::largest_chunk(const Candidate& candidate, const Pipeline& pipeline,
                                  const std::vector<Value>& splits) const {
  std::int64_t most = 0;
  const std::int64_t chunks = pipeline.model_chunks();
  const std::int64_t of_stage = chunks / pipeline.stages;  // chunks that a stage's layers are dealt over
  for (const Value value : splits) {
    if (value == 0) {
      for (const std::int64_t n : split_layers(problem_.model, problem_.stack.pipeline.split, chunks))
        most = std::max(most, n);
      continue;
    }
    const std::vector<std::int64_t> layers = layers_of_split(problem_, candidate.plan.pp, value);
    const std::int64_t parts = static_cast<std::int64_t>(layers.size()) == chunks ? 1 : of_stage;
    for (const std::int64_t n : layers) most = std::max(most, (n + parts - 1) / parts);
  }
  return most;
}

// How many plans a family has, and how many it would have if the stack launched all.
std::pair<std::uint64_t, std::uint64_t> Space::count_plans(const Candidate& candidate) const {
  const Traits traits = launches_.traits(problem_, candidate);
  std::uint64_t count = launches_.family(traits) ? 1 : 0, all = 1, flags = 1;
  std::vector<Value> values;
  for (std::size_t i = outer_count(); i < dimensions().size(); ++i) {
    const Dimension& d = dimensions()[i];
    const bool split = i == split_place();
    if (!split) fill(d, candidate, values);
    const std::uint64_t legal = split ? split_values_.size() : values.size();
    all *= legal;
    if (i > split_place()) {
      flags *= legal;
    } else if (!launches_.binds(d)) {
      count *= legal;
    } else {
      if (split) values = split_values_;
      launches_.keep(problem_, candidate, traits, d, values);
      count *= values.size();
    }
  }
  if (count == 0) return {0, all};
  return {count * (launches_.binds_flags() ? flag_values(candidate, traits).size() : flags), all};
}

// Depth first; a family where all outer dimensions have a value.
Result<void> Space::grow(Run& run, Candidate& candidate, Family& family, std::size_t depth) {
  if (depth < outer_count()) {
    const Dimension& dimension = dimensions()[depth];
    std::vector<Value> values;
    fill(dimension, candidate, values);
    const Candidate before = candidate;
    for (const Value value : values) {
      dimension.put(problem_, candidate, value);
      family.set(depth, value);
      TRY(grow(run, candidate, family, depth + 1));
      candidate = before;
    }
    return {};
  }
  run.plan = candidate.plan;
  run.gpus = candidate.gpus;
  if (!check_run(run)) return {};
  // How stages are split depends on few of the others: the last answer serves many families.
  if (const Pipeline pipeline = pipeline_of(candidate.plan); split_of_ != pipeline) {
    fill(dimensions()[split_place()], candidate, split_values_);
    most_layers_ = largest_chunk(candidate, pipeline, split_values_);
    split_of_ = pipeline;
  }
  const auto [count, all] = count_plans(candidate);
  not_launched_ += all - count;
  if (count == 0) return {};
  if (families_.size() == kMostFamilies)
    return fail(fmt::format("the space has more than {} families of plans; narrow it by {} or {}",
                            with_commas(static_cast<std::int64_t>(kMostFamilies)), marked("set"),
                            marked("range")));
  family.first = size_;
  family.most_layers = static_cast<std::int32_t>(most_layers_);
  size_ += count;
  families_.push_back(family);
  return {};
}

Result<Space> Space::make(Problem problem, Constraints constraints) {
  CHECK_THAT(outer_count() <= kMostDimensions);
  Space space;
  space.problem_ = std::move(problem);
  space.constraints_ = std::move(constraints);
  Run run = run_without_plan(space.problem_);
  TRY_ASSIGN(space.launches_, LaunchFilter::of(run.stack));
  run.stack.rules.clear();  // the filter holds plans against them, and counts those that it leaves out
  Candidate candidate{0, space.problem_.given};
  Family family;
  TRY(space.grow(run, candidate, family, 0));
  return space;
}

std::uint64_t Space::count(std::size_t family) const {
  return (family + 1 < families_.size() ? families_[family + 1].first : size_) - families_[family].first;
}

std::size_t Space::family_of(std::uint64_t index) const {
  CHECK_THAT(index < size_);
  const auto after = std::upper_bound(families_.begin(), families_.end(), index,
                                      [](std::uint64_t i, const Family& f) { return i < f.first; });
  return static_cast<std::size_t>(after - families_.begin()) - 1;
}

Candidate Space::shared(std::size_t family) const {
  Candidate candidate{0, problem_.given};
  for (std::size_t i = 0; i < outer_count(); ++i)
    dimensions()[i].put(problem_, candidate, families_[family].value(i));
  return candidate;
}

Candidate Space::candidate(std::uint64_t index) const {
  const std::size_t family = family_of(index);
  Members members(*this, family);
  return members.member(index - first(family));
}

Space::Members::Members(const Space& space, std::size_t family)
    : space_(space), family_(family), candidate_(space.shared(family)) {
  const Traits traits = space.launches_.traits(space.problem(), candidate_);
  inner_ = space.inner_values(candidate_, traits);
  flags_of_plans_ = space.flag_values(candidate_, traits);
  flags_ = flags_of_plans_.size();
  part_size_ = flags_ * inner_.back().size();
  for (const std::vector<Value>& values : inner_) now_.push_back(values.front());
  for (const Value value : flags_of_plans_.front()) now_.push_back(value);
  for (std::size_t i = 0; i < now_.size(); ++i)
    dimensions()[outer_count() + i].put(space_.problem(), candidate_, now_[i]);
}

// The last dimension changes fastest.
const Candidate& Space::Members::member(std::uint64_t n) {
  CHECK_THAT(n < space_.count(family_));
  const auto put = [&](std::size_t i, Value value) {
    if (value == now_[i]) return;
    dimensions()[outer_count() + i].put(space_.problem(), candidate_, value);
    now_[i] = value;
  };
  const std::vector<Value>& flags = flags_of_plans_[n % flags_];
  for (std::size_t i = 0; i < flags.size(); ++i) put(inner_.size() + i, flags[i]);
  n /= flags_;
  for (std::size_t i = inner_.size(); i-- > 0;) {
    put(i, inner_[i][n % inner_[i].size()]);
    n /= inner_[i].size();
  }
  return candidate_;
}

}  // namespace foretrain
