#include "segment/segment.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "segment/contention.h"
#include "segment/task_price.h"

namespace foretrain {
namespace {

// Of rounding: no wait for the host.
constexpr Seconds kNoWait = microseconds(1e-3);

class Streams {
 public:
  Streams(const PricedPass& pass, Seconds lead)
      : pass_(pass),
        host_(Seconds(0) - lead),
        data_slow_(beside_collective(pass.beside_scale())),
        comm_slow_(data_slow_) {
    in_queue_.reserve(256);
  }

  void run() {
    const auto units = pass_.units();
    for (std::size_t i = 0; i < units.size(); ++i) {
      const bool sends =
          i + 1 < units.size() && !units[i].host_work;  // none is at work: none sends for the next
      run(units[i], sends ? units[i + 1].gathers : std::span<const PricedTask>());
    }
    const Seconds done = std::max(compute_, comm_);
    add_wait(done - compute_, comm_cause_);
    compute_ = done;
    wait_for_data(std::max(data_, replica_));
    const Seconds end = compute_;
    out_.duration = end;
    out_.lead = std::max(Seconds(0), end - host_);
    for (Seconds& ready : out_.ready_before_end) ready = end - ready;
  }

  Segment take() { return std::move(out_); }

 private:
  // `following` are the gathers of the unit after the last of these.
  void run(const PricedPass::Unit& unit, std::span<const PricedTask> following) {
    const std::span<const PricedTask> own = unit.gathers;
    Advance last;
    State before;
    for (std::int64_t i = 0; i < unit.count; ++i) {
      // The last unit is followed by another than the rest.
      const std::int64_t left = unit.count - 1 - i - (!own.empty() || !following.empty() ? 1 : 0);
      const bool may_settle = i > 0 && left > 0;
      if (may_settle) before = state();
      const Seconds gpu = compute_, host = host_;
      run_unit(unit.work, own, i + 1 < unit.count ? own : following);
      if (unit.is_layer) out_.ready_before_end.push_back(std::max(compute_, comm_));
      const Advance now{compute_ - gpu, host_ - host, lags()};
      if (may_settle && settled(now, last)) {
        add_periods(before, left, unit.is_layer);
        i += left;
      }
      last = now;
    }
  }

  // `gathers` are its own, `upcoming` those of the unit after it.
  void run_unit(std::span<const PricedTask> work, std::span<const PricedTask> gathers,
                std::span<const PricedTask> upcoming) {
    in_graph_ = false;
    begin_unit(gathers, upcoming);
    for (const PricedTask& item : work) {
      if (item.on_data_stream) end_work(upcoming);
      step(item);
    }
    end_work(upcoming);
  }

  void step(const PricedTask& item) {
    const Task& task = *item.task;
    if (task.kind == Task::Kind::kHost) {
      in_graph_ = false;
      host_ += item.host;
      if (task.blocking) wait_for_gpu();
      if (task.device) free_since(std::max(data_, replica_));
      return;
    }
    if (item.on_data_stream) {
      issue(item);
      if (task.blocking) wait_for_data(std::max(data_, replica_));
      return;
    }
    const std::int64_t queued = launch(item);
    wait_for_queue(queued);
    if (task.turns) wait_for_gpu();
    const Seconds issue = host_;
    host_ += item.host;
    if (task.kind == Task::Kind::kCollective) {
      collective(item);
    } else {
      if (const Seconds needed = needed_by(task); needed > compute_ && !task.beside) {
        add_wait(needed - compute_, comm_cause_);
        compute_ = needed;
      }
      // n kernels of equal length: the first waits for its own launch, the last for all launches.
      const double n = static_cast<double>(std::max<std::int64_t>(item.launches, 1));
      const Seconds start = task.turns ? host_ : std::max(issue + item.host / n, compute_);
      const Cause other = comm_ > start ? comm_cause_ : Cause::kDataParallel;
      const Seconds gpu = run_beside_collectives(item.gpu, start);
      const Seconds end = std::max(start + gpu, host_ + gpu / n);
      if (end - compute_ - gpu > kNoWait) bound_by_host(end - gpu);
      add_wait(end - compute_ - gpu, Cause::kLaunch);
      add_wait(gpu - item.gpu, other);
      compute_ = end;
      if (task.turns) free_since(end);
      const Cause cause = task.recompute                          ? Cause::kRecompute
                          : task.direction == Direction::kForward ? Cause::kForward
                                                                  : Cause::kBackward;
      out_.by_cause[static_cast<std::size_t>(cause)] += item.gpu;
      const auto kind = static_cast<std::size_t>(task.op.kind);
      out_.by_operator[kind] += item.gpu;
      out_.uncertain[kind] += item.gpu * item.spread;
      ClockedPart& clocked = out_.clocked;
      const Seconds part = item.gpu * item.clocked_share;
      clocked.by_cause[static_cast<std::size_t>(cause)] += part;
      clocked.by_operator[kind] += part;
      clocked.by_origin[static_cast<std::size_t>(item.origin)] += part;
      clocked.clocked_joules += item.clocked_joules;
    }
    out_.clocked.fixed_joules += item.fixed_joules;
    out_.by_origin[static_cast<std::size_t>(item.origin)] += item.gpu;
    issued_ += queued;
    in_queue_.push_back({issued_, std::max(compute_, comm_)});
  }

