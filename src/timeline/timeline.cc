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

// Whether the schedule is run by its orders; then the book is open there.
bool Timeline::follow_orders(const PipelineWork& work) {
  if (work.schedule == ScheduleKind::kGpipe || work.schedule == ScheduleKind::k1f1b) {
    CHECK_THAT(work.chunks_per_rank == 1);
    return false;
  }
  CHECK_THAT(work.chunks_per_rank == chunks_per_rank(work.schedule, work.chunks_per_rank));
  book_.open(work.schedule, {work.ranks(), work.chunks_per_rank, work.micro_batches_per_chunk()});
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
    CHECK_THAT(!executor_.run(work, book_.orders(), events));
    take_ends(work);
  } else {
    run_slots(work, events);
  }
  if (!events) {
    run_.chunks.clear();  // nothing is known until all of it is there, should memory run out
    run_stages_ = stages_;
    run_counts_ = counts_;
    run_last_ = last_;
    run_held_ = held_at_peak_;
    run_waiting_ = waiting_at_peak_;
    run_.take(work);
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
  measured_.chunks.clear();
  executor_.measure(work, book_);
  take_footprint();
  measured_stages_ = stages_;
  measured_.take(work);
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
  const Pipeline pipeline = work.pipeline();
  const auto m = static_cast<double>(work.micro_batches_per_chunk());
  for (std::int64_t n = 0; n < pipeline.pieces(); ++n) {
    const auto i = static_cast<std::size_t>(n);
    const ChunkLoad& load = work.chunks[i];
    const std::int64_t rank = pipeline.rank(n);
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
    if (!pipeline.last(n) && pipeline.rank(n + 1) != rank) {
      sends += load.send_forward;
      if (work.blocking_receives) sends += work.chunks[i + 1].send_backward;
    }
    if (!pipeline.first(n) && pipeline.rank(n - 1) != rank) {
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
  const Pipeline pipeline = work.pipeline();
  for (std::int64_t r = 0; r < work.ranks(); ++r) {
    StageTimes& times = stages_[static_cast<std::size_t>(r)];
    Seconds reduced = work.reduce_beside ? Seconds(0) : times.pipeline_end;
    std::int64_t index = 0;
    const auto before = [&](std::int64_t a, std::int64_t b) {  // of two pieces
      const double x = last_[static_cast<std::size_t>(a)].end, y = last_[static_cast<std::size_t>(b)].end;
      return x < y || (x == y && a < b);
    };
    for (std::int64_t piece = -1, done = 0; done < work.chunks_per_rank; ++done) {
      std::int64_t next = -1;
      for (std::int64_t c = 0; c < work.chunks_per_rank; ++c) {
        const std::int64_t n = pipeline.piece(r, c);
        if ((piece < 0 || before(piece, n)) && (next < 0 || before(n, next))) next = n;
      }
      piece = next;
      const LastPass& last = last_[static_cast<std::size_t>(piece)];
      reduced = std::max(reduced, Seconds(last.start));
      for (const Bucket& bucket : work.chunks[static_cast<std::size_t>(piece)].buckets) {
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
