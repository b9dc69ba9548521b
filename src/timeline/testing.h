// What the tests of this folder share.
#pragma once

#include "timeline/timeline.h"

namespace foretrain {

inline PipelineShape shape_of(ScheduleKind kind, std::int64_t ranks, std::int64_t vpp,
                              std::int64_t micro_batches) {
  return {ranks, chunks_per_rank(kind, vpp), runs_both_ways(kind) ? micro_batches / 2 : micro_batches};
}

// Equal chunks of these times; a whole backward is its two halves.
inline std::vector<ChunkLoad> equal_chunks(ScheduleKind kind, std::int64_t ranks, std::int64_t vpp,
                                           double forward, double input, double weight) {
  ChunkLoad load;
  load.forward = Seconds(forward);
  load.input = Seconds(input);
  load.weight = Seconds(weight);
  load.backward = load.input + load.weight;
  return std::vector<ChunkLoad>(static_cast<std::size_t>(ranks * chunks_per_rank(kind, vpp)), load);
}

inline PipelineWork work_of(ScheduleKind kind, const std::vector<ChunkLoad>& chunks, std::int64_t vpp,
                            std::int64_t micro_batches, bool blocking = true) {
  PipelineWork work;
  work.chunks = chunks;
  work.chunks_per_rank = chunks_per_rank(kind, vpp);
  work.micro_batches = micro_batches;
  work.schedule = kind;
  work.blocking_sends = blocking;
  return work;
}

}  // namespace foretrain
