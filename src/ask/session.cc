#include "ask/session.h"

#include <algorithm>

#include "search/nearest.h"

namespace foretrain {

Result<ProfileStore::Choice> Session::costs_for(const Cluster& cluster, std::string_view profile) {
  const auto found = std::find_if(costs_.begin(), costs_.end(), [&](const KeptCosts& kept) {
    // What operators take is their GPU's and its host's; links and prices are nothing to them.
    return kept.word == profile && kept.cluster.gpu == cluster.gpu &&
           kept.cluster.host_launch == cluster.host_launch;
  });
  if (found != costs_.end()) {
    costs_.splice(costs_.begin(), costs_, found);
    return costs_.front().choice;
  }
  TRY_ASSIGN(ProfileStore::Choice choice, profiles_.costs_for(cluster, profile));
  costs_.push_front({cluster, std::string(profile), std::move(choice)});
  while (costs_.size() > 1 &&
         (costs_.size() > limits_.profiles || kept_profile_bytes() > limits_.profile_bytes))
    forget_oldest_costs();
  return costs_.front().choice;
}

// With the evaluators that hold them, or their bytes would stay.
void Session::forget_oldest_costs() {
  std::erase_if(evaluators_, [costs = costs_.back().choice.costs](const KeptEvaluator& kept) {
    return kept.costs == costs;
  });
  costs_.pop_back();
}

std::size_t Session::kept_profile_bytes() const {
  std::size_t bytes = 0;
  for (const KeptCosts& kept : costs_) bytes += kept.choice.bytes;
  return bytes;
}

Session::KeptEvaluator::KeptEvaluator(const Run& run, std::shared_ptr<const CostSource> source)
    : model(run.model),
      cluster(run.cluster),
      stack(run.stack),
      seq(run.seq),
      documents(run.documents),
      costs(std::move(source)),
      evaluator(model, cluster, stack, seq, costs, documents) {}

bool Session::KeptEvaluator::serves(const Run& run, const CostSource* source) const {
  return seq == run.seq && costs.get() == source && model == run.model && cluster == run.cluster &&
         stack == run.stack && documents == run.documents;
}

Evaluator& Session::evaluator_for(const Run& run, const std::shared_ptr<const CostSource>& costs) {
  const auto found = std::find_if(evaluators_.begin(), evaluators_.end(),
                                  [&](const KeptEvaluator& kept) { return kept.serves(run, costs.get()); });
  if (found != evaluators_.end() && found->predictions < limits_.predictions_each) {
    evaluators_.splice(evaluators_.begin(), evaluators_, found);
  } else {
    if (found != evaluators_.end()) evaluators_.erase(found);
    evaluators_.emplace_front(run, costs);
    while (evaluators_.size() > std::max<std::size_t>(1, limits_.evaluators)) evaluators_.pop_back();
  }
  ++evaluators_.front().predictions;
  return evaluators_.front().evaluator;
}

Prediction Session::predict(const Run& run, const std::shared_ptr<const CostSource>& costs, StepTrace* trace,
                            bool nearest) {
  Evaluator& evaluator = evaluator_for(run, costs);
  try {
    return nearest ? predict_or_nearest(run, evaluator, trace) : foretrain::predict(run, evaluator, trace);
  } catch (...) {  // what it remembers may be half there
    evaluators_.pop_front();
    throw;
  }
}

}  // namespace foretrain
