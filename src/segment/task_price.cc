#include "segment/task_price.h"

#include <algorithm>

#include "operators/description.h"

namespace foretrain {
namespace {

Seconds in_graph(Seconds gpu, std::int64_t launches) {
  return std::max(gpu - kGraphGap * static_cast<double>(launches), gpu * kGraphFloor);
}

}  // namespace

// A sampled backward holds a call into autograd of its own; a pass makes one for all.
Seconds TaskPrices::host_of(const Operator& op, Seconds sampled) const {
  if (op.pass != PassKind::kBackward || description(op.kind).sampled_without_autograd) return sampled;
  const Seconds launches = launch_cost_ * static_cast<double>(op.launches);
  return std::max(sampled - launch_cost_ * kAutogradLaunches, std::min(sampled, launches));
}

PricedTask TaskPrices::of(const Task& task) const {
  const double times = static_cast<double>(task.times);
  const bool captured = task.capture != Capture::kNone;
  Seconds calls = launch_cost_ * static_cast<double>(task.calls);
  if (task.kind == Task::Kind::kOperator) {
    const OperatorCost cost = costs_.cost(task.op);
    const Seconds each = captured ? in_graph(cost.gpu, task.op.launches) : cost.gpu;
    const double gpu = each.value * times;
    return {&task,
            each * times,
            captured ? Seconds(0) : host_of(task.op, cost.host) * times + calls,
            cost.spread,
            cost.origin,
            task.op.launches * task.times,
            cost.clocked_share,
            gpu * (cost.watts - cost.clocked_watts),
            gpu * cost.clocked_watts};
  }
  if (task.kind == Task::Kind::kCollective) {
    const CollectiveCost cost = network_.cost(task.collective);
    return {&task,
            cost.seconds * times,
            captured ? Seconds(0) : launch_cost_ * times + calls,
            cost.spread,
            cost.origin,
            task.times,
            0,
            cost.seconds.value * times * cost.watts,
            0,
            cost.held_share,
            on_data_stream(task)};
  }
  if (captured) calls += launch_cost_ * kStepGraphLaunches;
  return {&task, Seconds(0), calls, 0, Origin::kAnalytic, 0};
}

PricedPass::PricedPass(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost)
    : launch_cost_(launch_cost), beside_scale_(network.beside_scale()) {
  for (const WeightClass weights : kWeightClasses)
    replicas_apart_[weights] = !network.placed(groups_of(weights).shard).crosses_nodes();
  const TaskPrices prices(costs, network, launch_cost);
  std::size_t count = 0;
  for (const Repeat& repeat : pass.repeats) count += repeat.tasks.size();
  tasks_.reserve(count);  // units refer to it
  units_.reserve(pass.repeats.size());
  for (const Repeat& repeat : pass.repeats) {
    const std::size_t begin = tasks_.size();
    bool host_work = true;
    for (const Task& task : repeat.tasks) {
      tasks_.push_back(prices.of(task));
      host_work = host_work && task.kind == Task::Kind::kHost;
    }
    const auto own = std::span<const PricedTask>(tasks_).subspan(begin);
    const auto work = std::find_if_not(own.begin(), own.end(),
                                       [](const PricedTask& priced) { return is_gather(*priced.task); });
    const auto gathers = static_cast<std::size_t>(work - own.begin());
    units_.push_back({repeat.count, repeat.is_layer, host_work, own.first(gathers), own.subspan(gathers)});
  }
}

PassLeast least(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost) {
  const TaskPrices prices(costs, network, launch_cost);
  PassLeast sum;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks) {
      if (task.kind == Task::Kind::kHost || on_data_stream(task)) continue;
      const PricedTask price = prices.of(task);
      const double count = static_cast<double>(repeat.count);
      const Seconds all = price.gpu * count;
      sum.clocked += all * price.clocked_share;
      sum.fixed_joules += price.fixed_joules * count;
      sum.clocked_joules += price.clocked_joules * count;
      const bool exchange = task.kind == Task::Kind::kCollective;
      (exchange ? sum.exchanges : sum.operators) += all;
      if (!exchange || (task.blocking && !task.beside)) sum.work += all;
    }
  return sum;
}

}  // namespace foretrain
