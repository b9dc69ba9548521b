#include "search/evaluators.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {

Evaluators::Evaluators(const Problem& problem, std::shared_ptr<const CostSource> costs)
    : problem_(problem), costs_(std::move(costs)) {}

bool Evaluators::serve(const Problem& problem) const {
  Cluster cluster = problem.cluster;
  cluster.price_per_gpu_hour = problem_.cluster.price_per_gpu_hour;
  return problem.seq == problem_.seq && problem.documents == problem_.documents &&
         cluster == problem_.cluster && problem.model == problem_.model && problem.stack == problem_.stack;
}

void Evaluators::make_room(std::size_t threads) { evaluators_.resize(std::max(evaluators_.size(), threads)); }

Evaluator& Evaluators::of(std::size_t thread) {
  CHECK_THAT(thread < evaluators_.size());
  auto& own = evaluators_[thread];
  if (own == nullptr)
    own = std::make_unique<Evaluator>(problem_.model, problem_.cluster, problem_.stack, problem_.seq, costs_,
                                      problem_.documents);
  return *own;
}

Evaluator& Evaluators::first() {
  make_room(1);
  return of(0);
}

}  // namespace foretrain
