#include "timeline/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/check.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostNodes = 65'535;
// Two repeats are alike up to rounding, in parts of the time since the step began.
constexpr double kAlike = 1e-13;
// Fewer passes than this are simulated sooner than watched.
constexpr std::int64_t kFewPasses = 16'384;

std::size_t index_of(PassKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

std::optional<std::string> Executor::run(const PipelineWork& work, const Orders& orders,
                                         std::vector<Event>* events) {
  CHECK_THAT(work.chunks.size() <= kMostNodes);
  placement_ = {work.schedule, work.ranks(), work.chunks_per_rank};
  load(work, orders);
  make_queues(work.micro_batches_per_chunk());
  watch(events != nullptr);
  if (events) {
    work.blocking_sends ? run_all<true, true>(events) : run_all<false, true>(events);
  } else {
    work.blocking_sends ? run_all<true, false>(events) : run_all<false, false>(events);
  }
  return deadlock();
}

void Executor::load(const PipelineWork& work, const Orders& orders) {
  const std::int64_t p = work.ranks();
  nodes_.assign(work.chunks.size(), {});
  links_.assign(static_cast<std::size_t>(3 * p), 0.0);
  ranks_.assign(static_cast<std::size_t>(p), {});
  steps_.clear();
  for (std::int64_t r = 0; r < p; ++r) {
    const auto phases = orders.phases(r);
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    rank.phase = phases.data();
    rank.end = phases.data() + phases.size();
    for (const Orders::Phase& phase : phases) {
      if (steps_.size() < phase.first + phase.length) steps_.resize(phase.first + phase.length);
      const auto passes = orders.passes(phase);
      for (std::size_t i = 0; i < passes.size(); ++i)
        steps_[phase.first + i] = {passes[i].kind, passes[i].paired,
                                   static_cast<std::uint16_t>(placement_.node(r, passes[i].chunk))};
    }
  }
  for (std::int64_t n = 0; n < placement_.nodes(); ++n) {
    const ChunkLoad& load = work.chunks[static_cast<std::size_t>(n)];
    Node& node = nodes_[static_cast<std::size_t>(n)];
    node.seconds[index_of(PassKind::kForward)] = load.forward.value;
    node.seconds[index_of(PassKind::kBackward)] = load.backward.value;
    node.seconds[index_of(PassKind::kInput)] = load.input.value;
    node.seconds[index_of(PassKind::kWeight)] = load.weight.value;
    const std::int64_t rank = placement_.rank(n);
    // Messages between two ranks follow one another, whichever chunks they are for; a third link, to oneself,
    // takes no time.
    const auto connect = [&](Way way, std::int64_t to, Seconds seconds) {
      const std::int64_t other = placement_.rank(to);
      node.target[way] = static_cast<std::int32_t>(2 * to + way);
      const std::int64_t side = other == rank ? 2 : other == (rank + 1) % p ? 0 : 1;
      node.link[way] = static_cast<std::int32_t>(3 * rank + side);
      if (other == rank) return;
      node.send[way] = seconds.value;
      const bool taken = work.blocking_sends && work.blocking_receives;
      if (taken) nodes_[static_cast<std::size_t>(to)].receive[way] = seconds.value;
      node.travel[way] = taken ? 0.0 : seconds.value;
    };
    if (placement_.last(n)) {  // its own forward is what its backward waits for
      node.target[kDown] = static_cast<std::int32_t>(2 * n + kUp);
      node.link[kDown] = static_cast<std::int32_t>(3 * rank + 2);
    } else {
      connect(kDown, n + 1, load.send_forward);
    }
    if (!placement_.first(n)) connect(kUp, n - 1, load.send_backward);
  }
}

void Executor::make_queues(std::int64_t micro_batches) {
  const auto in_flight = footprint_.in_flight();
  queues_.assign(2 * nodes_.size(), {});
  std::uint32_t total = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const bool first = placement_.first(static_cast<std::int64_t>(n));
    for (const Way way : {kDown, kUp}) {
      // No more can be on their way down than the sender has in flight, nor up than the receiver has.
      const std::int64_t most = first && way == kDown ? 1 : in_flight[way == kDown ? n - 1 : n];
      Queue& queue = queues_[2 * n + way];
      queue.start = total;
      queue.mask = std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(1, most))) - 1;
      if (first && way == kDown)
        queue.put = static_cast<std::uint32_t>(micro_batches);  // all there from the start
      total += queue.mask + 1;
    }
  }
  arrivals_.assign(total, 0.0);
}

