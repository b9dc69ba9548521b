#include "search/frameworks.h"

#include "job/run_check.h"

namespace foretrain {

Frameworks::Frameworks(const Problem& problem, const std::vector<Stack>& stacks) {
  if (is_framework(problem.stack)) return;
  for (const Stack& stack : stacks) {
    if (!is_framework(stack)) continue;
    runs_.push_back(run_without_plan(problem));
    runs_.back().stack = stack;
  }
}

std::vector<std::string> Frameworks::that_launch(const Candidate& candidate) {
  std::vector<std::string> names;
  for (Run& run : runs_) {
    run.plan = candidate.plan;
    run.gpus = candidate.gpus;
    run.assumed.clear();
    if (check_run(run)) names.push_back(run.stack.name);
  }
  return names;
}

}  // namespace foretrain
