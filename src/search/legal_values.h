// What each dimension may be after the choices of the dimensions before it: the legal values (dimension.h) that the
// constraints allow and, of inner dimensions, the stack launches.
#pragma once

#include <vector>

#include "search/constraint.h"
#include "search/launch_filter.h"

namespace foretrain {

class LegalValues {
 public:
  // Refused where the stack's rules cannot be searched by.
  static Result<LegalValues> of(Problem problem, Constraints constraints);

  const Problem& problem() const { return problem_; }
  const Constraints& constraints() const { return constraints_; }
  const LaunchFilter& launches() const { return launches_; }

  // Whether values above Dimension::most are left out.
  bool is_bounded(const Dimension& dimension) const;
  // Those that the constraints allow, launched or not.
  void fill(const Dimension& dimension, const Candidate& so_far, std::vector<Value>& out) const;

  // Of the inner dimensions as far as the split: what each may be, whatever the others are. The split's are left out where
  // `parts_only`.
  std::vector<std::vector<Value>> inner(const Candidate& shared, const Traits& traits,
                                        bool parts_only = false) const;
  // Of those after it, which may need one another: what they may be together.
  std::vector<std::vector<Value>> flags(const Candidate& shared, const Traits& traits) const;

 private:
  Problem problem_;
  Constraints constraints_;
  LaunchFilter launches_;
};

std::size_t split_place();  // of layers_per_stage among the dimensions

}  // namespace foretrain
