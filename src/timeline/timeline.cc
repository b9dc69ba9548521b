// The order of evaluation of gpipe and 1f1b; the other schedules are run by executor.cc. Passes depend on
// each other across stages, so a simulator usually keeps a queue of what has become ready. Here the schedules
// are fixed, and an order that respects every dependency is known beforehand: that of equal stages with
// passes of one slot each. With unequal stages the times differ, the dependencies do not. In 1f1b forward i
// of stage s stands in slot s + 2i, backward j in 2p - 1 - s + 2j:
//
//   stage 0   F0 .  F1 .  F2 B0 F3 B1 .  B2 .  B3        p = 3, m = 4
//   stage 1      F0 .  F1 B0 F2 B1 F3 B2 .  B3
//   stage 2         F0 B0 F1 B1 F2 B2 F3 B3
//   slot      0  1  2  3  4  5  6  7  8  9  10 11
//
// A pass's message is used in the very next slot, so one arrival time a stage and direction is enough. The
// passes of a slot do not depend on each other: the processor overlaps them, about 1 ns a pass.
// In gpipe forward i stands in slot s + i, and backward j, counted anew, in p - 1 - s + j.
#include "timeline/timeline.h"

#include <algorithm>

#include "base/check.h"
#include "timeline/schedule.h"

namespace foretrain {
namespace {

// Something after the passes: when it ends.
Seconds add(std::vector<Event>* events, std::int64_t stage, EventKind kind, std::int64_t index, Seconds start,
            Seconds length) {
  const Seconds end = start + length;
  if (events && length.value > 0) events->push_back({stage, kind, index, start, end});
  return end;
}

}  // namespace

template <bool kBlocking, bool kRecord>
class Timeline::Pipeline {
 public:
  // `first` is the first stage's cursor; the ones before it and after the last may be written.
  Pipeline(Cursor* first, std::int64_t stages, std::int64_t micro_batches, std::vector<Event>* events)
      : first_(first), p_(stages), m_(micro_batches), events_(events) {}

  void gpipe() {
    // From the stage that is ahead to the one behind it, so that a message is read before the next is
    // written.
    for (std::int64_t slot = 0; slot < m_ + p_ - 1; ++slot) {
      for (std::int64_t s = std::min(slot, p_ - 1); s >= std::max<std::int64_t>(0, slot - m_ + 1); --s) {
        forward(s);
      }
    }
    for (std::int64_t slot = 0; slot < m_ + p_ - 1; ++slot) {
      const std::int64_t last = std::min(p_ - 1, p_ - 1 - slot + m_ - 1);
      for (std::int64_t s = std::max<std::int64_t>(0, p_ - 1 - slot); s <= last; ++s) backward(s);
    }
  }

  void one_forward_one_backward() {
    const std::int64_t reach = 2 * (m_ - 1);  // slots between a stage's first and last forward
    for (std::int64_t slot = 0; slot < 2 * (m_ + p_ - 1); ++slot) {
      const std::int64_t odd = slot % 2;
      for (std::int64_t s = std::max(odd, slot - reach); s <= std::min(slot, p_ - 1); s += 2) forward(s);
      const std::int64_t behind = 2 * p_ - 1 - slot;
      const std::int64_t last = std::min(p_ - 1, behind + reach);
      for (std::int64_t s = std::max(1 - odd, behind); s <= last; s += 2) backward(s);
    }
  }

 private:
  void forward(std::int64_t s) {
    Cursor& stage = first_[s];
    const double start = receive(s, stage.activation, stage.receive_forward, stage.forwards);
    const double end = start + stage.forward;
    const double arrival = send(stage, end, stage.send_forward, stage.link_forward);
    first_[s + 1].activation = first_[s + 1].receive_forward > 0 ? end : arrival;
    if constexpr (kRecord) {
      record(s, EventKind::kForward, stage.forwards++, start, end, stage.send_forward, arrival);
    }
  }

