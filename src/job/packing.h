// Which keys a query sees, as work: attention kernels go through tiles of 128 queries and 128 keys, and skip
// those that a mask leaves nothing of. A document of n = ceil(l / 128) rows of tiles has, in a window of w keys
// (none: as wide as the document), t = ceil((w - 1) / 128) + 1 tiles in a row at most, and
//   sum over its rows i = 1 .. n of min(i, t)
// in all: n (n + 1) / 2 without a window; two a row, but for the first, in a window of 128. Over all documents of a
// sequence that gives the keys of a query in whole tiles, K, in the mean. A causal sequence of s tokens has
// K = (s + 128) / 2; so the work is that of causal sequences of
//   span = 2 K - 128
// tokens, of which there are as many tokens (operators/attention.h). A sequence in one piece spans itself.
//
// Random documents of a mean length are taken to be exponential, cut to the sequence: lengths of real ones spread
// at least as far as their mean, and the mean alone says no more (mean square 2 m^2). Then ranks differ. With n
// documents a rank and step, the sum of their squares deviates by 1/sqrt(n) of itself (Greenwood's statistic: the
// sum of squares of uniform spacings; Moran 1947), and the largest of d ranks lies sqrt(2 ln d) deviations above
// the mean, as the others wait for it:
//   imbalance = 1 + sqrt(2 ln d / n)
#pragma once

#include <array>
#include <cstdint>

#include "spec/documents.h"
#include "spec/model.h"

namespace foretrain {

// Windows of one model that differ, with those layers that have none, where sequences are packed.
inline constexpr std::size_t kMostWindows = 4;

// Tiles of one document; window 0: none.
double attention_tiles(std::int64_t length, std::int64_t window);

// Of sequences in one piece.
std::int64_t window_span(std::int64_t window, std::int64_t seq);

// Pairs of a query and a key that it sees, in one document; window 0: none.
double attention_pairs(std::int64_t length, std::int64_t window);

// What documents make of a model's sequences. Nothing where none are stated.
struct Packing {
  std::array<double, kMostWindows>
      keys{};  // of a query in whole tiles, by window (place_of); 0: no documents
  std::array<double, kMostWindows> seen{};  // the same without what tiles jut out
  double random = 0;                        // random documents in a sequence; 0: all sequences are alike

  bool operator==(const Packing&) const = default;
};
Packing packing_of(const Model& model, const Documents& documents, std::int64_t seq);

// The place of a window among those of a model, kMostWindows or more: there are too many.
std::size_t place_of(const Model& model, std::int64_t window);

// Attention of the rank with the longest documents over the mean, where nobody states it; `ranks` wait for one
// another.
double usual_document_imbalance(const Packing& packing, double sequences_a_rank, std::int64_t ranks);

// Spans by window, of the fullest rank; 0: no documents.
using AttentionSpans = std::array<std::int64_t, kMostWindows>;
AttentionSpans attention_spans(const Packing& packing, double imbalance, std::int64_t seq);

// Of the work that a span of tiles stands for, the share that the model defines: neither what the fullest rank has
// more than the mean nor what its tiles jut out. 1 where the span is no window's.
double useful_span_share(const Model& model, const Packing& packing, const AttentionSpans& spans,
                         std::int64_t seq, std::int64_t span);

}  // namespace foretrain
