// What a dispatch or a combine of tokens moves, against what a plain all-to-all of the same tokens would.
// Inside an NVLink domain a token goes once to each rank that holds any of its experts. To another domain it
// goes once over the NICs, to the rank of the sender's own place there, which forwards it over NVLink to those
// that want it (DeepEP, HybridEP). A combine moves the same copies back, summed where they meet.
//
// n ranks in d domains, m of them in a domain; k experts a token; R = n (1 - none(1/n)) ranks that hold any
// (spec/routing.h). Per byte of a plain all-to-all, that is a k-th of a token's row:
//   over NVLink, a rank      R/k (m - 1)/m           whoever forwards a copy keeps 1/m of them
//   out of a domain          m/k (d - 1) (1 - none((n - m)/(n (d - 1))))
//   above a leaf switch      of that, the share of ranks that lie below others
//
//   8 of 256 experts, 32 ranks in four domains of 8: a token meets 7.27 ranks and 2.71 other domains, where a
//   plain all-to-all sends six copies between domains.
//
// A group that lies unevenly is as slow as its busiest domain. Where the routing is not known every byte goes
// its own way, as in a plain all-to-all.
#pragma once

#include "network/placement.h"
#include "spec/routing.h"

namespace foretrain {

struct RoutedTraffic {
  double inside = 0.0;   // over NVLink, of a rank
  double leaving = 0.0;  // over the NICs, of a domain
  double above = 0.0;    // above one leaf switch, of the ranks below it
};
RoutedTraffic routed_traffic(const Routing& routing, const PlacedGroup& placed);

}  // namespace foretrain
