// Groups whose ranks are evenly spaced, on ranks that fill nodes and NVLink domains in order. Groups of a
// kind lie beside and between each other so that together they hold every rank once, and none is cut off: how
// one of them lies follows from where in a domain it begins, so those that begin alike are looked at once.
// What that takes is bounded by the size of a domain, the stride and the times, not by the number of ranks.
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

// Of groups that are no pairs: stride * size divides the GPUs; those that go on more than once have a stride
// of 1, `apart` is a multiple of their size, and times * apart are all GPUs.
PlacedGroup evenly_placed(const Group& group, const Grid& grid);
// Most groups that cross domains and have members in one node; 0: none crosses.
std::int64_t most_sharers(const Group& group, const Grid& grid);

}  // namespace foretrain
