#include "search/members.h"

#include "base/check.h"
#include "search/split_dimension.h"

namespace foretrain {

Candidate shared_by(const Family& family, const Problem& problem) {
  Candidate candidate{0, problem.given};
  for (std::size_t i = 0; i < outer_count(); ++i) dimensions()[i].put(problem, candidate, family.value(i));
  return candidate;
}

Members::Members(const LegalValues& legal, const Family& family)
    : problem_(legal.problem()), family_(family), candidate_(shared_by(family, legal.problem())) {
  const Traits traits = legal.launches().traits(problem_, candidate_);
  inner_ = legal.inner(candidate_, traits);
  flags_of_plans_ = legal.flags(candidate_, traits);
  flags_ = flags_of_plans_.size();
  part_size_ = flags_ * inner_.back().size();
  for (const std::vector<Value>& values : inner_) now_.push_back(values.front());
  for (const Value value : flags_of_plans_.front()) now_.push_back(value);
  for (std::size_t i = 0; i < now_.size(); ++i)
    dimensions()[outer_count() + i].put(problem_, candidate_, now_[i]);
}

// The last dimension changes fastest.
const Candidate& Members::member(std::uint64_t n) {
  CHECK_THAT(n < family_.plans);
  const auto put = [&](std::size_t i, Value value) {
    if (value == now_[i]) return;
    dimensions()[outer_count() + i].put(problem_, candidate_, value);
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

std::span<const std::int64_t> Members::split(std::uint64_t n) {
  const std::vector<Value>& splits = inner_.back();
  fill_split(problem_, candidate_.plan.pp, splits[n / flags_ % splits.size()], layers_);
  return layers_;
}

}  // namespace foretrain
