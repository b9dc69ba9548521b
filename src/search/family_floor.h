// The floors of a space's families and of their parts, whose plans agree in what is run again.
#pragma once

#include "predict/evaluator.h"
#include "search/engine.h"
#include "search/members.h"

namespace foretrain {

class FamilyFloors {
 public:
  FamilyFloors(const Space& space, const SearchOptions& options) : space_(space), options_(options) {}

  // Of all parts that may fit. The more layers are run again the longer and the smaller, so that the least of them is
  // where it just fits; all of them is a part of its own.
  PlanFloor of(const Family& family, Evaluator& evaluator) const;
  // Of the part that the candidate belongs to.
  PartFloor part(const Candidate& candidate, const Family& family, Evaluator& evaluator) const;
  // What families and parts are gone through by, the least first.
  double order_key(const PlanFloor& floor) const;

 private:
  const Space& space_;
  const SearchOptions& options_;
};

}  // namespace foretrain
