// What one pipeline rank does from the beginning of a step to its end: spans that follow one another without
// a gap. What runs beside passes (a reduction, a message that does not block) is a span only where the rank
// has no passes left and waits for it.
//
//   F0 F1 F2 wait for gradient B0 send B1 ... gradient reduce, wait for stages, optimizer
#pragma once

#include <string_view>
#include <vector>

#include "trace/trace_index.h"

namespace foretrain {

// What a rank waits for where nothing runs.
enum class Wait : unsigned char {
  kNone,
  kActivation,  // a forward, for the chunk before it
  kGradient,    // a backward, for the chunk after it
  kStages,      // its part is done; other ranks', which the update waits for, are not
};

struct Span {
  Wait wait = Wait::kNone;
  std::int32_t event = -1;  // of the trace; of a wait: what comes after it, -1 at the end
  Seconds start;
  Seconds end;

  Seconds length() const { return end - start; }
};

// Spans of a thousand-millionth of the step are rounding, and left out.
std::vector<Span> spans_of(const StepTrace& trace, const TraceIndex& index, std::int64_t rank);

// A rank's spans summed: the step.
struct RankTime {
  Seconds passes;
  Seconds messages;
  Seconds wait_activation;
  Seconds wait_gradient;
  Seconds reduce;
  Seconds exchange;
  Seconds wait_stages;  // and the gradient norm
  Seconds optimizer;
  Seconds gather;
};
RankTime rank_time(const StepTrace& trace, const std::vector<Span>& spans);

std::string_view name(Wait wait);  // "wait for activation"

// The share of the pipeline's time, until the last rank has ended its passes, in which ranks are idle: 1
// minus what they are busy over what they could be. Equal stages under 1f1b without messages: (p-1)/(m+p-1).
double bubble_fraction(const Prediction& prediction);

}  // namespace foretrain