// Whether the phases that repeat most are worth watching, and for how many repeats they must be alike.
void Executor::watch(bool recorded) {
  watching_ = false;
  passed_over_ = 0;
  std::int64_t repeats = -1, passes = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.longest = rank.phase;
    for (const Orders::Phase* phase = rank.phase; phase != rank.end; ++phase)
      if (phase->repeats > rank.longest->repeats) rank.longest = phase;
    passes += rank.longest->length;
    repeats = repeats < 0 ? rank.longest->repeats : std::min(repeats, rank.longest->repeats);
  }
  if (recorded || repeats * passes < kFewPasses) return;
  // Micro-batches through each node, down and up: before the first repeat, and in each.
  for (auto* counts : {&before_down_, &before_up_, &each_down_, &each_up_}) counts->assign(nodes_.size(), 0);
  for (const Rank& rank : ranks_) {
    for (const Orders::Phase* phase = rank.phase; phase <= rank.longest; ++phase) {
      const bool longest = phase == rank.longest;
      auto& down = longest ? each_down_ : before_down_;
      auto& up = longest ? each_up_ : before_up_;
      const std::int64_t times = longest ? 1 : phase->repeats;
      for (std::uint32_t i = 0; i < phase->length; ++i) {
        const Step& step = steps_[phase->first + i];
        if (step.kind != PassKind::kWeight) (step.kind == PassKind::kForward ? down : up)[step.node] += times;
      }
    }
  }
  const std::int64_t each = each_down_.front();
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (each == 0 || each_down_[n] != each || each_up_[n] != each) return;
  reach_ = 1;
  for (std::size_t n = 0; n + 1 < nodes_.size(); ++n) {
    if (placement_.last(static_cast<std::int64_t>(n))) continue;
    for (const auto* before : {&before_down_, &before_up_})
      reach_ = std::max(reach_, std::abs((*before)[n] - (*before)[n + 1]) / each + 2);
  }
  // Long repeats are compared with the one before; short ones with the twelfth before, as times may take
  // turns.
  period_ = each == 1 ? 12 : 1;
  last_free_.assign(steps_.size() * static_cast<std::size_t>(period_), 0.0);
  last_arrival_.assign(last_free_.size(), 0.0);
  watching_ = true;
}

// A rank has ended one repeat of its longest phase at `free`. By how much all clocks are put forward, if all
// ranks have been alike for long enough: as many repeats as messages reach back, and as one rank has run
// ahead of another here.
double Executor::end_repeat(Rank& rank, const Lateness& late, double free) {
  const double rounding = kAlike * free;
  const bool alike = late.most - late.least <= rounding;
  rank.steady = !alike ? 0 : std::abs(late.most - rank.pace) <= rounding ? rank.steady + 1 : 1;
  rank.pace = late.most;
  if (rank.steady < reach_) return 0.0;

  std::int64_t fewest = rank.steady, ahead = rank.repeat, behind = rank.repeat, left = rank.phase->repeats;
  for (const Rank& other : ranks_) {
    if (other.steady < reach_ || other.phase != other.longest || std::abs(other.pace - rank.pace) > rounding)
      return 0.0;
    fewest = std::min(fewest, other.steady);
    ahead = std::max(ahead, other.repeat);
    behind = std::min(behind, other.repeat);
    left = std::min(left, other.phase->repeats - other.repeat - 1);
  }
  if (fewest < reach_ + ahead - behind + period_) return 0.0;
  // From here on there is nothing to watch for.
  watching_ = false;
  const std::int64_t periods = (left - 1) / period_, skipped = periods * period_;
  if (skipped <= 0) return 0.0;
  passed_over_ = skipped;
  const double shift = static_cast<double>(periods) * rank.pace;
  for (Rank& other : ranks_) other.free += shift, other.repeat += skipped;
  for (double& link : links_) link += shift;
  for (double& arrival : arrivals_) arrival += shift;
  return shift;
}

