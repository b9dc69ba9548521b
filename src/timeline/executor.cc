#include "timeline/executor.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/check.h"

#define INLINED [[gnu::always_inline]] inline

namespace foretrain {
namespace {

constexpr std::size_t kMostPieces = 65'535;
// Two repeats are alike up to rounding, in parts of the time since the step began.
constexpr double kAlike = 1e-13;
// Fewer passes than this are simulated sooner than watched.
constexpr std::int64_t kFewPasses = 16'384;

std::size_t index_of(PassKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

std::optional<std::string> Executor::run(const PipelineWork& work, const Orders& orders,
                                         std::vector<Event>* events) {
  CHECK_THAT(work.chunks.size() <= kMostPieces);
  pipeline_ = work.pipeline();
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
  pieces_.assign(work.chunks.size(), {});
  links_.assign(static_cast<std::size_t>(3 * p), 0.0);
  ranks_.assign(static_cast<std::size_t>(p), {});
  turns_.clear();
  for (std::int64_t r = 0; r < p; ++r) load_turns(orders, r);
  for (std::int64_t n = 0; n < pipeline_.pieces(); ++n) load_piece(work, n);
}

void Executor::load_turns(const Orders& orders, std::int64_t r) {
  const auto phases = orders.phases(r);
  Rank& rank = ranks_[static_cast<std::size_t>(r)];
  rank.phase = phases.data();
  rank.end = phases.data() + phases.size();
  for (const Orders::Phase& phase : phases) {
    if (turns_.size() < phase.first + phase.length) turns_.resize(phase.first + phase.length);
    const auto passes = orders.passes(phase);
    for (std::size_t i = 0; i < passes.size(); ++i)
      turns_[phase.first + i] = {passes[i].kind, passes[i].paired,
                                 static_cast<std::uint16_t>(pipeline_.piece(r, passes[i].chunk))};
  }
}

void Executor::load_piece(const PipelineWork& work, std::int64_t n) {
  const ChunkLoad& load = work.chunks[static_cast<std::size_t>(n)];
  Piece& piece = pieces_[static_cast<std::size_t>(n)];
  piece.seconds[index_of(PassKind::kForward)] = load.forward.value;
  piece.seconds[index_of(PassKind::kBackward)] = load.backward.value;
  piece.seconds[index_of(PassKind::kInput)] = load.input.value;
  piece.seconds[index_of(PassKind::kWeight)] = load.weight.value;
  const std::int64_t rank = pipeline_.rank(n);
  // Messages between two ranks follow one another, whichever chunks they are for; a third link, to oneself,
  // takes no time.
  const auto connect = [&](Way way, std::int64_t to, Seconds seconds) {
    const std::int64_t other = pipeline_.rank(to);
    piece.target[way] = static_cast<std::int32_t>(2 * to + way);
    const std::int64_t side = other == rank ? 2 : other == (rank + 1) % pipeline_.stages ? 0 : 1;
    piece.link[way] = static_cast<std::int32_t>(3 * rank + side);
    if (other == rank) return;
    piece.send[way] = seconds.value;
    const bool taken = work.blocking_sends && work.blocking_receives;
    if (taken) pieces_[static_cast<std::size_t>(to)].receive[way] = seconds.value;
    piece.travel[way] = taken ? 0.0 : seconds.value;
  };
  if (pipeline_.last(n)) {  // its own forward is what its backward waits for
    piece.target[kDown] = static_cast<std::int32_t>(2 * n + kUp);
    piece.link[kDown] = static_cast<std::int32_t>(3 * rank + 2);
  } else {
    connect(kDown, n + 1, load.send_forward);
  }
  if (!pipeline_.first(n)) connect(kUp, n - 1, load.send_backward);
}

void Executor::make_queues(std::int64_t micro_batches) {
  const auto in_flight = footprint_.in_flight();
  queues_.assign(2 * pieces_.size(), {});
  std::uint32_t total = 0;
  for (std::size_t n = 0; n < pieces_.size(); ++n) {
    const bool first = pipeline_.first(static_cast<std::int64_t>(n));
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
  for (Rank& rank : ranks_) {
    rank.longest = std::max_element(rank.phase, rank.end, [](const Orders::Phase& a, const Orders::Phase& b) {
      return a.repeats < b.repeats;
    });
    passes += rank.longest->length;
    repeats = repeats < 0 ? rank.longest->repeats : std::min(repeats, rank.longest->repeats);
  }
  if (recorded || repeats * passes < kFewPasses) return;
  count_micro_batches();
  const std::int64_t each = each_down_.front();
  for (std::size_t n = 0; n < pieces_.size(); ++n)
    if (each == 0 || each_down_[n] != each || each_up_[n] != each) return;
  reach_ = 1;
  for (std::size_t n = 0; n + 1 < pieces_.size(); ++n) {
    if (pipeline_.last(static_cast<std::int64_t>(n))) continue;
    for (const auto* before : {&before_down_, &before_up_})
      reach_ = std::max(reach_, std::abs((*before)[n] - (*before)[n + 1]) / each + 2);
  }
  // Long repeats are compared with the one before; short ones with the twelfth before, as times may take
  // turns.
  period_ = each == 1 ? 12 : 1;
  last_free_.assign(turns_.size() * static_cast<std::size_t>(period_), 0.0);
  last_arrival_.assign(last_free_.size(), 0.0);
  watching_ = true;
}

// Micro-batches through each piece, down and up: before the first repeat, and in each.
void Executor::count_micro_batches() {
  for (auto* counts : {&before_down_, &before_up_, &each_down_, &each_up_}) counts->assign(pieces_.size(), 0);
  const auto count = [&](const Orders::Phase& phase, std::int64_t times, auto& down, auto& up) {
    for (std::uint32_t i = 0; i < phase.length; ++i) {
      const Turn& turn = turns_[phase.first + i];
      if (turn.kind != PassKind::kWeight) (turn.kind == PassKind::kForward ? down : up)[turn.piece] += times;
    }
  };
  for (const Rank& rank : ranks_) {
    for (const Orders::Phase* phase = rank.phase; phase != rank.longest; ++phase)
      count(*phase, phase->repeats, before_down_, before_up_);
    count(*rank.longest, 1, each_down_, each_up_);
  }
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
INLINED double Executor::deliver(const Piece& piece, Way way, double end, double& arrival) {
  arrival = end;
  const std::int32_t target = piece.target[way];
  if (target < 0) return end;
  double free = end;
  if constexpr (kBlocking) {
    arrival = end + piece.travel[way];
    free = end + piece.send[way];
  } else {
    double& link = links_[static_cast<std::size_t>(piece.link[way])];
    arrival = link = std::max(end, link) + piece.send[way];
  }
  Queue& queue = queues_[static_cast<std::size_t>(target)];
  arrivals_[queue.start + (queue.put++ & queue.mask)] = arrival;
  if (queue.waiting >= 0) {
    ready_.push_back(queue.waiting);
    queue.waiting = -1;
  }
  return free;
}

// A rank on its way through its order. All of it is inlined into advance(), so that what changes with every
// pass stays in registers.
template <bool kBlocking, bool kRecord>
class Executor::Walk {
 public:
  INLINED Walk(Executor& of, std::int32_t r, std::vector<Event>* events)
      : of_(of), r_(r), events_(events), rank_(of.ranks_[static_cast<std::size_t>(r)]) {
    free_ = rank_.free;
    at_ = rank_.at;
    late_ = rank_.late;
  }
  INLINED void go() {
    for (; rank_.phase != rank_.end; ++rank_.phase, rank_.repeat = 0) {
      first_ = of_.turns_.data() + rank_.phase->first;
      const std::int64_t repeats = rank_.phase->repeats;
      for (; rank_.repeat < repeats; ++rank_.repeat, at_ = 0)
        if (!repeat()) return;
    }
    rank_.free = free_;
    rank_.at = 0;
  }

 private:
  // Whether the repeat has ended; else the rank waits for a message.
  INLINED bool repeat() {
    const bool watched = !kRecord && of_.watching_ && rank_.phase == rank_.longest;
    if (watched) {
      const std::size_t start =
          static_cast<std::size_t>(rank_.repeat % of_.period_) * of_.turns_.size() + rank_.phase->first;
      last_free_ = of_.last_free_.data() + start;
      last_arrival_ = of_.last_arrival_.data() + start;
    }
    for (const std::uint32_t length = rank_.phase->length; at_ < length; ++at_) {
      const Turn turn = first_[at_];
      if (turn.kind == PassKind::kWeight) {
        weight_half(turn);
      } else if (!(turn.paired ? pair(turn, watched) : alone(turn))) {
        rank_.free = free_;
        rank_.at = at_;
        rank_.late = late_;
        return false;
      }
      if (watched) {
        late_.note(last_free_[at_], free_);
        if (!kBlocking) late_.note(last_arrival_[at_], arrival_);
      }
    }
    if (watched) {
      const Lateness late = late_;  // a member whose address is taken would keep all of them out of registers
      free_ += of_.end_repeat(rank_, late, free_);
      late_ = {};
    }
    return true;
  }

  INLINED void weight_half(Turn turn) {
    Piece& piece = of_.pieces_[turn.piece];
    piece.last_start = free_;
    piece.last_end = arrival_ = free_ += piece.seconds[index_of(PassKind::kWeight)];
    if constexpr (kRecord)
      record(EventKind::kWeight, turn.piece, of_.queues_[2u * turn.piece + kUp].taken - piece.put_off,
             piece.last_start, free_);
    --piece.put_off;
  }

  // Whether what it needs is there.
  INLINED bool alone(Turn turn) {
    Piece& piece = of_.pieces_[turn.piece];
    const Way way = turn.kind == PassKind::kForward ? kDown : kUp;
    Queue& queue = of_.queues_[2u * turn.piece + way];
    if (!has_come(queue)) return false;
    const double ready = std::max(free_, of_.take(queue));
    const double start = ready + piece.receive[way];
    const double end = start + piece.seconds[index_of(turn.kind)];
    free_ = of_.deliver<kBlocking>(piece, way, end, arrival_);
    if (turn.kind == PassKind::kInput) {
      ++piece.put_off;
    } else if (way == kUp) {
      piece.last_start = start;
      piece.last_end = end;
    }
    if constexpr (kRecord) {
      const EventKind kind = way == kDown                       ? EventKind::kForward
                             : turn.kind == PassKind::kBackward ? EventKind::kBackward
                                                                : EventKind::kInput;
      record_receive(turn.piece, way, queue.taken - 1, ready);
      record(kind, turn.piece, queue.taken - 1, start, end);
      record_send(turn.piece, way, queue.taken - 1, end);
    }
    return true;
  }

  // A forward and the backward after it, whose messages leave together.
  INLINED bool pair(Turn turn, bool watched) {
    const Turn second = first_[at_ + 1];
    Piece& piece = of_.pieces_[turn.piece];
    Piece& other = of_.pieces_[second.piece];
    Queue& down = of_.queues_[2u * turn.piece + kDown];
    Queue& up = of_.queues_[2u * second.piece + kUp];
    if (!has_come(down) || !has_come(up)) return false;
    const double ready = std::max({free_, of_.take(down), of_.take(up)});
    const double start = ready + piece.receive[kDown] + other.receive[kUp];
    const double middle = start + piece.seconds[index_of(PassKind::kForward)];
    const double end = middle + other.seconds[index_of(second.kind)];
    other.last_start = middle;
    other.last_end = end;
    const double sent = of_.deliver<kBlocking>(piece, kDown, end, arrival_);
    if constexpr (kRecord) {
      record_receive(turn.piece, kDown, down.taken - 1, ready);
      record_receive(second.piece, kUp, up.taken - 1, ready + piece.receive[kDown]);
      record(EventKind::kForward, turn.piece, down.taken - 1, start, middle);
      record(EventKind::kBackward, second.piece, up.taken - 1, middle, end);
      record_send(turn.piece, kDown, down.taken - 1, end);
    }
    if (watched && !kBlocking) late_.note(last_arrival_[at_], arrival_);
    ++at_;
    free_ = of_.deliver<kBlocking>(other, kUp, sent, arrival_);
    if constexpr (kRecord) record_send(second.piece, kUp, up.taken - 1, sent);
    return true;
  }

  // Whether a message is there; else the rank is told when one comes.
  INLINED bool has_come(Queue& queue) const {
    if (!queue.empty()) return true;
    queue.waiting = r_;
    return false;
  }

  void record(EventKind kind, std::size_t n, std::int64_t micro_batch, double start, double end) const {
    const Pipeline& pipeline = of_.pipeline_;
    const auto piece = static_cast<std::int64_t>(n);
    // The second copy's micro-batches are the second half.
    if (runs_both_ways(pipeline.schedule) && piece >= pipeline.stages) micro_batch += of_.queues_[0].put;
    events_->push_back({r_, kind, micro_batch, Seconds(start), Seconds(end), pipeline.chunk(piece)});
  }
  void record_send(std::size_t n, Way way, std::int64_t micro_batch, double end) const {
    const double sends = of_.pieces_[n].send[way];
    if (sends == 0) return;
    const double over = kBlocking ? end + sends : arrival_;
    record(EventKind::kSend, n, micro_batch, std::max(end, over - sends), over);
  }
  void record_receive(std::size_t n, Way way, std::int64_t micro_batch, double ready) const {
    const double receives = of_.pieces_[n].receive[way];
    if (receives > 0) record(EventKind::kReceive, n, micro_batch, ready, ready + receives);
  }

  Executor& of_;
  std::int32_t r_;
  std::vector<Event>* events_;
  Rank& rank_;
  double free_ = 0.0;
  double arrival_ = 0.0;  // of the last message
  std::uint32_t at_ = 0;
  Lateness late_;
  const Turn* first_ = nullptr;  // of the phase
  double* last_free_ = nullptr;  // of the turns of this repeat, a period ago
  double* last_arrival_ = nullptr;
};

// Until the rank's order is over or it has to wait for a message.
template <bool kBlocking, bool kRecord>
void Executor::advance(std::int32_t r, std::vector<Event>* events) {
  Walk<kBlocking, kRecord>(*this, r, events).go();
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

}  // namespace foretrain