  void backward(std::int64_t s) {
    Cursor& stage = first_[s];
    const double start = receive(s, stage.gradient, stage.receive_backward, stage.backwards);
    const double end = start + stage.backward;
    stage.backward_start = start;
    const double arrival = send(stage, end, stage.send_backward, stage.link_backward);
    first_[s - 1].gradient = first_[s - 1].receive_backward > 0 ? end : arrival;
    if constexpr (kRecord) {
      record(s, EventKind::kBackward, stage.backwards++, start, end, stage.send_backward, arrival);
    }
  }

  // When the pass that needs a message can start. `there` is when it has arrived or, where receiving takes
  // the stage's time, when it can be taken.
  double receive(std::int64_t s, double there, double seconds, std::int64_t micro_batch) {
    const double ready = std::max(first_[s].free, there);
    if constexpr (kRecord)
      if (seconds > 0)
        events_->push_back({s, EventKind::kReceive, micro_batch, Seconds(ready), Seconds(ready + seconds)});
    return ready + seconds;
  }

  // A pass has ended: its message leaves. When it arrives.
  static double send(Cursor& stage, double end, double seconds, double& link) {
    if constexpr (kBlocking) return stage.free = end + seconds;
    stage.free = end;
    return link = std::max(end, link) + seconds;
  }

  void record(std::int64_t s, EventKind kind, std::int64_t micro_batch, double start, double end,
              double sends, double arrival) {
    events_->push_back({s, kind, micro_batch, Seconds(start), Seconds(end)});
    if (sends == 0) return;
    const double leaves = std::max(end, arrival - sends);  // where it had to wait for the one before it
    events_->push_back({s, EventKind::kSend, micro_batch, Seconds(leaves), Seconds(arrival)});
  }

