// A portion of a search: its families are taken apart, the plans of its parts gone through. What may come in hangs on
// what was kept before the round and on what the portion finds itself, on nothing that happens beside it.
#pragma once

#include "search/family_floor.h"
#include "search/item.h"
#include "search/sieve.h"
#include "search/watch.h"

namespace foretrain {

class PortionSearch {
 public:
  PortionSearch(const Space& space, const SearchOptions& options, const Kept& kept, const Kept& probed,
                Watch& watch, Evaluator& evaluator, Found& found)
      : space_(space),
        options_(options),
        floors_(space, options),
        sieve_(options, kept, probed),
        watch_(watch),
        evaluator_(evaluator),
        found_(found) {}

  void go_through(const Portion& portion);

 private:
  void take_apart(const Item& item, Members& members);
  void do_plans(const Item& item, Members& members);
  bool drops_split(const SplitFloor& split, const Item& item, std::uint64_t plans);
  bool do_plan(const Candidate& candidate, std::uint64_t index);

  const Space& space_;
  const SearchOptions& options_;
  FamilyFloors floors_;
  Sieve sieve_;
  Watch& watch_;
  Evaluator& evaluator_;
  Found& found_;
};

}  // namespace foretrain