  // What it puts into the launch queue: its kernels; or, where it begins a graph, that.
  std::int64_t launch(const PricedTask& item) {
    const Capture capture = item.task->capture;
    if (capture == Capture::kNone) {
      in_graph_ = false;
      return item.launches;
    }
    if (capture == Capture::kStep || in_graph_) return 0;
    in_graph_ = true;
    const bool forward = item.task->direction == Direction::kForward;
    host_ += pass_.launch_cost() * kGraphLaunches[forward ? 0 : 1];
    return 1;
  }

  void collective(const PricedTask& item) {
    // One that belongs to another micro-batch does not wait for the work here.
    const Seconds start = item.task->beside ? std::max(host_, comm_) : std::max({host_, compute_, comm_});
    out_.uncertain_collectives += item.gpu * item.spread;
    comm_cause_ = cause_of(item.task->collective.group);
    comm_slow_ = beside_exchange(item.held_share, pass_.beside_scale());
    if (item.task->beside) {
      comm_ = start + item.gpu;
    } else if (item.task->blocking) {
      const Seconds ready = std::max(compute_, comm_);
      if (start - ready > kNoWait) bound_by_host(start);
      add_wait(start - ready, Cause::kLaunch);
      add_wait(ready - compute_ + item.gpu, comm_cause_);
      compute_ = comm_ = start + item.gpu;
    } else {
      needed_by(*item.task) = comm_ = start + item.gpu;
    }
  }

  static Cause cause_of(GroupKind group) {
    using enum GroupKind;
    if (group == kExpert || group == kExpertTensor) return Cause::kExpertParallel;
    if (group == kContext || group == kContextInner || group == kContextRing) return Cause::kContextParallel;
    return Cause::kTensorParallel;
  }

  // When the collectives are over that the work of a task's direction is for: a gather for W runs beside B, a
  // sum of what B made beside W.
  Seconds& needed_by(const Task& task) {
    return task.direction == Direction::kWeight ? needed_by_weight_ : needed_by_input_;
  }

  // The work of a unit begins: its weights must be there, and the next unit's may be sent for.
  void begin_unit(std::span<const PricedTask> own, std::span<const PricedTask> upcoming) {
    if (!own.empty()) {
      if (!sent_for_) send_for(own);
      wait_for_data(gather_end_);
      sent_for_ = false;
    }
    if (!upcoming.empty() && upcoming.front().task->prefetch == Prefetch::kBefore) send_for(upcoming);
  }

  // Its work has been issued, its gradients not yet reduced.
  void end_work(std::span<const PricedTask> upcoming) {
    if (!upcoming.empty() && upcoming.front().task->prefetch == Prefetch::kAfter && !sent_for_)
      send_for(upcoming);
  }

  void send_for(std::span<const PricedTask> gathers) {
    for (const PricedTask& gather : gathers) issue(gather);
    gather_end_ = data_;
    sent_for_ = true;
  }

  // Behind what the data stream has, after the work so far.
  void issue(const PricedTask& collective) {
    host_ += collective.host;
    const bool apart = std::any_of(kWeightClasses.begin(), kWeightClasses.end(), [&](WeightClass weights) {
      return pass_.replicas_apart(weights) && collective.task->collective.group == groups_of(weights).replica;
    });
    Seconds& stream = apart ? replica_ : data_;
    stream = std::max({stream, data_, compute_, comm_, host_}) + collective.gpu;
    out_.clocked.fixed_joules += collective.fixed_joules;
    data_spread_ = collective.spread;
    data_origin_ = collective.origin;
  }

  // Only what is waited for counts: the rest is hidden.
  void wait_for_data(Seconds until) {
    if (until <= compute_) return;
    const Seconds wait = until - compute_;
    add_wait(wait, Cause::kDataParallel);
    out_.uncertain_collectives += wait * data_spread_;
    out_.by_origin[static_cast<std::size_t>(data_origin_)] += wait;
    compute_ = until;
  }

  Seconds run_beside_collectives(Seconds gpu, Seconds start) {
    const Seconds until = std::max({data_, replica_, comm_});
    if (until <= start) return gpu;  // all other streams are empty: the most frequent case
    const SlowDown slow = comm_ > start ? comm_slow_ : data_slow_;
    const Beside run = beside(gpu, until - start, slow);
    for (Seconds* end : {&gather_end_, &data_, &replica_, &comm_, &needed_by_input_, &needed_by_weight_})
      *end += collective_delay(*end - start, run.both, slow);
    return run.compute;
  }

  // How far the other streams are ahead of compute; one that has fallen behind does not matter.
  struct Lags {
    Seconds comm, input, weight, data, replica, gather;
  };
  Lags lags() const {
    const auto ahead = [&](Seconds end) { return std::max(end - compute_, Seconds(0)); };
    return {ahead(comm_), ahead(needed_by_input_), ahead(needed_by_weight_),
            ahead(data_), ahead(replica_),         ahead(gather_end_)};
  }

