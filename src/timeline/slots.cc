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
#include <algorithm>

#include "timeline/timeline.h"

namespace foretrain {

template <bool kBlocking, bool kRecord>
class Timeline::Slots {
 public:
  // `first` is the first stage's cursor; the ones before it and after the last may be written.
  Slots(Cursor* first, std::int64_t stages, std::int64_t micro_batches, std::vector<Event>* events)
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
  Slots<kBlocking, kRecord> slots(cursors_.data() + 1, work.ranks(), work.micro_batches, events);
  if (work.schedule == ScheduleKind::kGpipe) {
    slots.gpipe();
  } else {
    slots.one_forward_one_backward();
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

}  // namespace foretrain
