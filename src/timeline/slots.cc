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
//
// While all stages are at work, slots repeat: where clocks have advanced as in a period before (repetition.h), further
// periods are added up, to the same bits. Under 1f1b all stages come to move at one pace. Under gpipe nobody waits for
// a stage after it, so each has a pace of its own: that of the stage before it, or a longer one that is its own alone.
#include <algorithm>

#include "timeline/repetition.h"
#include "timeline/timeline.h"

namespace foretrain {
namespace {

// Turns of 1f1b after which clocks are compared, one length after another until one is found to repeat: a path that
// goes down n stages and up again comes back after n turns. The number of stages, made even, is the last of them.
constexpr std::int64_t kTurns[] = {8, 12, 10, 14};
constexpr std::int64_t kSlotsOfGpipe = 8;  // likewise; one would do but for rounding
// Fewer micro-batches than this, or so many for each stage, are run sooner than watched.
constexpr std::int64_t kFewMicroBatches = 192, kFewOfStage = 8;

}  // namespace

template <bool kBlocking, bool kRecord>
class Timeline::Slots {
 public:
  // `first` is the first stage's cursor; the ones before it and after the last may be written.
  Slots(Cursor* first, std::int64_t stages, std::int64_t micro_batches, std::vector<Cursor>& before,
        std::vector<Event>* events)
      : first_(first), p_(stages), m_(micro_batches), before_(before), events_(events) {}

  void gpipe() {
    const std::int64_t end = m_ + p_ - 1;
    run_forwards(0, p_ - 1);
    run_forwards(pass_over_slots(kDown), end);
    run_backwards(0, p_ - 1);
    run_backwards(pass_over_slots(kUp), end);
  }

  void one_forward_one_backward() {
    run_turns(0, 2 * p_);
    run_turns(pass_over_turns(), 2 * (m_ + p_ - 1));
  }

 private:
  enum Way { kDown, kUp };

  std::int64_t turns_of(std::size_t choice) const {
    const std::size_t n = choice % (std::size(kTurns) + 1);
    return n < std::size(kTurns) ? kTurns[n] : p_ + p_ % 2;
  }

  // From the stage that is ahead to the one behind it, so that a message is read before the next is written.
  template <bool kWatched = false>
  void run_forwards(std::int64_t slot, std::int64_t end) {
    for (; slot < end; ++slot)
      for (std::int64_t s = std::min(slot, p_ - 1); s >= std::max<std::int64_t>(0, slot - m_ + 1); --s)
        forward<kWatched>(s);
  }
  template <bool kWatched = false>
  void run_backwards(std::int64_t slot, std::int64_t end) {
    for (; slot < end; ++slot) {
      const std::int64_t last = std::min(p_ - 1, p_ - 1 - slot + m_ - 1);
      for (std::int64_t s = std::max<std::int64_t>(0, p_ - 1 - slot); s <= last; ++s) backward<kWatched>(s);
    }
  }
  void run_turns(std::int64_t slot, std::int64_t end) {
    const std::int64_t reach = 2 * (m_ - 1);  // slots between a stage's first and last forward
    for (; slot < end; ++slot) {
      const std::int64_t odd = slot % 2;
      for (std::int64_t s = std::max(odd, slot - reach); s <= std::min(slot, p_ - 1); s += 2) forward(s);
      const std::int64_t behind = 2 * p_ - 1 - slot;
      const std::int64_t last = std::min(p_ - 1, behind + reach);
      for (std::int64_t s = std::max(1 - odd, behind); s <= last; s += 2) backward(s);
    }
  }

  bool is_watched() const { return !kRecord && m_ >= kFewMicroBatches && m_ >= kFewOfStage * p_; }

  void remember() { before_.assign(first_, first_ + p_); }

  // Every clock goes on as in the period since it was remembered.
  void advance(std::int64_t periods) {
    if (periods == 0) return;
    const auto n = static_cast<double>(periods);
    for (std::int64_t s = 0; s < p_; ++s) {
      Cursor& now = first_[s];
      const Cursor& before = before_[static_cast<std::size_t>(s)];
      for (const auto clock : {&Cursor::free, &Cursor::activation, &Cursor::gradient, &Cursor::link_forward,
                               &Cursor::link_backward})
        now.*clock += n * (now.*clock - before.*clock);
    }
  }

  // Of 1f1b: all stages wait for each other. (The first waits for no activation, the last for no gradient.)
  Repetition one_pace() const {
    Repetition repetition;
    const double pace = first_[0].free - before_[0].free;
    for (std::int64_t s = 0; s < p_; ++s) {
      const Cursor &now = first_[s], &before = before_[static_cast<std::size_t>(s)];
      const auto goes_on = [&](double Cursor::*clock) {
        return repetition.add(before.*clock, now.*clock, pace);
      };
      if (!goes_on(&Cursor::free) || (s > 0 && !goes_on(&Cursor::activation)) ||
          (s + 1 < p_ && !goes_on(&Cursor::gradient)) ||
          (!kBlocking && (!goes_on(&Cursor::link_forward) || !goes_on(&Cursor::link_backward))))
        return Repetition::none();
    }
    return repetition;
  }

