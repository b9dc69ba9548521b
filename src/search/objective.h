// What "best" means, and the limits that a plan must keep to.
//   time    the step's seconds
//   money   GPU-seconds of a step (times the price, where it is known): fewer GPUs may win
//   memory  bytes of the worst GPU: the most headroom
//   energy  joules of a step, by the power that costs state: analytic, no meter was read
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "search/problem.h"

namespace foretrain {

enum class Objective : unsigned char { kTime, kMoney, kMemory, kEnergy };
inline constexpr std::array<std::string_view, 4> kObjectiveNames = {"time", "money", "memory", "energy"};

// A plan as far as a search knows it.
struct ScoredPlan {
  std::uint64_t index = 0;  // in its space
  std::int64_t gpus = 0;
  double step = 0;  // seconds
  double peak = 0;  // bytes that must fit, of the worst GPU
  double joules = 0;
  bool exact = true;  // otherwise the step may be kClosedFormError longer (predict/evaluator.h)

  bool operator==(const ScoredPlan&) const = default;
};

inline double key_of(Objective objective, const ScoredPlan& plan) {
  switch (objective) {
    case Objective::kTime:
      return plan.step;
    case Objective::kMoney:
      return plan.step * static_cast<double>(plan.gpus);
    case Objective::kMemory:
      return plan.peak;
    case Objective::kEnergy:
      return plan.joules;
  }
  return plan.step;
}

// Whether `a` comes before `b`. Equal figures: the plan that the space counts first, so that the order does
// not depend on who found it.
bool better(Objective objective, const ScoredPlan& a, const ScoredPlan& b);

// A training takes its steps by their mean, and pauses besides (report/training.h). On N nodes that stall a share s of each
// one's time a step of T takes T v (1 + N s) in the mean, v what steps vary by; so that of a training of n steps, in which P
// is paused, a deadline D leaves T <= (D - P) / (n v (1 + N s)).
struct Limits {
  Bytes memory;                              // of a GPU
  std::optional<double> training_steps;      // of the whole training, where tokens are given
  std::optional<double> deadline_s;          // for it
  std::optional<double> budget_usd;          // likewise
  std::optional<double> usd_per_gpu_second;  // the cluster's price
  double pauses_s = 0;                       // of the whole training
  double stalled = 0;                        // share of its time that a node stalls
  double varied = 1;                         // least mean of steps without stalls, over the undisturbed one
  std::int64_t gpus_per_node = 1;
  std::optional<double> step_s;  // no step is to be longer, whatever the training

  // The longest mean step that the training leaves; infinite without limits.
  Seconds longest_mean(std::int64_t gpus) const;
  // The longest undisturbed step that all this leaves.
  Seconds longest_step(std::int64_t gpus) const;
  // What a step of this length takes in the mean.
  Seconds mean_of(Seconds step, std::int64_t gpus) const;
};

}  // namespace foretrain