// A pass has ended and its message leaves: when it arrives, and when the rank can go on.
template <bool kBlocking>
inline double Executor::deliver(const Node& node, Way way, double end, double& arrival) {
  arrival = end;
  const std::int32_t target = node.target[way];
  if (target < 0) return end;
  double free = end;
  if constexpr (kBlocking) {
    arrival = end + node.travel[way];
    free = end + node.send[way];
  } else {
    double& link = links_[static_cast<std::size_t>(node.link[way])];
    arrival = link = std::max(end, link) + node.send[way];
  }
  Queue& queue = queues_[static_cast<std::size_t>(target)];
  arrivals_[queue.start + (queue.put++ & queue.mask)] = arrival;
  if (queue.waiting >= 0) {
    ready_.push_back(queue.waiting);
    queue.waiting = -1;
  }
  return free;
}

// Until the rank's order is over or it has to wait for a message.
template <bool kBlocking, bool kRecord>
void Executor::advance(std::int32_t r, std::vector<Event>* events) {
  Rank& rank = ranks_[static_cast<std::size_t>(r)];
  const auto record = [&](EventKind kind, std::size_t n, std::int64_t micro_batch, double start, double end) {
    const auto id = static_cast<std::int64_t>(n);
    // The second copy's micro-batches are the second half.
    if (runs_both_ways(placement_.kind) && id >= placement_.ranks) micro_batch += queues_[0].put;
    events->push_back({r, kind, micro_batch, Seconds(start), Seconds(end), placement_.chunk(id)});
  };
  const auto record_send = [&](std::size_t n, Way way, std::int64_t micro_batch, double end, double arrival) {
    const double sends = nodes_[n].send[way];
    if (sends == 0) return;
    const double over = kBlocking ? end + sends : arrival;
    record(EventKind::kSend, n, micro_batch, std::max(end, over - sends), over);
  };
  const auto record_receive = [&](std::size_t n, Way way, std::int64_t micro_batch, double ready) {
    const double receives = nodes_[n].receive[way];
    if (receives > 0) record(EventKind::kReceive, n, micro_batch, ready, ready + receives);
  };

  double free = rank.free;
  std::uint32_t at = rank.at;
  Lateness late = rank.late;
  const auto wait = [&](Queue& queue) {
    queue.waiting = r;
    rank.free = free;
    rank.at = at;
    rank.late = late;
  };
  for (; rank.phase != rank.end; ++rank.phase, rank.repeat = 0) {
    const std::uint32_t first = rank.phase->first, length = rank.phase->length;
    const Step* steps = steps_.data() + first;
    const std::int64_t repeats = rank.phase->repeats;
    for (; rank.repeat < repeats; ++rank.repeat, at = 0) {
      const bool watched = !kRecord && watching_ && rank.phase == rank.longest;
      double* last_free = nullptr;  // of the steps of this repeat, a period ago
      double* last_arrival = nullptr;
      if (watched) {
        const std::size_t start = static_cast<std::size_t>(rank.repeat % period_) * steps_.size() + first;
        last_free = last_free_.data() + start;
        last_arrival = last_arrival_.data() + start;
      }
      while (at < length) {
        const Step step = steps[at];
        Node& node = nodes_[step.node];
        double arrival = 0.0;
        if (step.kind == PassKind::kWeight) {
          node.last_start = free;
          node.last_end = arrival = free += node.seconds[index_of(PassKind::kWeight)];
          if constexpr (kRecord)
            record(EventKind::kWeight, step.node, queues_[2u * step.node + kUp].taken - node.put_off,
                   node.last_start, free);
          --node.put_off;
        } else if (!step.paired) {
          const Way way = step.kind == PassKind::kForward ? kDown : kUp;
          Queue& queue = queues_[2u * step.node + way];
          if (queue.empty()) return wait(queue);
          const double ready = std::max(free, arrivals_[queue.start + (queue.taken++ & queue.mask)]);
          const double start = ready + node.receive[way];
          const double end = start + node.seconds[index_of(step.kind)];
          free = deliver<kBlocking>(node, way, end, arrival);
          if (step.kind == PassKind::kInput) {
            ++node.put_off;
          } else if (way == kUp) {
            node.last_start = start;
            node.last_end = end;
          }
          if constexpr (kRecord) {
            const EventKind kind = way == kDown                       ? EventKind::kForward
                                   : step.kind == PassKind::kBackward ? EventKind::kBackward
                                                                      : EventKind::kInput;
            record_receive(step.node, way, queue.taken - 1, ready);
            record(kind, step.node, queue.taken - 1, start, end);
            record_send(step.node, way, queue.taken - 1, end, arrival);
          }
        } else {
          const Step second = steps[at + 1];
          Node& other = nodes_[second.node];
          Queue& down = queues_[2u * step.node + kDown];
          Queue& up = queues_[2u * second.node + kUp];
          if (down.empty()) return wait(down);
          if (up.empty()) return wait(up);
          const double ready = std::max({free, arrivals_[down.start + (down.taken++ & down.mask)],
                                         arrivals_[up.start + (up.taken++ & up.mask)]});
          const double start = ready + node.receive[kDown] + other.receive[kUp];
          const double middle = start + node.seconds[index_of(PassKind::kForward)];
          const double end = middle + other.seconds[index_of(second.kind)];
          other.last_start = middle;
          other.last_end = end;
          const double sent = deliver<kBlocking>(node, kDown, end, arrival);
          if constexpr (kRecord) {
            record_receive(step.node, kDown, down.taken - 1, ready);
            record_receive(second.node, kUp, up.taken - 1, ready + node.receive[kDown]);
            record(EventKind::kForward, step.node, down.taken - 1, start, middle);
            record(EventKind::kBackward, second.node, up.taken - 1, middle, end);
            record_send(step.node, kDown, down.taken - 1, end, arrival);
          }
          if (watched && !kBlocking) late.note(last_arrival[at], arrival);
          ++at;
          free = deliver<kBlocking>(other, kUp, sent, arrival);
          if constexpr (kRecord) record_send(second.node, kUp, up.taken - 1, sent, arrival);
        }
        if (watched) {
          late.note(last_free[at], free);
          if (!kBlocking) late.note(last_arrival[at], arrival);
        }
        ++at;
      }
      if (watched) {
        free += end_repeat(rank, late, free);
        late = {};
      }
    }
  }
  rank.free = free;
  rank.at = 0;
}

