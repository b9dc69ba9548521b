// One pass laid out over its streams and the host's queue.
//
// The host issues tasks in order, the GPU runs them in order:
//   start_k = max(host_issue_k, gpu_end_{k-1})
// so a host that runs ahead leaves no gaps, and a slow one shows as idle GPU. The lead is carried from
// operator to operator and from layer to layer (and, unless something drains it, from pass to pass); a
// synchronisation sets the host back to the GPU, and where it reads what kernels make the two take turns: their
// seconds add up. The launch queue holds kQueueDepth kernels: the host cannot
// run further ahead. A collective that does not block runs on a stream of its own, beside the work of the
// other direction (a gather for W beside B, a sum of what B made beside W), and both slow down; its own waits
// for it.
//
// Under ZeRO 2 and 3 a pass is a row of units (blocks, the ends of the model), each with a gather of its
// weights before its work or a scatter of its gradients after it. These have a stream of their own, first
// come first served: they share the links; but sums over replicas go beside them where only these leave the
// node. A prefetched gather is issued when the work of the unit before it begins (or, of Prefetch::kAfter,
// ends), any other when its own unit begins; the unit's work waits for it. The pass ends when the stream is
// empty. While it is not, compute and collective slow each other down (contention.h). With n equal units of
// work c and gathers g, prefetched, without the slow-down,
//   g + n c where g <= c,     n g + c where g >= c.
//
// Equal layers settle into a period: once two layers in a row take the same time, the rest is added up.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/estimate.h"
#include "cost/cost.h"
#include "network/network.h"
#include "workload/pass.h"

namespace foretrain {

inline constexpr std::int64_t kQueueDepth = 1024;

// What a call into autograd takes the host, in launches. On our H200's host, where a launch takes 6 us,
// sampled backwards take 52 us and 16 to 20 us a kernel (gelu: 68 us of one kernel, 232 us of eleven;
// rmsnorm: 331 us of 17).
inline constexpr double kAutogradLaunches = 8.7;

// What a CUDA graph takes the host, in launches, forward and backward: the call that stands for a part of a layer
// (torch.cuda.make_graphed_callables), and its replay. On our H200's host, where a launch takes 7.5 us, a norm with an
// MLP takes 286 us forward and 525 us backward without a graph; with one 74 us and 199 us, of which the copy of what it
// reads (a launch) and the call into autograd (kAutogradLaunches) are counted elsewhere.
inline constexpr std::array<double, 2> kGraphLaunches = {9, 17};
// Of a graph of a whole step, its replay alone: 4.4 us to 7.9 us of 200 to 2000 kernels, which is 2 ns each (NVIDIA's
// blog "Constant Time Launch for Straight-Line CUDA Graphs" has 2.5 us and 1 ns).
inline constexpr double kStepGraphLaunches = 1;
// How much sooner a kernel of a graph starts after the one before it: small kernels in a row take 1.89 us each from the
// stream, 1.39 us from a graph (H200, 400 of them). Nothing gets faster by more than that share.
inline constexpr Seconds kGraphGap = microseconds(0.5);
inline constexpr double kGraphFloor = 1.39 / 1.89;

enum class Cause : unsigned char {
  kForward,
  kBackward,
  kRecompute,
  kTensorParallel,
  kExpertParallel,
  kContextParallel,
  kDataParallel,
  kLaunch,
};
inline constexpr int kCauseCount = 8;

// Of a segment's seconds, what follows the clock, and what the GPU's power goes into (cost/governor.h).
struct ClockedPart {
  std::array<Seconds, kCauseCount> by_cause{};
  std::array<Seconds, kOperatorKindCount> by_operator{};
  std::array<Seconds, kOriginCount> by_origin{};
  double fixed_joules = 0;  // operators and collectives, with static power
  double clocked_joules = 0;
};

// At the reference clock; see at_clock().
struct Segment {
  Seconds duration;
  std::array<Seconds, kCauseCount> by_cause{};  // sums to duration
  std::array<Seconds, kOperatorKindCount> by_operator{};
  std::array<Seconds, kOriginCount> by_origin{};        // operators and collectives
  std::array<Seconds, kOperatorKindCount> uncertain{};  // seconds times spread, by kind
  Seconds uncertain_collectives;
  // Of the duration, what the host took: from where it was free to run ahead to the last kernel that waited for its
  // launch. A host that is slower by a tenth makes the pass longer by a tenth of this.
  Seconds host_bound;
  Seconds lead;  // of the host over the GPU when the pass ends
  // Layer by layer: its weight gradients are complete this long before the end.
  std::vector<Seconds> ready_before_end;
  ClockedPart clocked;
};

// A segment's seconds at a clock, `stretch` times slower than the reference clock. Work that follows the
// clock takes longer, all else stays as it was laid out; where the host is the bottleneck (it has no lead
// when the pass ends), longer work fills gaps first.
class AtClock {
 public:
  AtClock(const Segment& segment, double stretch);

  Seconds duration() const { return segment_.duration + longer_ - filled_; }
  Seconds by_cause(std::size_t cause) const;
  Seconds by_operator(std::size_t kind) const {
    return segment_.by_operator[kind] + segment_.clocked.by_operator[kind] * more_;
  }
  Seconds by_origin(std::size_t origin) const {
    return segment_.by_origin[origin] + segment_.clocked.by_origin[origin] * more_;
  }
  Seconds uncertain(std::size_t kind) const {
    const Seconds before = segment_.by_operator[kind];
    return before > Seconds(0) ? segment_.uncertain[kind] * (by_operator(kind) / before) : before;
  }
  Seconds host_bound() const { return std::min(segment_.host_bound, duration()); }
  Seconds uncertain_collectives() const { return segment_.uncertain_collectives; }
  // Of operators and collectives while they run, at the power that their costs state.
  double joules(const PowerModel* power) const;
  // Of what lies before the end of the pass.
  double longer() const { return segment_.duration > Seconds(0) ? duration() / segment_.duration : 1.0; }

 private:
  const Segment& segment_;
  double more_;  // stretch - 1
  Seconds longer_, filled_;
};

// Adds `times` of a segment to what a governor looks at.
void add(PowerLoad& load, const Segment& segment, double times);

// What a pass takes at least, however its streams lie beside each other: operators and the exchanges that stop them
// one after another; and all exchanges between operators, which have one stream. The duration is not less than
// either. Collectives over data-parallel ranks are left out. Sums over tasks, so those of equal layers add up; what
// follows the clock and what is drawn are the same however the streams lie.
struct PassLeast {
  Seconds work;
  Seconds operators;  // of it
  Seconds exchanges;
  Seconds clocked;
  double fixed_joules = 0;
  double clocked_joules = 0;
};
PassLeast least(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost);

Segment lay_out(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost,
                Seconds lead);

}  // namespace foretrain
