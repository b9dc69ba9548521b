// Which of the frameworks that are described launch a plan, for who asks without one.
#pragma once

#include <string>
#include <vector>

#include "search/problem.h"

namespace foretrain {

class Frameworks {
 public:
  // Of these stacks those whose framework's rules are known; none of them where the problem's own has rules.
  Frameworks(const Problem& problem, const std::vector<Stack>& stacks);

  bool any() const { return !runs_.empty(); }
  // Names, in the order in which the stacks were given.
  std::vector<std::string> that_launch(const Candidate& candidate);

 private:
  std::vector<Run> runs_;  // a run by each, whose plan is put in
};

}  // namespace foretrain
