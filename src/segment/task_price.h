// What a task takes of the GPU and of the host, looked up once for all equal layers of a pass: operators by their costs,
// collectives by the network, what is captured in a CUDA graph as that runs it. And what a pass takes at least, which is
// a sum of these.
#pragma once

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

}  // namespace foretrain
