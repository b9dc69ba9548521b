// The order of evaluation. Passes depend on each other across stages, so a simulator usually keeps a queue of
// what has become ready. Here the schedules are fixed, and an order that respects every dependency is known
// beforehand: that of equal stages with passes of one slot each. With unequal stages the times differ, the
// dependencies do not. In 1f1b forward i of stage s stands in slot s + 2i, backward j in 2p - 1 - s + 2j:
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
    const double start = std::max(stage.free, stage.activation);
    const double end = start + stage.forward;
    const double arrival = send(stage, end, stage.send_forward, stage.link_forward);
    first_[s + 1].activation = arrival;
    if constexpr (kRecord) {
      record(s, EventKind::kForward, stage.forwards++, start, end, stage.send_forward, arrival);
    }
  }

  void backward(std::int64_t s) {
    Cursor& stage = first_[s];
    const double start = std::max(stage.free, stage.gradient);
    const double end = start + stage.backward;
    stage.backward_start = start;
    const double arrival = send(stage, end, stage.send_backward, stage.link_backward);
    first_[s - 1].gradient = arrival;
    if constexpr (kRecord) {
      record(s, EventKind::kBackward, stage.backwards++, start, end, stage.send_backward, arrival);
    }
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
  const auto stages = static_cast<std::int64_t>(work.stages.size());
  Pipeline<kBlocking, kRecord> pipeline(cursors_.data() + 1, stages, work.micro_batches, events);
  switch (work.schedule) {
    case ScheduleKind::kGpipe:
      return pipeline.gpipe();
    case ScheduleKind::k1f1b:
      return pipeline.one_forward_one_backward();
  }
  CHECK_THAT(false);
}

void Timeline::load(const PipelineWork& work) {
  cursors_.assign(work.stages.size() + 2, Cursor{});
  for (std::size_t s = 0; s < work.stages.size(); ++s) {
    const StageWork& stage = work.stages[s];
    Cursor& cursor = cursors_[s + 1];
    cursor.forward = stage.forward.value;
    cursor.backward = stage.backward.value;
    cursor.send_forward = s + 1 < work.stages.size() ? stage.send_forward.value : 0.0;
    cursor.send_backward = s > 0 ? stage.send_backward.value : 0.0;
  }
}

Seconds Timeline::simulate(const PipelineWork& work, std::vector<Event>* events) {
  CHECK_THAT(!work.stages.empty());
  CHECK_THAT(work.micro_batches >= 1);
  load(work);
  if (events) {
    events->clear();
    work.blocking_sends ? run_passes<true, true>(work, events) : run_passes<false, true>(work, events);
  } else {
    work.blocking_sends ? run_passes<true, false>(work, events) : run_passes<false, false>(work, events);
  }
  reduce_gradients(work, events);
  return meet_and_update(work, events);
}

void Timeline::reduce_gradients(const PipelineWork& work, std::vector<Event>* events) {
  const auto p = static_cast<std::int64_t>(work.stages.size());
  const auto m = static_cast<double>(work.micro_batches);
  stages_.assign(work.stages.size(), {});
  for (std::int64_t s = 0; s < p; ++s) {
    const StageWork& stage = work.stages[static_cast<std::size_t>(s)];
    const Cursor& cursor = cursors_[static_cast<std::size_t>(s + 1)];
    StageTimes& times = stages_[static_cast<std::size_t>(s)];
    times.compute = m * (stage.forward + stage.backward);
    if (work.blocking_sends) times.sending = Seconds(m * (cursor.send_forward + cursor.send_backward));
    times.pipeline_end = Seconds(cursor.free);
    // Where the most are held, a forward has just begun to hold the last of them, and a backward comes next.
    times.in_flight = most_in_flight(work.schedule, s, p, work.micro_batches);
    times.peak = static_cast<double>(times.in_flight) * stage.held +
                 std::max(stage.forward_extra, stage.backward_extra);

    const Seconds last_start(cursor.backward_start);
    const Seconds last_end = last_start + stage.backward;
    Seconds reduced = last_start;
    for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
      const Bucket& bucket = stage.buckets[i];
      const Seconds start = std::max(reduced, last_end - bucket.ready_before_end);
      reduced = add(events, s, EventKind::kReduce, static_cast<std::int64_t>(i), start, bucket.seconds);
    }
    times.reduce_end = times.end = std::max(times.pipeline_end, reduced);
  }
}

Seconds Timeline::meet_and_update(const PipelineWork& work, std::vector<Event>* events) {
  const auto p = static_cast<std::int64_t>(work.stages.size());
  StageTimes& first = stages_.front();
  StageTimes& last = stages_.back();
  if (p > 1 && work.embedding_exchange.value > 0) {
    const Seconds both_there = std::max(first.end, last.end);
    first.end = add(events, 0, EventKind::kExchange, 0, both_there, work.embedding_exchange);
    last.end = add(events, p - 1, EventKind::kExchange, 0, both_there, work.embedding_exchange);
    first.exchange = first.end - first.reduce_end;
    last.exchange = last.end - last.reduce_end;
  }
  Seconds all_there;
  for (const StageTimes& times : stages_) all_there = std::max(all_there, times.end);
  Seconds step;
  for (std::int64_t s = 0; s < p; ++s) {
    const StageWork& stage = work.stages[static_cast<std::size_t>(s)];
    Seconds end = add(events, s, EventKind::kMeet, 0, all_there, work.meet);
    end = add(events, s, EventKind::kOptimizer, 0, end, stage.optimizer);
    end = add(events, s, EventKind::kGather, 0, end, stage.gather);
    stages_[static_cast<std::size_t>(s)].end = end;
    step = std::max(step, end);
  }
  return step;
}

}  // namespace foretrain
