// What a task takes of the GPU and of the host, looked up once for all equal layers of a pass: operators by their costs,
// collectives by the network, what is captured in a CUDA graph as that runs it. And what a pass takes at least, which is
// a sum of these.
#pragma once

#include <span>
#include <vector>

#include "job/weight_class.h"
#include "segment/segment.h"

namespace foretrain {

struct PricedTask {
  const Task* task = nullptr;
  Seconds gpu;
  Seconds host;
  double spread = 0;
  Origin origin = Origin::kAnalytic;
  std::int64_t launches = 0;
  double clocked_share = 0;  // of gpu
  double fixed_joules = 0, clocked_joules = 0;
  double held_share = 0;  // of the SMs, by an exchange of tokens
  bool on_data_stream = false;
};

class TaskPrices {
 public:
  TaskPrices(const CostSource& costs, const Network& network, Seconds launch_cost)
      : costs_(costs), network_(network), launch_cost_(launch_cost) {}

  PricedTask of(const Task& task) const;

 private:
  Seconds host_of(const Operator& op, Seconds sampled) const;

  const CostSource& costs_;
  const Network& network_;
  Seconds launch_cost_;
};

// A pass with the price of each of its tasks, to be laid out any number of times: from one lead of the host and from
// another. Refers to the pass.
class PricedPass {
 public:
  PricedPass(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost);

  struct Unit {
    std::int64_t count = 1;
    bool is_layer = false;
    bool host_work = false;               // nothing else: what the host does before or after the units
    std::span<const PricedTask> gathers;  // one for each class of weights, in front
    std::span<const PricedTask> work;
  };
  std::span<const Unit> units() const { return units_; }
  Seconds launch_cost() const { return launch_cost_; }
  double beside_scale() const { return beside_scale_; }
  // Shards stay inside a domain: the NICs are left to replicas.
  bool replicas_apart(WeightClass weights) const { return replicas_apart_[weights]; }

 private:
  std::vector<PricedTask> tasks_;
  std::vector<Unit> units_;
  Seconds launch_cost_;
  double beside_scale_;
  ByClass<bool> replicas_apart_;
};

Segment lay_out(const PricedPass& pass, Seconds lead);

}  // namespace foretrain
