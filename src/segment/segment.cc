#include "segment/segment.h"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

class Streams {
 public:
  Streams(const CostSource& costs, const Network& network, Seconds launch_cost, Seconds lead)
      : costs_(costs), network_(network), launch_cost_(launch_cost), host_(Seconds(0) - lead) {}

  void run(const Pass& pass) {
    for (const Repeat& repeat : pass.repeats) run(repeat);
    const Seconds end = std::max(compute_, comm_);
    add_wait(end - compute_, Cause::kTensorParallel);
    compute_ = end;
    out_.duration = end;
    out_.lead = std::max(Seconds(0), end - host_);
    for (Seconds& ready : out_.ready_before_end) ready = end - ready;
  }

  Segment take() { return std::move(out_); }

 private:
  // A task with its cost looked up: equal layers look up once.
  struct Priced {
    const Task* task;
    Seconds gpu;
    Seconds host;
    double spread;
    Origin origin;
    std::int64_t launches;
  };

  void run(const Repeat& repeat) {
    std::vector<Priced> priced;
    priced.reserve(repeat.tasks.size());
    for (const Task& task : repeat.tasks) priced.push_back(price(task));

    State before = state();
    Seconds period(-1), host_period(-1), comm_lag(0);
    for (std::int64_t i = 0; i < repeat.count; ++i) {
      for (const Priced& item : priced) step(item);
      const Seconds gpu_step = compute_ - before.compute, host_step = host_ - before.host;
      if (repeat.is_layer) out_.ready_before_end.push_back(std::max(compute_, comm_));
      // Settled: both streams moved as in the layer before, and the host keeps its lead or gains on it (a
      // shrinking lead would be used up later).
      const auto same = [&](Seconds a, Seconds b) {
        return std::abs((a - b).value) <= 1e-9 * gpu_step.value;
      };
      const bool settled = i > 0 && same(gpu_step, period) && same(host_step, host_period) &&
                           same(comm_ - compute_, comm_lag) && host_step <= gpu_step * (1 + 1e-9);
      const std::int64_t left = repeat.count - 1 - i;
      if (settled && left > 0) {
        add_periods(before, left, repeat.is_layer);
        return;
      }
      period = gpu_step, host_period = host_step, comm_lag = comm_ - compute_;
      before = state();
    }
  }

  Priced price(const Task& task) const {
    const double times = static_cast<double>(task.times);
    const Seconds calls = launch_cost_ * static_cast<double>(task.calls);
    if (task.kind == Task::Kind::kOperator) {
      const OperatorCost cost = costs_.cost(task.op);
      return {&task,       cost.gpu * times, cost.host * times + calls,
              cost.spread, cost.origin,      task.op.launches * task.times};
    }
    if (task.kind == Task::Kind::kCollective) {
      const CollectiveCost cost = network_.cost(task.collective);
      return {&task,       cost.seconds * times, launch_cost_ * times + calls,
              cost.spread, cost.origin,          task.times};
    }
    return {&task, Seconds(0), calls, 0, Origin::kAnalytic, 0};
  }

  void step(const Priced& item) {
    const Task& task = *item.task;
    if (task.kind == Task::Kind::kSync) {
      host_ += item.host;
      host_ = std::max({host_, compute_, comm_});
      return;
    }
    wait_for_queue(item.launches);
    const Seconds issue = host_;
    host_ += item.host;
    if (task.kind == Task::Kind::kCollective) {
      collective(item);
    } else {
      if (task.direction != Direction::kWeight && comm_ > compute_) {
        add_wait(comm_ - compute_, Cause::kTensorParallel);
        compute_ = comm_;
      }
      // n kernels of equal length: the first waits for its own launch, the last for all launches.
      const double n = static_cast<double>(std::max<std::int64_t>(item.launches, 1));
      const Seconds end =
          std::max(std::max(issue + item.host / n, compute_) + item.gpu, host_ + item.gpu / n);
      add_wait(end - compute_ - item.gpu, Cause::kLaunch);
      compute_ = end;
      const Cause cause = task.recompute                          ? Cause::kRecompute
                          : task.direction == Direction::kForward ? Cause::kForward
                                                                  : Cause::kBackward;
      out_.by_cause[static_cast<std::size_t>(cause)] += item.gpu;
      const auto kind = static_cast<std::size_t>(task.op.kind);
      out_.by_operator[kind] += item.gpu;
      out_.uncertain[kind] += item.gpu * item.spread;
    }
    out_.by_origin[static_cast<std::size_t>(item.origin)] += item.gpu;
    issued_ += item.launches;
    in_queue_.push_back({issued_, std::max(compute_, comm_)});
  }

