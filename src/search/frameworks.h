// Which of the frameworks that are described launch a plan, for who asks without one.
#pragma once

#include <string>
#include <vector>

#include "search/problem.h"

namespace foretrain {

// Whether a stack is of one framework: the assumed ones (generic) are of nobody's in particular.
inline bool is_framework(const Stack& stack) { return stack.described != Described::kAssumed; }

class Frameworks {
 public:
  // Of these stacks those of a framework; none of them where the problem's own is of one.
  Frameworks(const Problem& problem, const std::vector<Stack>& stacks);

  bool any() const { return !runs_.empty(); }
  // Names, in the order in which the stacks were given.
  std::vector<std::string> that_launch(const Candidate& candidate);

 private:
  std::vector<Run> runs_;  // a run by each, whose plan is put in
};

}  // namespace foretrain
