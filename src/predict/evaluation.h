// One plan on its way from parts to a step, phase by phase. Each phase knows what those before it know, and a
// function's argument says which it needs:
//   Dealt      where the plan's chunks lie and what they hold, in bytes (deal.h)
//   Timed      what passes, messages, reductions and updates take (step_times.h)
//   Simulated  the step, and what each rank did in it
// One object serves plan after plan, and keeps its buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "job/job.h"
#include "memory/counters.h"
#include "memory/memory.h"
#include "predict/chunk_memo.h"
#include "predict/network_time.h"
#include "segment/segment.h"
#include "timeline/timeline.h"

namespace foretrain {

struct StageParts {  // of a rank: all its chunks
  ParameterShare share;
  StateBytes states;
  MemoryCounters memory;
  Bytes paged_out;  // of states in unified memory, what does not fit on the GPU beside the rest
};

struct Dealt {
  Job job;
  std::int64_t per_chunk = 0;  // micro-batches through each chunk
  std::size_t worst_stage = 0;
  Bytes host;                      // what a node's own memory holds of activations and states
  std::vector<ChunkCost*> chunks;  // by piece, see job/pipeline.h
  std::vector<StageParts> stages;
  std::vector<ChunkCounts> counts;  // how each chunk's backwards run

  // Of another plan.
  void start(const Job& of);
  // Of a plan that differs from this in what overlaps alone, which changes no byte.
  void overlap_as(const Job& of);

  std::size_t piece(std::size_t rank, std::int64_t chunk) const {
    return static_cast<std::size_t>(job.pipeline.piece(static_cast<std::int64_t>(rank), chunk));
  }

 protected:
  friend void deal_out(const Setting& setting, const Job& job, std::span<const Chunk> layers,
                       const Network& network, ChunkMemo& memo, Dealt& e);
  friend void add_bytes(const Setting& setting, Dealt& e);

  // Of bytes these are complete; seconds are there from the next phase on.
  std::vector<ChunkLoad> loads;  // by chunk
  PipelineWork work;             // refers to vectors of this
  Timeline timeline;
};

struct StagePace {     // of a rank
  double stretch = 1;  // of its clock, against the reference clock
  const Segment* optimizer = nullptr;
};

// Where the buckets of a chunk are.
struct BucketRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// What a piece sends, were nothing beside it: its messages of one micro-batch that keep its rank busy, and its
// gradients' reduction.
struct ChunkTraffic {
  NetworkTime messages;
  NetworkTime reduction;
};

struct Timed : Dealt {
  using Dealt::loads;
  using Dealt::timeline;
  using Dealt::work;
  std::vector<StagePace> paces;  // by rank
  std::vector<Bucket> buckets;
  std::vector<BucketRange> ranges;    // of the buckets, by chunk
  std::vector<StageUpdate> updates;   // by rank
  std::vector<ChunkTraffic> traffic;  // by chunk
  std::vector<NetworkTime> gathers;   // of updated weights, by rank
  NetworkTime exchange;               // of the tied embedding's gradients

  // Of a rank's forwards, and of its backwards, those that run with no other micro-batch's pass beside them though
  // others do: the forwards before the first backward, and as many backwards after the last forward.
  double unpaired(std::size_t rank) const {
    if (!job.choices.experts.hidden) return 0;
    return static_cast<double>(timeline.stages()[rank].in_flight);
  }
  double stretch_of(std::size_t piece) const {
    return paces[static_cast<std::size_t>(job.pipeline.rank(static_cast<std::int64_t>(piece)))].stretch;
  }
  // Every pass that runs on a rank, at the reference clock, with how often it does in a step: visit(Segment,
  // times).
  template <class Visit>
  void for_each_pass(std::size_t rank, Visit visit) const {
    for (std::int64_t c = 0; c < job.pipeline.chunks_per_stage; ++c) {
      const std::size_t n = piece(rank, c);
      const ChunkCost& cost = *chunks[n];
      visit(cost.forward, static_cast<double>(per_chunk));
      if (counts[n].whole > 0) visit(cost.backward, static_cast<double>(counts[n].whole));
      if (counts[n].split > 0) visit(cost.input, static_cast<double>(counts[n].split));
      if (counts[n].split > 0) visit(cost.weight, static_cast<double>(counts[n].split));
    }
  }
  // Likewise at the rank's clock: visit(AtClock, times).
  template <class Visit>
  void for_each_segment(std::size_t rank, Visit visit) const {
    for_each_pass(rank, [&](const Segment& segment, double times) {
      visit(AtClock(segment, paces[rank].stretch), times);
    });
  }
};

struct Simulated : Timed {
  Seconds step;
  std::size_t busiest = 0;  // of the stages

  std::span<const StageTimes> times() const { return timeline.stages(); }
};

// Simulates a plan of which all times are known.
void simulate(Simulated& e);

}  // namespace foretrain