  // The host waits until the GPU is done.
  void wait_for_gpu() { free_since(std::max(compute_, comm_)); }
  void free_since(Seconds done) {
    if (done <= host_) return;
    host_ = done;
    host_free_ = std::max(host_free_, done);
  }

  // Work started at this time and not before because the host was not faster since it last waited.
  void bound_by_host(Seconds start) {
    if (start <= host_free_) return;
    out_.host_bound += start - host_free_;
    host_free_ = start;
  }

  void wait_for_queue(std::int64_t launches) {
    while (oldest_ < in_queue_.size() && in_queue_[oldest_].issued <= issued_ + launches - kQueueDepth) {
      free_since(in_queue_[oldest_].done);
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
    Seconds uncertain_collectives, host_bound;
    ClockedPart clocked;
  };
  State state() const {
    return {compute_,         host_,          issued_,        out_.by_cause,
            out_.by_operator, out_.uncertain, out_.by_origin, out_.uncertain_collectives,
            out_.host_bound,  out_.clocked};
  }

  // How far a unit moved the GPU and the host, and how it left the other streams.
  struct Advance {
    Seconds gpu, host;
    Lags lags;
  };
  // Both streams moved as in the layer before, and the host keeps its lead or gains on it (a shrinking lead
  // would be used up later).
  static bool settled(const Advance& now, const Advance& last) {
    const auto same = [&](Seconds a, Seconds b) { return std::abs((a - b).value) <= 1e-9 * now.gpu.value; };
    return same(now.gpu, last.gpu) && same(now.host, last.host) && same(now.lags.comm, last.lags.comm) &&
           same(now.lags.input, last.lags.input) && same(now.lags.weight, last.lags.weight) &&
           same(now.lags.data, last.lags.data) && same(now.lags.replica, last.lags.replica) &&
           same(now.lags.gather, last.lags.gather) && now.host <= now.gpu * (1 + 1e-9);
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
    out_.host_bound += (out_.host_bound - before.host_bound) * n;
    host_free_ += gpu_step * n;
    ClockedPart& clocked = out_.clocked;
    extend(clocked.by_cause, before.clocked.by_cause);
    extend(clocked.by_operator, before.clocked.by_operator);
    extend(clocked.by_origin, before.clocked.by_origin);
    clocked.fixed_joules += (clocked.fixed_joules - before.clocked.fixed_joules) * n;
    clocked.clocked_joules += (clocked.clocked_joules - before.clocked.clocked_joules) * n;
    if (is_layer)
      for (std::int64_t i = 1; i <= count; ++i)
        out_.ready_before_end.push_back(std::max(compute_, comm_) + gpu_step * static_cast<double>(i));
    compute_ += gpu_step * n;
    comm_ += gpu_step * n;
    needed_by_input_ += gpu_step * n;
    needed_by_weight_ += gpu_step * n;
    data_ += gpu_step * n;
    replica_ += gpu_step * n;
    gather_end_ += gpu_step * n;
    host_ += host_step * n;
    // What is still queued has moved along with the GPU, and its length bounds the host's lead.
    for (std::size_t i = oldest_; i < in_queue_.size(); ++i) in_queue_[i].done += gpu_step * n;
    const auto launches = static_cast<double>(std::max<std::int64_t>(issued_ - before.issued, 1));
    host_ = std::max(host_, compute_ - gpu_step * (static_cast<double>(kQueueDepth) / launches));
  }

  const PricedPass& pass_;
  Segment out_;
  Seconds host_;
  Seconds host_free_;  // since then nothing has held the host back, or what it took is counted
  Seconds compute_;
  Seconds comm_;                               // when the stream of exchanges between operators is empty
  Cause comm_cause_ = Cause::kTensorParallel;  // what is on it
  SlowDown data_slow_, comm_slow_;             // beside the one stream and the other
  Seconds needed_by_input_, needed_by_weight_;
  Seconds data_;        // when the data-parallel stream is empty
  Seconds replica_;     // when replicas have summed their shards, where they use other links
  Seconds gather_end_;  // of the gather sent for last
  bool sent_for_ = false;
  bool in_graph_ = false;  // the task before was of a graph of this layer
  double data_spread_ = 0;
  Origin data_origin_ = Origin::kAnalytic;
  struct Queued {
    std::int64_t issued;  // kernels issued up to and with this task
    Seconds done;
  };
  std::vector<Queued> in_queue_;
  std::size_t oldest_ = 0;
  std::int64_t issued_ = 0;
};

}  // namespace

Segment lay_out(const PricedPass& pass, Seconds lead) {
  Streams layout(pass, lead);
  layout.run();
  return layout.take();
}

Segment lay_out(const Pass& pass, const CostSource& costs, const Network& network, Seconds launch_cost,
                Seconds lead) {
  return lay_out(PricedPass(pass, costs, network, launch_cost), lead);
}

}  // namespace foretrain
