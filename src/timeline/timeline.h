// One training step across pipeline stages: an exact simulation of a schedule over unequal stages. It knows
// seconds and bytes, not what they mean.
//
// A stage runs its passes in the schedule's order. A forward waits for the message of the stage before it, a
// backward for that of the stage after it; a pass ends, its message leaves, and where sends block the stage
// is busy until the message has arrived. Where they do not, messages of one direction between two stages
// follow one another. After its last backward a stage reduces its gradients (in buckets that may start while
// that backward still runs), first and last stage exchange shared embeddings' gradients, all stages meet (the
// gradient norm is global), then each updates and gathers its weights.
//
// Equal stages without messages cost (m + p - 1)(f + b): the test holds it exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "spec/plan.h"

namespace foretrain {

// A share of the gradients, complete `ready_before_end` before the last backward ends (at the earliest when
// that backward starts: until then every micro-batch adds to it).
struct Bucket {
  Seconds ready_before_end;
  Seconds seconds;
};

struct StageWork {
  Seconds forward;
  Seconds backward;
  Seconds send_forward;             // one message to the next stage; not used by the last
  Seconds send_backward;            // to the stage before; not used by the first
  Bytes held;                       // kept by one forward until its backward ends
  Bytes forward_extra;              // above that, while a forward runs
  Bytes backward_extra;             // likewise a backward
  std::span<const Bucket> buckets;  // in the order in which they are reduced
  Seconds optimizer;
  Seconds gather;
};

struct PipelineWork {
  std::span<const StageWork> stages;
  std::int64_t micro_batches = 1;
  ScheduleKind schedule = ScheduleKind::k1f1b;
  bool blocking_sends = true;
  Seconds embedding_exchange;  // between first and last stage; zero: none, nor with one stage
  Seconds meet;  // the global reduction; all stages wait for each other even if it takes no time
};

enum class EventKind : unsigned char {
  kForward,
  kBackward,
  kSend,
  kReduce,
  kExchange,
  kMeet,
  kOptimizer,
  kGather
};

struct Event {
  std::int64_t stage = 0;
  EventKind kind = EventKind::kForward;
  std::int64_t micro_batch = 0;  // of a reduce: which bucket; after that 0
  Seconds start;
  Seconds end;
};

struct StageTimes {
  Seconds compute;       // in forwards and backwards
  Seconds sending;       // blocked by its own sends
  Seconds pipeline_end;  // its last backward (and that one's send) is over
  Seconds reduce_end;
  Seconds exchange;  // waiting for and taking part in the exchange of shared embeddings
  Seconds end;
  Bytes peak;                  // largest sum of held and extra bytes
  std::int64_t in_flight = 0;  // most micro-batches held at once
};

// Its buffers are a few words a stage, whatever the number of micro-batches, and are reused from call to
// call: no allocation once it has seen the most stages.
class Timeline {
 public:
  // The step's length. `stages` describes the run until the next call. `events`, where given, is emptied and
  // filled: every pass, and everything else that takes time, causes before effects.
  Seconds simulate(const PipelineWork& work, std::vector<Event>* events = nullptr);
  std::span<const StageTimes> stages() const { return stages_; }

 private:
  // One stage while passes run: what it takes, and how far it has come. Plain doubles, in seconds.
  struct Cursor {
    double forward = 0.0;
    double backward = 0.0;
    double send_forward = 0.0;
    double send_backward = 0.0;
    double free = 0.0;            // when the stage can start its next pass
    double activation = 0.0;      // when the next forward's message has arrived
    double gradient = 0.0;        // likewise the next backward's
    double link_forward = 0.0;    // when the last message to the next stage has arrived
    double link_backward = 0.0;   // likewise to the stage before
    double backward_start = 0.0;  // of the latest backward
    std::int64_t forwards = 0;    // so far; counted for events only
    std::int64_t backwards = 0;
  };

  template <bool kBlocking, bool kRecord>
  class Pipeline;
  template <bool kBlocking, bool kRecord>
  void run_passes(const PipelineWork& work, std::vector<Event>* events);
  void load(const PipelineWork& work);
  void reduce_gradients(const PipelineWork& work, std::vector<Event>* events);
  Seconds meet_and_update(const PipelineWork& work, std::vector<Event>* events);

  std::vector<StageTimes> stages_;
  std::vector<Cursor> cursors_;  // with one before the first and one after the last stage, to send into
};

}  // namespace foretrain
