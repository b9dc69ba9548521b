// What the tests of this folder share.
#pragma once

#include <string>

#include "base/check.h"
#include "predict/uncertainty.h"
#include "search/engine.h"
#include "search/members.h"
#include "spec/catalog.h"

namespace foretrain {

inline Problem problem_of(const std::string& model, const std::string& cluster, const std::string& stack,
                          std::vector<std::int64_t> gpus, std::int64_t global_batch) {
  const Catalog catalog;
  Problem problem;
  problem.model = catalog.model(model).value();
  problem.cluster = catalog.cluster(cluster).value();
  problem.stack = catalog.stack(stack).value();
  problem.stack.rules.clear();  // what can be stated; launch_filter_test has the rules
  problem.gpus = std::move(gpus);
  problem.global_batch = global_batch;
  problem.seq = problem.model.default_seq;
  return problem;
}

inline Space space_of(Problem problem, const std::vector<std::string>& sets = {}) {
  Constraints constraints;
  for (const std::string& set : sets) CHECK_THAT(constraints.add_set(set, problem).has_value());
  auto space = Space::make(std::move(problem), std::move(constraints));
  CHECK_THAT(space.has_value());
  return *std::move(space);
}

// All of them, in the order of the space.
inline std::vector<Family> families_of(const Space& space) {
  std::vector<Family> all, room;
  FamilyMaker maker(space.legal());
  for (std::size_t i = 0; i < space.regions().size(); ++i)
    for (const Family& family : space.families_of(i, maker, room)) all.push_back(family);
  return all;
}

inline SearchOptions options_for(const Problem& problem) {
  SearchOptions options;
  options.limits.memory = most_that_fits(problem.cluster.gpu.usable, problem.stack.described);
  options.threads = 2;
  return options;
}

}  // namespace foretrain
