#include "search/legal_values.h"

#include <algorithm>
#include <string>

namespace foretrain {

std::size_t split_place() {
  static const auto place = static_cast<std::size_t>(
      std::find_if(dimensions().begin(), dimensions().end(), is_split) - dimensions().begin());
  return place;
}

Result<LegalValues> LegalValues::of(Problem problem, Constraints constraints) {
  LegalValues legal;
  TRY_ASSIGN(legal.launches_, LaunchFilter::of(problem.stack));
  legal.problem_ = std::move(problem);
  legal.constraints_ = std::move(constraints);
  return legal;
}

// Whoever speaks of a dimension, or of one that hangs on it (cp_type on cp), has all of its values.
bool LegalValues::is_bounded(const Dimension& dimension) const {
  if (dimension.most == nullptr) return false;
  const std::string hangs_on_it = std::string(dimension.name) + "_";
  return std::none_of(constraints_.all().begin(), constraints_.all().end(), [&](const Constraint& c) {
    return c.key == dimension.name || c.key.rfind(hangs_on_it, 0) == 0;
  });
}

void LegalValues::fill(const Dimension& dimension, const Candidate& so_far, std::vector<Value>& out) const {
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

std::vector<std::vector<Value>> LegalValues::inner(const Candidate& shared, const Traits& traits,
                                                   bool parts_only) const {
  std::vector<std::vector<Value>> inner;
  for (const Dimension& d : dimensions().subspan(outer_count())) {
    if (parts_only && is_split(d)) break;
    fill(d, shared, inner.emplace_back());
    launches_.keep(problem_, shared, traits, d, inner.back());
    if (is_split(d)) break;
  }
  return inner;
}

std::vector<std::vector<Value>> LegalValues::flags(const Candidate& shared, const Traits& traits) const {
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

}  // namespace foretrain
