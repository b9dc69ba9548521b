// What a table of nccl-tests tells of its run where the lines before it are lost, as in a log pasted into a
// document. Both follow from how the tool prints:
//   count   all_gather, reduce_scatter and alltoall count what one rank gives, so size / (count x type) is the
//           number of ranks; the other tests count the whole tensor
//   busbw   is algbw x 2 (n-1)/n for all_reduce and x (n-1)/n for those three, so n = 2 / (2 - busbw/algbw) or
//           1 / (1 - busbw/algbw), within what the printed hundredths leave open
// alltoall prints the same cells as all_gather; the latter is taken. Whoever uses these says that they are
// assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "samples/nccl_row.h"
#include "spec/collective_kind.h"

namespace foretrain {

// None where the rows leave it open.
std::optional<CollectiveKind> inferred_collective(std::span<const NcclRow> rows);

// The numbers of ranks that all telling rows agree with, least to most.
struct RankRange {
  std::int64_t least = 2, most = 0;  // none where least > most
  bool holds(std::int64_t ranks) const { return least <= ranks && ranks <= most; }
};
std::optional<RankRange> inferred_ranks(std::span<const NcclRow> rows, CollectiveKind kind);

// Of a range the number that a cluster would have: the one with the most factors of two.
std::int64_t roundest(const RankRange& range);

}  // namespace foretrain
