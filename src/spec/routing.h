// How tokens choose experts, as far as an exchange of them needs it: each of them `top_k` of `experts`, drawn
// without replacement, that lie evenly on a group's ranks. A part of the ranks that holds a share s of the E
// experts has none of a token's k with the chance
//   prod_{i<k} (E - E s - i) / (E - i)
// so that of n equal parts n (1 - that) hold any: 8 of 256 experts on 8 ranks meet 5.29 of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace foretrain {

struct Routing {
  std::int32_t experts = 0;  // 0: not routed, every byte goes its own way
  std::int32_t top_k = 0;
  Bytes row;  // of one token; zero: unknown

  bool is_known() const { return experts > 0 && top_k > 0; }
  bool operator==(const Routing&) const = default;
};

inline double chance_of_none(const Routing& routing, double share) {
  const double experts = routing.experts, left = experts * (1 - share);
  double chance = 1;
  for (std::int32_t i = 0; i < routing.top_k; ++i) chance *= std::max(0.0, left - i) / (experts - i);
  return chance;
}

// How many of `parts` equal parts, each with `share` of the experts, hold any of a token's.
inline double parts_reached(const Routing& routing, double parts, double share) {
  return parts * (1 - chance_of_none(routing, share));
}

// Of `bytes` that a plain all-to-all would send, those of one copy to each of `parts` equal parts (ranks,
// domains) that holds any of a token's experts.
inline Bytes copied_bytes(Bytes bytes, const Routing& routing, double parts) {
  if (!routing.is_known()) return bytes;
  return bytes * (parts_reached(routing, parts, 1 / parts) / routing.top_k);
}

}  // namespace foretrain
