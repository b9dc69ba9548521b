// Groups whose ranks are evenly spaced, on ranks that fill nodes and NVLink domains in order. Groups of a
// kind lie beside and between each other so that together they hold every rank once, and none is cut off: how
// one of them lies follows from where in a domain it begins, so those that begin alike are looked at once.
// What that takes is bounded by the size of a domain, the stride and the stages, not by the number of ranks.
//
//   stride 6, 35 ranks a group, domains of 8: a group begins at 0..7 of a domain, after which three domains
//   (6 / gcd(6, 8)) repeat: 8 * 5 domains to look at, however many groups there are.
#pragma once

#include "network/placement.h"

namespace foretrain {

struct Grid {
  std::int64_t gpus;    // more than a domain
  std::int64_t domain;  // a whole number of nodes
  std::int64_t node;
};

PlacedGroup inside_one_domain(std::int64_t ranks);

// Members first + i * stride for i < count; stride * count divides the GPUs.
struct Progression {
  std::int64_t stride;
  std::int64_t count;

  PlacedGroup placed(const Grid& grid) const;
  // Most groups that cross domains and have members in one node; 0: none crosses.
  std::int64_t sharers(const Grid& grid) const;
};

// tp neighbouring ranks in each of pp > 1 stages of `stage` ranks, a multiple of tp. All or some of them
// cross.
struct ModelCopies {
  std::int64_t tp;
  std::int64_t stage;
  std::int64_t pp;

  PlacedGroup placed(const Grid& grid) const;
  std::int64_t sharers(const Grid& grid) const;
};

}  // namespace foretrain
