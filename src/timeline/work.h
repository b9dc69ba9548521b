// What a pipeline has to do in one step, in seconds and bytes, and what of it happened when. The timeline
// knows no more of it.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "job/pipeline.h"
#include "spec/operator_kind.h"
#include "spec/schedule_kind.h"

namespace foretrain {

// A share of the gradients, complete `ready_before_end` before the end of the last pass that adds to it (at
// the earliest when that pass starts: until then every micro-batch adds to it).
struct Bucket {
  Seconds ready_before_end;
  Seconds seconds;
};

// The passes of one chunk for one micro-batch. A schedule that splits the backward runs `input` and `weight`
// instead of `backward`, at least at times.
//
// Bytes: a forward keeps `held` until the backward (whole, or to inputs) ends. A backward to inputs then
// keeps `held_for_weight` until the backward to weights ends: what products were fed, and the gradients that
// came back to them. Where it is recomputed, this may be more than `held`.
struct ChunkLoad {
  Seconds forward;
  Seconds backward;
  Seconds input;
  Seconds weight;
  Seconds send_forward;   // one message to the next chunk; not used by the last
  Seconds send_backward;  // to the chunk before; not used by the first
  Bytes held;
  Bytes held_for_weight;
  Bytes forward_extra;              // above what is held, while a forward runs
  Bytes backward_extra;             // likewise a backward, whole or to inputs
  Bytes weight_extra;               // likewise a backward to weights
  Bytes backward_end;               // above what is left when a backward, whole or to weights, ends
  std::span<const Bucket> buckets;  // in the order in which they are reduced
};

// What a rank does when its gradients are reduced.
struct StageUpdate {
  Seconds optimizer;
  Seconds gather;
};

struct PipelineWork {
  std::span<const ChunkLoad> chunks;     // in the model's order (of dualpipe: of each copy's)
  std::span<const StageUpdate> updates;  // rank by rank; none: nothing to do
  std::int64_t chunks_per_rank = 1;
  std::int64_t micro_batches = 1;
  ScheduleKind schedule = ScheduleKind::k1f1b;
  bool blocking_sends = true;      // a rank is busy until its message has gone over
  bool blocking_receives = false;  // and with them: likewise the rank that takes it, once it is ready to
  bool reduce_beside = true;       // buckets may start while passes run; otherwise when a rank's last is over
  Seconds embedding_exchange;      // between first and last rank; zero: none, nor with one rank
  Seconds meet;  // the global reduction; all ranks wait for each other even if it takes no time

  Pipeline pipeline() const { return {schedule, ranks(), chunks_per_rank}; }
  std::int64_t ranks() const { return static_cast<std::int64_t>(chunks.size()) / chunks_per_rank; }
  std::int64_t micro_batches_per_chunk() const { return pipeline().through_each(micro_batches); }
};

enum class EventKind : unsigned char {
  kForward,
  kBackward,
  kInput,   // a backward to inputs alone
  kWeight,  // and to weights
  kSend,
  kReduce,
  kExchange,
  kMeet,
  kOptimizer,
  kGather,
  kReceive  // by a rank that can do nothing else meanwhile
};

struct Event {
  std::int64_t stage = 0;  // the pipeline rank
  EventKind kind = EventKind::kForward;
  std::int64_t micro_batch = 0;  // of a reduce: which bucket; after that 0
  Seconds start;
  Seconds end;
  std::int64_t chunk = 0;  // on that rank
};

// When a rank holds the most: in which pass, and what it holds for others beside it.
struct PeakMoment {
  PassKind pass = PassKind::kForward;
  std::int64_t piece = 0;
  bool at_end = false;  // when the pass has let go of what it was kept for
};

struct StageTimes {
  Seconds compute;       // in passes
  Seconds sending;       // blocked by its own sends, and by receives that block
  Seconds pipeline_end;  // its last pass (and that one's send) is over
  Seconds reduce_end;
  Seconds exchange;  // of shared embeddings, without the wait for the other end
  Seconds end;
  Bytes peak;  // largest sum of held and extra bytes
  PeakMoment moment;
  // Most micro-batches held at once for a backward to inputs, each chunk's counted.
  std::int64_t in_flight = 0;
};

// How a chunk's backwards ran.
struct ChunkCounts {
  std::int64_t whole = 0;
  std::int64_t split = 0;

  bool operator==(const ChunkCounts&) const = default;
};

}  // namespace foretrain