  Cursor* first_;
  std::int64_t p_;
  std::int64_t m_;
  std::vector<Event>* events_;
};

template <bool kBlocking, bool kRecord>
void Timeline::run_passes(const PipelineWork& work, std::vector<Event>* events) {
  Pipeline<kBlocking, kRecord> pipeline(cursors_.data() + 1, work.ranks(), work.micro_batches, events);
  if (work.schedule == ScheduleKind::kGpipe) {
    pipeline.gpipe();
  } else {
    pipeline.one_forward_one_backward();
  }
}

void Timeline::load(const PipelineWork& work) {
  const std::size_t stages = work.chunks.size();
  cursors_.assign(stages + 2, Cursor{});
  for (std::size_t s = 0; s < stages; ++s) {
    const ChunkLoad& load = work.chunks[s];
    Cursor& cursor = cursors_[s + 1];
    cursor.forward = load.forward.value;
    cursor.backward = load.backward.value;
    cursor.send_forward = s + 1 < stages ? load.send_forward.value : 0.0;
    cursor.send_backward = s > 0 ? load.send_backward.value : 0.0;
    if (!work.blocking_sends || !work.blocking_receives) continue;
    if (s > 0) cursor.receive_forward = work.chunks[s - 1].send_forward.value;
    if (s + 1 < stages) cursor.receive_backward = work.chunks[s + 1].send_backward.value;
  }
}

void Timeline::begin(const PipelineWork& work, std::vector<Event>* events) {
  CHECK_THAT(!work.chunks.empty() && work.micro_batches >= 1);
  CHECK_THAT(work.chunks_per_rank >= 1 &&
             work.ranks() * work.chunks_per_rank == static_cast<std::int64_t>(work.chunks.size()));
  CHECK_THAT(work.updates.empty() || static_cast<std::int64_t>(work.updates.size()) == work.ranks());
  if (events) events->clear();
  stages_.assign(static_cast<std::size_t>(work.ranks()), {});
  counts_.assign(work.chunks.size(), {});
  held_at_peak_.assign(work.chunks.size(), 0);
  waiting_at_peak_.assign(work.chunks.size(), 0);
  last_.assign(work.chunks.size(), {});
}

bool Timeline::Known::same_shape(const PipelineWork& work) const {
  return schedule == work.schedule && chunks_per_rank == work.chunks_per_rank &&
         micro_batches == work.micro_batches && chunks.size() == work.chunks.size();
}

bool Timeline::Known::same_bytes(const PipelineWork& work) const {
  return std::equal(chunks.begin(), chunks.end(), work.chunks.begin(),
                    [](const ChunkLoad& a, const ChunkLoad& b) {
                      return a.held == b.held && a.held_for_weight == b.held_for_weight &&
                             a.forward_extra == b.forward_extra && a.backward_extra == b.backward_extra &&
                             a.weight_extra == b.weight_extra && a.backward_end == b.backward_end;
                    });
}

bool Timeline::Known::same_times(const PipelineWork& work) const {
  return blocking_sends == work.blocking_sends && blocking_receives == work.blocking_receives &&
         std::equal(chunks.begin(), chunks.end(), work.chunks.begin(),
                    [](const ChunkLoad& a, const ChunkLoad& b) {
                      return a.forward == b.forward && a.backward == b.backward && a.input == b.input &&
                             a.weight == b.weight && a.send_forward == b.send_forward &&
                             a.send_backward == b.send_backward;
                    });
}

void Timeline::Known::take(const PipelineWork& work) {
  chunks.assign(work.chunks.begin(), work.chunks.end());
  schedule = work.schedule;
  chunks_per_rank = work.chunks_per_rank;
  micro_batches = work.micro_batches;
  blocking_sends = work.blocking_sends;
  blocking_receives = work.blocking_receives;
}

// Whether the schedule needs orders written out; then they are.
bool Timeline::follow_orders(const PipelineWork& work) {
  if (work.schedule == ScheduleKind::kGpipe || work.schedule == ScheduleKind::k1f1b) {
    CHECK_THAT(work.chunks_per_rank == 1);
    return false;
  }
  CHECK_THAT(work.chunks_per_rank == chunks_per_rank(work.schedule, work.chunks_per_rank));
  const PipelineShape shape{work.ranks(), work.chunks_per_rank, work.micro_batches_per_chunk()};
  if (orders_of_ != work.schedule || !(orders_shape_ == shape)) {
    write_orders(work.schedule, shape, orders_);
    orders_of_ = work.schedule;
    orders_shape_ = shape;
  }
  return true;
}

Seconds Timeline::simulate(const PipelineWork& work, std::vector<Event>* events) {
  begin(work, events);
  if (!events && run_.same_shape(work) && run_.same_times(work) && run_.same_bytes(work)) {
    stages_ = run_stages_;
    counts_ = run_counts_;
    last_ = run_last_;
    held_at_peak_ = run_held_;
    waiting_at_peak_ = run_waiting_;
    return finish(work, events);
  }
  if (follow_orders(work)) {
    hold(work);
    CHECK_THAT(!executor_.run(work, orders_, events));
    take_ends(work);
  } else {
    run_slots(work, events);
  }
  if (!events) {
    run_.take(work);
    run_stages_ = stages_;
    run_counts_ = counts_;
    run_last_ = last_;
    run_held_ = held_at_peak_;
    run_waiting_ = waiting_at_peak_;
  }
  return finish(work, events);
}

void Timeline::measure(const PipelineWork& work) {
  begin(work, nullptr);
  if (follow_orders(work)) {
    hold(work);
    stages_ = measured_stages_;
    count_by_orders();
  } else {
    for (std::int64_t s = 0; s < work.ranks(); ++s) weigh_slots(work, s);
    count_whole(work);
  }
}

// The executor has measured the orders in use.
void Timeline::hold(const PipelineWork& work) {
  if (measured_.same_shape(work) && measured_.same_bytes(work)) return;
  executor_.measure(work, orders_);
  measured_.take(work);
  take_footprint();
  measured_stages_ = stages_;
}

std::optional<std::string> Timeline::simulate(const PipelineWork& work, const Orders& orders, Seconds& step,
                                              std::vector<Event>* events) {
  begin(work, events);
  const PipelineShape shape{work.ranks(), work.chunks_per_rank, work.micro_batches_per_chunk()};
  if (auto wrong = miscounted(orders, shape)) return wrong;
  measured_ = {};
  executor_.measure(work, orders);
  if (auto deadlock = executor_.run(work, orders, events)) return deadlock;
  take_ends(work);
  step = finish(work, events);
  return std::nullopt;
}

void Timeline::run_slots(const PipelineWork& work, std::vector<Event>* events) {
  load(work);
  count_whole(work);
  if (events) {
    work.blocking_sends ? run_passes<true, true>(work, events) : run_passes<false, true>(work, events);
  } else {
    work.blocking_sends ? run_passes<true, false>(work, events) : run_passes<false, false>(work, events);
  }
  const std::int64_t p = work.ranks();
  for (std::int64_t s = 0; s < p; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const Cursor& cursor = cursors_[i + 1];
    stages_[i].pipeline_end = Seconds(cursor.free);
    weigh_slots(work, s);
    last_[i] = {cursor.backward_start, cursor.backward_start + cursor.backward};
  }
}

// Where the most are held, a forward has just begun to hold the last of them, and a backward comes next.
void Timeline::weigh_slots(const PipelineWork& work, std::int64_t stage) {
  const ChunkLoad& load = work.chunks[static_cast<std::size_t>(stage)];
  StageTimes& times = stages_[static_cast<std::size_t>(stage)];
  times.in_flight = most_in_flight(work.schedule, stage, work.ranks(), work.micro_batches);
  const Bytes held = static_cast<double>(times.in_flight) * load.held;
  const bool forward = load.forward_extra >= load.backward_extra;
  times.peak = held + std::max(load.forward_extra, load.backward_extra);
  times.moment = {forward ? PassKind::kForward : PassKind::kBackward, stage};
  std::int64_t& at_peak = held_at_peak_[static_cast<std::size_t>(stage)];
  at_peak = times.in_flight;
  if (const Bytes end = held - load.held + load.backward_end; end > times.peak) {
    times.peak = end;
    times.moment = {PassKind::kBackward, stage, true};
    --at_peak;
  }
}

void Timeline::take_footprint() {
  const auto ranks = executor_.footprint().ranks();
  for (std::size_t r = 0; r < stages_.size(); ++r) {
    stages_[r].peak = ranks[r].peak;
    stages_[r].moment = ranks[r].moment;
    stages_[r].in_flight = ranks[r].in_flight;
  }
}

void Timeline::count_by_orders() {
  const auto backwards = executor_.footprint().backwards();
  counts_.assign(backwards.begin(), backwards.end());
}

void Timeline::count_whole(const PipelineWork& work) {
  for (ChunkCounts& counts : counts_) counts.whole = work.micro_batches_per_chunk();
}

void Timeline::take_ends(const PipelineWork& work) {
  const Footprint& footprint = executor_.footprint();
  for (std::size_t r = 0; r < stages_.size(); ++r) stages_[r].pipeline_end = executor_.rank_end(r);
  take_footprint();
  count_by_orders();
  for (std::size_t n = 0; n < work.chunks.size(); ++n) {
    held_at_peak_[n] = footprint.held_at_peak()[n];
    waiting_at_peak_[n] = footprint.waiting_at_peak()[n];
    last_[n] = {executor_.last_start(n).value, executor_.last_end(n).value};
  }
}

// The passes are over.
Seconds Timeline::finish(const PipelineWork& work, std::vector<Event>* events) {
  const Placement placement{work.schedule, work.ranks(), work.chunks_per_rank};
  const auto m = static_cast<double>(work.micro_batches_per_chunk());
  for (std::int64_t n = 0; n < placement.nodes(); ++n) {
    const auto i = static_cast<std::size_t>(n);
    const ChunkLoad& load = work.chunks[i];
    const std::int64_t rank = placement.rank(n);
    StageTimes& times = stages_[static_cast<std::size_t>(rank)];
    const ChunkCounts& counts = counts_[i];
    if (counts.split == 0) {
      times.compute += m * (load.forward + load.backward);
    } else {
      times.compute += m * load.forward + static_cast<double>(counts.whole) * load.backward +
                       static_cast<double>(counts.split) * (load.input + load.weight);
    }
    if (!work.blocking_sends) continue;
    Seconds sends;
    if (!placement.last(n) && placement.rank(n + 1) != rank) {
      sends += load.send_forward;
      if (work.blocking_receives) sends += work.chunks[i + 1].send_backward;
    }
    if (!placement.first(n) && placement.rank(n - 1) != rank) {
      sends += load.send_backward;
      if (work.blocking_receives) sends += work.chunks[i - 1].send_forward;
    }
    times.sending += m * sends;
  }
  reduce_gradients(work, events);
  return meet_and_update(work, events);
}

// A rank reduces one bucket after another: its chunks' in the order in which their last passes end.
void Timeline::reduce_gradients(const PipelineWork& work, std::vector<Event>* events) {
  const Placement placement{work.schedule, work.ranks(), work.chunks_per_rank};
  for (std::int64_t r = 0; r < work.ranks(); ++r) {
    StageTimes& times = stages_[static_cast<std::size_t>(r)];
    Seconds reduced = work.reduce_beside ? Seconds(0) : times.pipeline_end;
    std::int64_t index = 0;
    const auto before = [&](std::int64_t a, std::int64_t b) {  // of two nodes
      const double x = last_[static_cast<std::size_t>(a)].end, y = last_[static_cast<std::size_t>(b)].end;
      return x < y || (x == y && a < b);
    };
    for (std::int64_t node = -1, done = 0; done < work.chunks_per_rank; ++done) {
      std::int64_t next = -1;
      for (std::int64_t c = 0; c < work.chunks_per_rank; ++c) {
        const std::int64_t n = placement.node(r, c);
        if ((node < 0 || before(node, n)) && (next < 0 || before(n, next))) next = n;
      }
      node = next;
      const LastPass& last = last_[static_cast<std::size_t>(node)];
      reduced = std::max(reduced, Seconds(last.start));
      for (const Bucket& bucket : work.chunks[static_cast<std::size_t>(node)].buckets) {
        const Seconds start = std::max(reduced, Seconds(last.end) - bucket.ready_before_end);
        reduced = add(events, r, EventKind::kReduce, index++, start, bucket.seconds);
      }
    }
    times.reduce_end = times.end = std::max(times.pipeline_end, reduced);
  }
}

Seconds Timeline::meet_and_update(const PipelineWork& work, std::vector<Event>* events) {
  const std::int64_t p = work.ranks();
  StageTimes& first = stages_.front();
  StageTimes& last = stages_.back();
  if (p > 1 && work.embedding_exchange.value > 0) {
    const Seconds both_there = std::max(first.end, last.end);
    first.end = add(events, 0, EventKind::kExchange, 0, both_there, work.embedding_exchange);
    last.end = add(events, p - 1, EventKind::kExchange, 0, both_there, work.embedding_exchange);
    first.exchange = last.exchange = work.embedding_exchange;
  }
  Seconds all_there;
  for (const StageTimes& times : stages_) all_there = std::max(all_there, times.end);
  Seconds step;
  for (std::int64_t r = 0; r < p; ++r) {
    Seconds end = add(events, r, EventKind::kMeet, 0, all_there, work.meet);
    if (!work.updates.empty()) {
      const StageUpdate& update = work.updates[static_cast<std::size_t>(r)];
      end = add(events, r, EventKind::kOptimizer, 0, end, update.optimizer);
      end = add(events, r, EventKind::kGather, 0, end, update.gather);
    }
    stages_[static_cast<std::size_t>(r)].end = end;
    step = std::max(step, end);
  }
  return step;
}

}  // namespace foretrain
