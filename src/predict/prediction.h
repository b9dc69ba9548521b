// What a run will do: its step, its memory, where the time goes, and how sure that is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/estimate.h"
#include "base/units.h"
#include "memory/counters.h"
#include "memory/memory.h"
#include "predict/jitter.h"
#include "spec/operator_kind.h"
#include "spec/plan.h"
#include "spec/stack.h"
#include "timeline/work.h"

namespace foretrain {

// Where a step's seconds go, on the stage that is busy longest. The shares sum to the step.
enum class StepCause : unsigned char {
  kForward,
  kBackward,
  kRecompute,
  kTensorParallel,
  kExpertParallel,   // waits for tokens on their way
  kContextParallel,  // waits for keys and values, and work that they slow down
  kDataParallel,     // waits for gathers and scatters inside passes, and work that they slow down
  kLaunch,
  kPipelineSend,
  kBubble,
  kGradientReduce,
  kEmbeddingExchange,
  kStageWait,
  kOptimizer,
  kParameterGather,
};
inline constexpr int kStepCauseCount = 15;
inline constexpr std::array<std::string_view, kStepCauseCount> kStepCauseNames = {
    "forward",          "backward",           "recompute",  "tensor_parallel", "expert_parallel",
    "context_parallel", "data_parallel",      "launch",     "pipeline_send",   "bubble",
    "gradient_reduce",  "embedding_exchange", "stage_wait", "optimizer",       "parameter_gather"};
constexpr std::string_view name(StepCause cause) { return kStepCauseNames[static_cast<int>(cause)]; }

struct StagePrediction {
  std::int64_t layers = 0;
  std::int64_t parameters = 0;  // on one rank
  std::int64_t trained = 0;     // of these
  Seconds forward;              // one micro-batch through all its chunks
  Seconds backward;
  Seconds busy;                     // in passes and sends
  Seconds idle;                     // while the pipeline runs
  std::optional<double> clock_mhz;  // at which it settles; none: the costs do not know what power does
  std::int64_t in_flight = 0;       // most micro-batches held at once; with several chunks, of a chunk each
  StateBytes states;
  Bytes activations;  // held for backwards at the peak of the passes, and what the pass at the peak uses
  // What `activations` consists of:
  std::array<Bytes, kOperatorKindCount> saved{};  // by the operator that keeps it
  Bytes waiting;                                  // kept for backwards to weights
  Bytes gathered;                                 // weights and gradients of units (ZeRO 2 and 3)
  Bytes shared_buffers;                           // that sp gathers into
  Bytes working;                                  // the rest: what the pass at the peak makes and takes
  PeakMoment moment;                              // of the passes
  bool peak_in_step = false;                      // allocated is largest in the optimizer's step
  Bytes paged_out;                                // of states in unified memory, what lies in the host's
  MemoryCounters memory;
};

// Where a step's uncertainty comes from, in seconds: a deviation each. Errors of one source go together,
// whichever plan they are in; those of different sources do not (uncertainty.h).
struct Uncertainty {
  std::array<Seconds, kOperatorKindCount> operators{};
  Seconds collectives;  // inside passes
  Seconds launches;
  Seconds routing;  // of experts' products and exchanges, where it is not stated
  Seconds sends;
  Seconds reductions;    // of gradients (tied embeddings' too), and gathers of weights
  bool one_gpu = false;  // then no rank waits for another
  // What all parts have in common (uncertainty.h): shares of the step's seconds that were carried over from other
  // hardware, and that follow from datasheets alone; how well the stack is known.
  double derived = 0;
  double analytic = 0;
  Described described = Described::kMeasured;
  // In every step torch's allocator has to give back segments that it would keep, which can only make the step longer.
  bool retries = false;
};

// What a search keeps of a plan.
struct Score {
  Seconds step;
  double spread = 0.0;
  Bytes peak;    // of the worst stage, as nvidia-smi counts
  Bytes needed;  // of it, what must fit
  bool fits = false;

  bool operator==(const Score&) const = default;
};

// What a table of many plans tells of each.
struct PlanEstimate {
  Estimate step;  // seconds; undisturbed
  Bytes needed;   // what must fit
  double fit_probability = 0;
};

// A plan near one that does not fit, and does.
struct FittingPlan {
  Plan plan;
  Score score;
  double fit_probability = 0;
};

struct Prediction {
  Estimate step;                           // seconds; undisturbed
  Seconds typical;                         // median where a cluster's jitter is known, else the same
  std::optional<StepDistribution> jitter;  // where it is known
  Seconds mean() const { return jitter ? jitter->mean : typical; }
  double tokens_per_s_per_gpu = 0;
  double mfu = 0;  // products and causal attention, forward and backward without recomputation
  std::int64_t params = 0;
  bool frozen = false;       // adapters alone are trained,
  std::int64_t trained = 0;  // so many numbers of the whole model's; of all training the parameters
  Bytes loading;             // most on a GPU while weights are loaded, where they stay frozen; else 0
  bool fits = false;
  double fit_probability = 0;
  Bytes usable;
  std::int64_t worst_stage = 0;  // needs the most
  Bytes needed;                  // of it: what must fit
  Bytes host;                    // of a node's own memory, filled with activations; 0: none are offloaded
  Bytes peak;                    // the three counters of it
  Bytes peak_reserved;
  Bytes peak_allocated;
  std::array<Seconds, kStepCauseCount> breakdown{};
  std::array<Seconds, kOperatorKindCount> operators{};  // on the busiest stage, whole step
  std::array<double, kOriginCount> origin_shares{};
  Uncertainty uncertain;
  std::int64_t busiest_stage = 0;
  std::vector<StagePrediction> stages;
  std::vector<std::string> assumed;
  std::vector<FittingPlan> would_fit;  // where the plan does not, see search/nearest.h

  Score score() const { return {Seconds(step.value), step.spread, peak, needed, fits}; }
};

}  // namespace foretrain
