// What requests share: where names lead (a catalog and a store of profiles over one Files), and what is worth
// keeping from one to the next: costs of operators on a cluster, and evaluators with their memos. It is
// bounded: the least recently used goes. Profiles are counted in bytes too, and take the evaluators that hold
// them along; an evaluator, whose memos grow with the shapes that it meets, serves a number of predictions and
// is then made anew. Nothing is read before it is asked for, and a profile stays as it was when it was read.
//
// A Session serves one thread at a time; a server has one a thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "cost/profile_store.h"
#include "formats/foreign_model.h"
#include "predict/evaluator.h"
#include "spec/catalog.h"

namespace foretrain {

struct SessionLimits {
  std::size_t profiles = 8;
  std::size_t profile_bytes = std::size_t{64} << 20;  // of their models; but for one, however large
  std::size_t evaluators = 8;
  std::size_t predictions_each = 1000;
};

class Session {
 public:
  // `presets`: a folder laid out like presets/, looked in first; empty: none.
  explicit Session(const Files& files, std::string presets = {}, const SessionLimits& limits = {})
      : files_(files),
        presets_(std::move(presets)),
        catalog_(files, presets_, foreign_model),
        profiles_(files, presets_),
        limits_(limits) {}

  const Files& files() const { return files_; }
  const std::string& presets() const { return presets_; }
  const Catalog& catalog() const { return catalog_; }
  const ProfileStore& profiles() const { return profiles_; }

  // As ProfileStore::costs_for.
  Result<ProfileStore::Choice> costs_for(const Cluster& cluster, std::string_view profile);

  // The prediction of a checked run, as predict() makes it. `costs` are those of the run's cluster. Where its plan
  // does not fit, with the nearest that do, which takes longer.
  Prediction predict(const Run& run, const std::shared_ptr<const CostSource>& costs,
                     StepTrace* trace = nullptr, bool nearest = true);

  // What is kept now.
  std::size_t kept_profiles() const { return costs_.size(); }
  std::size_t kept_profile_bytes() const;
  std::size_t kept_evaluators() const { return evaluators_.size(); }

 private:
  struct KeptCosts {
    Cluster cluster;
    std::string word;
    ProfileStore::Choice choice;
  };
  struct KeptEvaluator {
    KeptEvaluator(const Run& run, std::shared_ptr<const CostSource> source);
    bool serves(const Run& run, const CostSource* source) const;

    Model model;
    Cluster cluster;
    Stack stack;
    std::int64_t seq = 0;
    Documents documents;
    std::shared_ptr<const CostSource> costs;
    Evaluator evaluator;
    std::size_t predictions = 0;
  };
  void forget_oldest_costs();
  Evaluator& evaluator_for(const Run& run, const std::shared_ptr<const CostSource>& costs);

  const Files& files_;
  std::string presets_;
  Catalog catalog_;
  ProfileStore profiles_;
  SessionLimits limits_;
  std::list<KeptCosts> costs_;  // the last used first, as are the evaluators
  std::list<KeptEvaluator> evaluators_;
};

}  // namespace foretrain
