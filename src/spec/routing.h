// How tokens choose experts, as far as an exchange of them needs it: each of them `top_k` of `experts`, drawn
// without replacement, that lie evenly on a group's ranks. A part of the ranks that holds a share s of the E
// experts has none of a token's k with the chance
//   prod_{i<k} (E - E s - i) / (E - i)
// so that of n equal parts n (1 - that) hold any: 8 of 256 experts on 8 ranks meet 5.29 of them.
//
// Where experts lie in G groups, neighbours, and a token's are taken from L of these (DeepSeek-V3's node-limited
// routing, arXiv 2412.19437: L = 4 of G = 8), the L are drawn first, then k of their E L / G experts. A part with the
// experts of j whole groups has h of the L with the chance of a hypergeometric draw, then none of the k as above
// with s = h / L; a part within a group lies in one of the L with the chance L / G. On 8 ranks a token meets 3.62.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace foretrain {

struct Routing {
  std::int32_t experts = 0;  // 0: not routed, every byte goes its own way
  std::int32_t top_k = 0;
  Bytes row;                     // of one token; zero: unknown
  std::int32_t groups = 0;       // of experts; 0: one
  std::int32_t group_limit = 0;  // of which a token's experts are taken

  bool is_limited() const { return groups > 1 && group_limit > 0 && group_limit < groups; }
  bool is_known() const { return experts > 0 && top_k > 0; }
  bool operator==(const Routing&) const = default;
};

// Of `draws` from `all` without replacement: none of a share.
inline double chance_of_none(double all, double share, std::int32_t draws) {
  const double left = all * (1 - share);
  double chance = 1;
  for (std::int32_t i = 0; i < draws; ++i) chance *= std::max(0.0, left - i) / (all - i);
  return chance;
}

// Of `draws` groups, of `all`, exactly `hit` of `part`.
inline double chance_of_groups(int all, int part, int draws, int hit) {
  if (hit > part || draws - hit > all - part) return 0;
  const auto choose = [](int n, int k) {
    double ways = 1;
    for (int i = 0; i < k; ++i) ways = ways * (n - i) / (i + 1);
    return ways;
  };
  return choose(part, hit) * choose(all - part, draws - hit) / choose(all, draws);
}

inline double chance_of_none(const Routing& routing, double share) {
  const double experts = routing.experts;
  if (!routing.is_limited()) return chance_of_none(experts, share, routing.top_k);
  const int groups = routing.groups, limit = routing.group_limit;
  const double eligible = experts * limit / groups, in_part = share * groups;
  if (in_part <= 1) {
    const double chosen = static_cast<double>(limit) / groups;
    return 1 - chosen * (1 - chance_of_none(eligible, in_part / limit, routing.top_k));
  }
  const int part = std::min(groups, static_cast<int>(std::lround(in_part)));
  double chance = 0;
  for (int hit = 0; hit <= limit; ++hit)
    chance += chance_of_groups(groups, part, limit, hit) *
              chance_of_none(eligible, static_cast<double>(hit) / limit, routing.top_k);
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
