// Which collective samples cannot be true, and why. Cleaning looks at one layout at a time ("all_gather
// 4x2"), never at a prediction nor at a name. The reasons:
//   duplicate   a row that stood before: a time of over seven digits, or half of its source's rows again
//   impossible  faster, by over a twentieth, than the links can carry what a rank or a node must receive
//               (least_time below)
//   flat        a time that a tenth of the rows share within 2 %, over a range of sizes of 1.25 or more,
//               while the median of the others up to those sizes is twice as long or more: nothing was moved
//   slow mode   above the mode, where a twentieth of the source lies above it by a factor of two or more:
//               ranks that waited for others, a busy link. The faster mode is kept
//   fast mode   likewise below it: repeats that did nothing were averaged in. The slower mode is kept
//   outlier     off the mode, where those of a source are few (under ten, or under a twentieth) or it lies
//               off by a factor of two. Many that lie off by less are the noise of a link, and stay
//   distrusted  the rest of a layout of which over 30 % was impossible or flat, where the rest disagree too:
//               fewer than eight are left, or over a fifth of them lie off the mode
//
// The mode is the line of time over size on which most rows lie (samples/collective_mode.h). A row lies off
// it beyond a factor of 1.2, or five times the mode's scatter where that is more; half as far for the first
// row of a source, which may have paid for warming up. Rows that agree with the six next larger or smaller
// ones are a step (another algorithm or protocol), and stay. Where fewer than 16 rows lie around a size (a
// sweep by factors of two), a row is an outlier at a factor of 1.75 from what its neighbours let expect.
// Costs n log n.
#pragma once

#include <string>
#include <vector>

#include "samples/collective_sample.h"

namespace foretrain {

// What links can carry at the very most, one way; 0 where it is not known, and then nothing is impossible.
struct LinkBounds {
  BytesPerSecond of_rank;         // all of a GPU's links within the node (or NVLink domain) together
  BytesPerSecond of_node;         // all of a node's NICs together
  std::int64_t domain_nodes = 1;  // nodes that NVLink joins
};

// The least that a collective can take, whatever the algorithm, reduction in the switch included: inside one
// NVLink domain what a rank must send or receive, over several what a domain must.
//   all_reduce, broadcast, send_receive   bytes
//   all_gather, reduce_scatter            bytes (p - 1) / p, p the ranks of the one domain, or the domains
//   all_to_all                            the same, over several domains times the ranks in one
//   dispatch, combine                     of that, the copies to distinct ranks or domains (spec/routing.h)
Seconds least_time(const CollectiveSample& sample, const LinkBounds& bounds);

struct CollectiveRejection {
  std::string layout;  // layout_label: "all_gather 4x2"
  std::string source;
  std::string reason;  // one of the words above
  std::size_t count = 0;
  std::size_t group = 0;  // samples of this layout and source, rejected or not
  std::string example;    // the first rejected row in words: "268435456 bytes: 117 us"
};

struct CollectiveCleanResult {
  std::vector<CollectiveSample> kept;           // in their order
  std::vector<CollectiveSample> rejected;       // likewise
  std::vector<CollectiveRejection> rejections;  // by layout and source in order of appearance, then by reason
};

CollectiveCleanResult clean(std::vector<CollectiveSample> samples, const LinkBounds& bounds);

// A table for people: layout, how many of how many, reason, example, source; empty where nothing was
// rejected.
std::string rejections_text(const std::vector<CollectiveRejection>& rejections);

}  // namespace foretrain
