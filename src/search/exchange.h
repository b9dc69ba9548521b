// Ranks of a team tell one another what they found.
#pragma once

#include <vector>

#include "search/item.h"
#include "search/team.h"

namespace foretrain {

// The shares of a team's rank among so many pieces of work: every size()-th, from its own number on. Without a team, all.
struct Share {
  std::size_t rank = 0, ranks = 1;

  explicit Share(const Team* team);
  std::size_t count(std::size_t all) const { return all > rank ? (all - rank + ranks - 1) / ranks : 0; }
  std::size_t at(std::size_t i) const { return rank + i * ranks; }
};

// Each rank has filled its share of `found`; then all have all of it.
void exchange(Team* team, std::vector<Found>& found);

}  // namespace foretrain
