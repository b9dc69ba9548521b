// One plan on its way from parts to a step: what each chunk and each rank brings, the work that they give the
// pipeline, and what the timeline made of it. place() begins it with bytes (place.h), add_times() fills in
// seconds (step_times.h); the buffers are kept from plan to plan.
#pragma once

#include <cstdint>
#include <vector>

#include "job/job.h"
#include "memory/counters.h"
#include "memory/memory.h"
#include "predict/chunk_memo.h"
#include "predict/network_time.h"
#include "segment/segment.h"
#include "timeline/timeline.h"

namespace foretrain {

struct ChunkParts {  // of a node, see timeline/schedule.h
  ChunkCost* cost = nullptr;
  std::size_t first_bucket = 0;
  std::size_t bucket_count = 0;
};

// What a node sends, were nothing beside it: its messages of one micro-batch that keep its rank busy, and its
// gradients' reduction.
struct ChunkTraffic {
  NetworkTime messages;
  NetworkTime reduction;
};

struct StageParts {    // of a rank: all its chunks
  double stretch = 1;  // of its clock, against the reference clock
  ParameterShare share;
  const Segment* optimizer = nullptr;
  StateBytes states;
  MemoryCounters memory;
};

struct Evaluation {
  Job job;
  Placement placement;
  std::int64_t per_chunk = 0;  // micro-batches through each chunk
  Seconds step;
  double spread = 0;
  std::size_t busiest = 0;
  std::size_t worst_stage = 0;
  bool has_times = false;

  PipelineWork pipeline;  // refers to the vectors below
  Timeline timeline;
  std::vector<ChunkParts> chunks;
  std::vector<StageParts> stages;
  std::vector<ChunkLoad> loads;  // by chunk
  std::vector<Bucket> buckets;
  std::vector<StageUpdate> updates;   // by rank
  std::vector<ChunkTraffic> traffic;  // by chunk
  std::vector<NetworkTime> gathers;   // of updated weights, by rank
  NetworkTime exchange;               // of the tied embedding's gradients

  // Of another plan; nothing is known of its step.
  void start(const Job& of);

  std::size_t node(std::size_t rank, std::int64_t chunk) const {
    return static_cast<std::size_t>(placement.node(static_cast<std::int64_t>(rank), chunk));
  }
  double stretch_of(std::size_t node) const {
    return stages[static_cast<std::size_t>(placement.rank(static_cast<std::int64_t>(node)))].stretch;
  }
  // Every pass that runs on a rank, at the reference clock, with how often it does in a step: visit(Segment,
  // times).
  template <class Visit>
  void for_each_pass(std::size_t rank, Visit visit) const {
    for (std::int64_t c = 0; c < placement.chunks; ++c) {
      const std::size_t n = node(rank, c);
      const ChunkCost& cost = *chunks[n].cost;
      const ChunkCounts& counts = timeline.chunks()[n];
      visit(cost.forward, static_cast<double>(per_chunk));
      if (counts.whole > 0) visit(cost.backward, static_cast<double>(counts.whole));
      if (counts.split > 0) visit(cost.input, static_cast<double>(counts.split));
      if (counts.split > 0) visit(cost.weight, static_cast<double>(counts.split));
    }
  }
  // Likewise at the rank's clock: visit(AtClock, times).
  template <class Visit>
  void for_each_segment(std::size_t rank, Visit visit) const {
    for_each_pass(rank, [&](const Segment& segment, double times) {
      visit(AtClock(segment, stages[rank].stretch), times);
    });
  }
};

}  // namespace foretrain
