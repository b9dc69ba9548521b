// One step as the timeline ran it, with what its passes are made of: what every view of a step listens to
// (src/trace). Recorded only for who asks (Evaluator::predict), as it takes memory by the pass.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/memory.h"
#include "segment/segment.h"
#include "timeline/schedule.h"
#include "timeline/work.h"

namespace foretrain {

// A chunk of the model: what each pass is made of, by kind of pass (forward, backward, input, weight), and
// the bytes that it holds (see ChunkLoad).
struct TracedChunk {
  std::array<std::array<Seconds, kCauseCount>, 4> by_cause{};
  Bytes held;
  Bytes held_for_weight;
  Bytes forward_extra;  // while the pass runs, above what is held then
  Bytes backward_extra;
  Bytes input_extra;
  Bytes weight_extra;
};

struct StepTrace {
  Pipeline pipeline;
  std::int64_t micro_batches = 0;
  bool blocking_sends = true;  // a rank can do nothing else meanwhile
  Seconds step;                // ends with the last event; equal to the prediction's but for rounding
  std::vector<Event> events;   // causes before effects
  std::vector<TracedChunk> chunks;
  std::vector<StateBytes> states;  // by rank
  bool lazy_gradients = false;     // there from the only backward on

  std::int64_t piece(const Event& event) const { return pipeline.piece(event.stage, event.chunk); }
};

}  // namespace foretrain
