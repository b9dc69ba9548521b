// Evaluators for searches that follow one another: of one model, cluster, stack and sequence, one a thread, each made
// when it is first asked for. What one search found out (passes, floors, operators' times) the next one has: other
// batches, a plan that somebody asks about, the predictions of what was found.
#pragma once

#include <memory>
#include <vector>

#include "predict/evaluator.h"
#include "search/problem.h"

namespace foretrain {

class Evaluators {
 public:
  // Null costs: what physics says of the cluster's GPU.
  Evaluators(const Problem& problem, std::shared_ptr<const CostSource> costs);

  // Whether they are of this problem too: its batch, GPU counts and price are nothing to them.
  bool serve(const Problem& problem) const;

  // Room for so many threads. REQUIRES: no thread uses any meanwhile
  void make_room(std::size_t threads);
  // Of the calling thread, by its number. REQUIRES: thread < what room was made for
  Evaluator& of(std::size_t thread);
  Evaluator& first();

 private:
  Problem problem_;
  std::shared_ptr<const CostSource> costs_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

}  // namespace foretrain
