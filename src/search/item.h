// What a search still has to decide, and what it came to.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/floors.h"
#include "search/engine.h"
#include "search/family.h"

namespace foretrain {

// A family, to be taken apart; or plans of it that are gone through one by one.
struct Item {
  double key = 0;  // the least that its plans can be in what items are ordered by
  Family family;
  std::uint64_t begin = 0, end = 0;  // of the family's plans
  bool apart = false;                // not to be taken apart any more
  PlanFloor floor;

  std::uint64_t plans() const { return end - begin; }
  bool after(const Item& other) const {
    if (key != other.key) return key > other.key;
    return family.first + begin > other.family.first + other.begin;
  }
};

using Portion = std::vector<Item>;

// What a portion, or a region that was looked into, came to.
struct Found {
  SearchCounts counts;
  std::vector<ScoredPlan> kept;
  std::vector<ScoredPlan> evaluated;  // where somebody wants them
  std::vector<Item> items;            // to be decided later: parts of families, families of a region
  bool stopped = false;
};

}  // namespace foretrain