  void collective(const Priced& item) {
    const Seconds start = std::max({host_, compute_, comm_});
    out_.uncertain_collectives += item.gpu * item.spread;
    if (item.task->blocking) {
      const Seconds ready = std::max(compute_, comm_);
      add_wait(start - ready, Cause::kLaunch);
      add_wait(ready - compute_ + item.gpu, Cause::kTensorParallel);
      compute_ = comm_ = start + item.gpu;
    } else {
      comm_ = start + item.gpu;
    }
  }

  void wait_for_queue(std::int64_t launches) {
    while (oldest_ < in_queue_.size() && in_queue_[oldest_].issued <= issued_ + launches - kQueueDepth) {
      host_ = std::max(host_, in_queue_[oldest_].done);
      ++oldest_;
    }
  }

  void add_wait(Seconds wait, Cause cause) { out_.by_cause[static_cast<std::size_t>(cause)] += wait; }

  struct State {
    Seconds compute, host;
    std::int64_t issued;
    std::array<Seconds, kCauseCount> by_cause;
    std::array<Seconds, kOperatorKindCount> by_operator, uncertain;
    std::array<Seconds, kOriginCount> by_origin;
    Seconds uncertain_collectives;
  };
  State state() const {
    return {compute_,         host_,          issued_,        out_.by_cause,
            out_.by_operator, out_.uncertain, out_.by_origin, out_.uncertain_collectives};
  }

  // Adds `count` more layers like the one since `before`.
  void add_periods(const State& before, std::int64_t count, bool is_layer) {
    const double n = static_cast<double>(count);
    const Seconds gpu_step = compute_ - before.compute, host_step = host_ - before.host;
    const auto extend = [n](auto& now, const auto& then) {
      for (std::size_t i = 0; i < now.size(); ++i) now[i] += (now[i] - then[i]) * n;
    };
    extend(out_.by_cause, before.by_cause);
    extend(out_.by_operator, before.by_operator);
    extend(out_.by_origin, before.by_origin);
    extend(out_.uncertain, before.uncertain);
    out_.uncertain_collectives += (out_.uncertain_collectives - before.uncertain_collectives) * n;
    if (is_layer)
      for (std::int64_t i = 1; i <= count; ++i)
        out_.ready_before_end.push_back(std::max(compute_, comm_) + gpu_step * static_cast<double>(i));
    compute_ += gpu_step * n;
    comm_ += gpu_step * n;
    host_ += host_step * n;
    // What is still queued has moved along with the GPU, and its length bounds the host's lead.
    for (std::size_t i = oldest_; i < in_queue_.size(); ++i) in_queue_[i].done += gpu_step * n;
    const auto launches = static_cast<double>(std::max<std::int64_t>(issued_ - before.issued, 1));
    host_ = std::max(host_, compute_ - gpu_step * (static_cast<double>(kQueueDepth) / launches));
  }

  const CostSource& costs_;
  const Network& network_;
  Seconds launch_cost_;
  Segment out_;
  Seconds host_;
  Seconds compute_;
  Seconds comm_;
  struct Queued {
    std::int64_t issued;  // kernels issued up to and with this task
    Seconds done;
  };
  std::vector<Queued> in_queue_;
  std::size_t oldest_ = 0;
  std::int64_t issued_ = 0;
};

}  // namespace

Segment lay_out(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost,
                Seconds lead) {
  Streams layout(costs, network, launch_cost, lead);
  layout.run(pass);
  return layout.take();
}

}  // namespace foretrain