template <bool kBlocking, bool kRecord>
void Executor::run_all(std::vector<Event>* events) {
  ready_.clear();
  for (auto r = static_cast<std::int32_t>(ranks_.size()); r-- > 0;) ready_.push_back(r);
  while (!ready_.empty()) {
    const std::int32_t rank = ready_.back();
    ready_.pop_back();
    advance<kBlocking, kRecord>(rank, events);
  }
}

std::int32_t Executor::lacking(std::int32_t r) const {
  const Rank& rank = ranks_[static_cast<std::size_t>(r)];
  if (rank.phase == rank.end) return -1;
  const Step& step = steps_[rank.phase->first + rank.at];
  const auto queue =
      static_cast<std::int32_t>(2 * step.node + (step.kind == PassKind::kForward ? kDown : kUp));
  if (!step.paired || queues_[static_cast<std::size_t>(queue)].empty()) return queue;
  return 2 * steps_[rank.phase->first + rank.at + 1].node + kUp;
}

// Ranks that cannot go on wait for ranks that cannot go on: following them ends in a cycle.
std::optional<std::string> Executor::deadlock() const {
  std::int32_t rank = -1;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (ranks_[r].phase != ranks_[r].end) rank = static_cast<std::int32_t>(r);
  if (rank < 0) return std::nullopt;
  const auto sender = [&](std::int32_t queue) -> std::int64_t {
    const std::int64_t node = queue / 2;
    if (queue % 2 == kDown) return placement_.rank(node - 1);
    return placement_.rank(placement_.last(node) ? node : node + 1);
  };
  for (std::size_t i = 0; i < ranks_.size(); ++i) rank = static_cast<std::int32_t>(sender(lacking(rank)));
  std::int32_t first = rank;  // the lowest of the cycle
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    rank = static_cast<std::int32_t>(sender(lacking(rank)));
    first = std::min(first, rank);
  }
  std::string text = "deadlock";
  rank = first;
  do {
    const std::int32_t queue = lacking(rank);
    const std::int64_t node = queue / 2;
    const bool down = queue % 2 == kDown;
    const bool own = !down && placement_.last(node);
    const auto next = static_cast<std::int32_t>(sender(queue));
    text += fmt::format("{} rank {} waits in {}{} of chunk {} for {} of rank {}", rank == first ? ":" : ",",
                        rank, down ? "F" : "B", queues_[static_cast<std::size_t>(queue)].taken,
                        placement_.chunk(node), down || own ? "F" : "B", next);
    rank = next;
  } while (rank != first);
  return text;
}

}  // namespace foretrain
