// Of the plans of a space, those that the stack's framework launches (spec/launch_rule.h). Rules that speak of outer
// dimensions alone bind whole families; others bind values of one inner dimension, or what overlaps.
#pragma once

#include <vector>

#include "job/launch_check.h"
#include "search/dimension.h"

namespace foretrain {

class LaunchFilter {
 public:
  // Refused where a rule ties inner dimensions that a search takes apart to one another.
  static Result<LaunchFilter> of(const Stack& stack);

  // Of what a family's plans share. Nothing is worked out where there are no rules.
  Traits traits(const Problem& problem, const Candidate& shared) const;

  // Whether any rule speaks of it.
  bool binds(const Dimension& dimension) const { return rules_of(dimension) != nullptr; }
  bool binds_flags() const { return !of_flags_.empty(); }

  bool family(const Traits& traits) const;
  // Drops the values of an inner dimension as far as the split that the stack does not launch.
  void keep(const Problem& problem, const Candidate& shared, const Traits& traits, const Dimension& dimension,
            std::vector<Value>& values) const;
  // Of overlap_grad_reduce and overlap_param_gather together.
  void keep_flags(const Traits& traits, std::vector<std::vector<Value>>& together) const;

 private:
  using Rules = std::vector<LaunchRule>;
  const Rules* rules_of(
      const Dimension& dimension) const;  // of an inner dimension as far as the split; null: none

  Rules of_families_, of_layers_, of_partition_, of_split_, of_flags_;
  bool any_ = false;
};

}  // namespace foretrain