  // From slot 2p to slot 2m every stage runs a forward and a backward in two slots. The slot from which on there is
  // nothing more to pass over, which may be any of these.
  std::int64_t pass_over_turns() {
    std::int64_t slot = 2 * p_, turns = kTurns[0];
    std::size_t choice = 0;
    for (bool found = false; is_watched() && m_ - slot / 2 > turns;) {
      remember();
      run_turns(slot, slot + 2 * turns);
      slot += 2 * turns;
      const std::int64_t periods = one_pace().periods((m_ - slot / 2 - 1) / turns);
      advance(periods);
      slot += 2 * turns * periods;
      found = found || periods > 0;
      if (!found) turns = turns_of(++choice);
    }
    return slot;
  }

  // Likewise of gpipe, from slot p - 1 to slot m, where every stage runs one pass in each.
  std::int64_t pass_over_slots(Way way) {
    std::int64_t slot = p_ - 1;
    while (is_watched() && m_ - slot > kSlotsOfGpipe) {
      remember();
      for (std::int64_t s = 0; s < p_; ++s) first_[s].waited = first_[s].sent_at_once = false;
      if (way == kDown)
        run_forwards<true>(slot, slot + kSlotsOfGpipe);
      else
        run_backwards<true>(slot, slot + kSlotsOfGpipe);
      slot += kSlotsOfGpipe;
      const std::int64_t periods = own_paces(way).periods((m_ - slot - 1) / kSlotsOfGpipe);
      advance(periods);
      slot += kSlotsOfGpipe * periods;
    }
    return slot;
  }

  // A stage whose messages come at its own pace goes on, and so does one that is slower and has not waited. Its
  // messages follow likewise.
  Repetition own_paces(Way way) const {
    const auto message = way == kDown ? &Cursor::activation : &Cursor::gradient;
    const auto link = way == kDown ? &Cursor::link_forward : &Cursor::link_backward;
    Repetition repetition;
    for (std::int64_t s = 0; s < p_; ++s) {
      const Cursor &now = first_[s], &before = before_[static_cast<std::size_t>(s)];
      const auto pace = [&](double Cursor::*clock) { return now.*clock - before.*clock; };
      const auto goes_on = [&](double Cursor::*clock) {
        return repetition.add(before.*clock, now.*clock, pace(clock));
      };
      const double own = pace(&Cursor::free), given = pace(message);
      if (!goes_on(&Cursor::free) || !goes_on(message) || (given != own && (now.waited || given > own)))
        return Repetition::none();
      if (kBlocking) continue;
      const double links = pace(link);
      if (!goes_on(link) || (links != own && (now.sent_at_once || links < own))) return Repetition::none();
    }
    return repetition;
  }

  template <bool kWatched = false>
  void forward(std::int64_t s) {
    Cursor& stage = first_[s];
    const double start = receive<kWatched>(s, stage.activation, stage.receive_forward, stage.forwards);
    const double end = start + stage.forward;
    const double arrival = send<kWatched>(stage, end, stage.send_forward, stage.link_forward);
    first_[s + 1].activation = first_[s + 1].receive_forward > 0 ? end : arrival;
    if constexpr (kRecord) {
      record(s, EventKind::kForward, stage.forwards++, start, end, stage.send_forward, arrival);
    }
  }

  template <bool kWatched = false>
  void backward(std::int64_t s) {
    Cursor& stage = first_[s];
    const double start = receive<kWatched>(s, stage.gradient, stage.receive_backward, stage.backwards);
    const double end = start + stage.backward;
    stage.backward_start = start;
    const double arrival = send<kWatched>(stage, end, stage.send_backward, stage.link_backward);
    first_[s - 1].gradient = first_[s - 1].receive_backward > 0 ? end : arrival;
    if constexpr (kRecord) {
      record(s, EventKind::kBackward, stage.backwards++, start, end, stage.send_backward, arrival);
    }
  }

  // When the pass that needs a message can start. `there` is when it has arrived or, where receiving takes
  // the stage's time, when it can be taken.
  template <bool kWatched>
  double receive(std::int64_t s, double there, double seconds, std::int64_t micro_batch) {
    Cursor& stage = first_[s];
    if constexpr (kWatched) stage.waited |= there > stage.free;
    const double ready = std::max(stage.free, there);
    if constexpr (kRecord)
      if (seconds > 0)
        events_->push_back({s, EventKind::kReceive, micro_batch, Seconds(ready), Seconds(ready + seconds)});
    return ready + seconds;
  }

  // A pass has ended: its message leaves. When it arrives.
  template <bool kWatched>
  static double send(Cursor& stage, double end, double seconds, double& link) {
    if constexpr (kBlocking) return stage.free = end + seconds;
    stage.free = end;
    if constexpr (kWatched) stage.sent_at_once |= end > link;
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
  std::vector<Cursor>& before_;  // the stages a period ago
  std::vector<Event>* events_;
};

template <bool kBlocking, bool kRecord>
void Timeline::run_passes(const PipelineWork& work, std::vector<Event>* events) {
  Slots<kBlocking, kRecord> slots(cursors_.data() + 1, work.ranks(), work.micro_batches, cursors_before_,
                                  events);
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
