// What a step takes at least and at most, by following a few paths through it instead of all of them.
//
// At least: whatever the schedule, a rank cannot begin before one micro-batch has come down to it, then has
// all its own passes to run; and where backwards are whole, the gradient of its last one has to go up to the
// first rank:
//
//   end of rank r  >=  forwards of the chunks above its first, once  +  all its passes and blocking messages
//   end of rank r  >=  end of rank r + 1's last backward  +  message  +  its own backward
//
// Under 1f1b a path may also turn round below a rank: rank s runs n = p - 1 - s forwards ahead, so its first
// backward starts no sooner than a round trip A below it after its first forward, and its last one no sooner
// than a round trip after its last forward:
//
//   (F) A (B F .. B F B .. B)      without n of its forwards
//   (F .. F B .. F) A (B)          without n of its backwards
//   (F) A (B F .. B F) A (B)       without either
//
// Under gpipe, all forwards come first: the longest way down, then the longest way up.
//
// At most: with every chunk as slow as the slowest, and messages part of the passes that send or take them,
// gpipe, 1f1b and interleaved take (m v + p - 1)(F + B), and no time of theirs gets less when a pass gets
// longer. With equal stages without messages both are the same.
//
// What comes after the passes (reductions, exchange, meeting, update) starts later where they end later, and
// is worked out as in the simulation. All of it is a few operations a chunk, whatever the micro-batches.
#include <algorithm>
#include <limits>

#include "timeline/schedule.h"
#include "timeline/timeline.h"

namespace foretrain {
namespace {

// A pass of a piece: alone; with the messages that keep its rank; and what passes between its end and the
// moment at which the next piece of a path can use what it made.
struct PathCost {
  double pass = 0;
  double kept = 0;
  double hand = 0;
};

class Paths {
 public:
  explicit Paths(const PipelineWork& work)
      : work_(work),
        pipeline_{work.schedule, work.ranks(), work.chunks_per_rank},
        split_(splits_backward(work.schedule)),
        serial_(work.blocking_sends && work.blocking_receives) {}

  PathCost forward(std::int64_t n) const {
    PathCost c{load(n).forward.value, load(n).forward.value, 0};
    if (!pipeline_.last(n) && leaves(n, n + 1)) c.hand = load(n).send_forward.value;
    if (work_.blocking_sends) c.kept += c.hand;
    if (serial_ && !pipeline_.first(n) && leaves(n - 1, n)) c.kept += load(n - 1).send_forward.value;
    return c;
  }
  // Of a split one, what must come before the message is its first half.
  PathCost backward(std::int64_t n) const {
    const ChunkLoad& l = load(n);
    PathCost c{l.backward.value, l.backward.value, 0};
    if (split_) {
      c.pass = std::min(l.input.value, l.backward.value);
      c.kept = std::min(l.input.value + l.weight.value, l.backward.value);
    }
    if (!pipeline_.first(n) && leaves(n, n - 1)) c.hand = l.send_backward.value;
    if (work_.blocking_sends) c.kept += c.hand;
    if (serial_ && !pipeline_.last(n) && leaves(n + 1, n)) c.kept += load(n + 1).send_backward.value;
    return c;
  }
  // All that a rank runs for one micro-batch.
  double own_passes(std::int64_t rank) const {
    double own = 0;
    for (std::int64_t c = 0; c < pipeline_.chunks_per_stage; ++c) {
      const std::int64_t n = pipeline_.piece(rank, c);
      own += forward(n).kept + backward(n).kept;
    }
    return own;
  }
  const Pipeline& pipeline() const { return pipeline_; }
  bool serial() const { return serial_; }

 private:
  const ChunkLoad& load(std::int64_t n) const { return work_.chunks[static_cast<std::size_t>(n)]; }
  bool leaves(std::int64_t from, std::int64_t to) const { return pipeline_.rank(from) != pipeline_.rank(to); }

  const PipelineWork& work_;
  Pipeline pipeline_;
  bool split_, serial_;
};

// Follows the forwards from the first rank down to the last.
class WayDown {
 public:
  explicit WayDown(double micro_batches) : m_(micro_batches) {}

  void pass(const PathCost& f) {
    longest_ = std::max(longest_, (m_ - 1) * f.kept);
    down_ += f.pass + f.hand;
  }
  // When the first micro-batch has come through the ranks so far.
  double down() const { return down_; }
  // When all have, as they follow one another through the slowest of these ranks.
  double all_down() const { return down_ + longest_; }

 private:
  double m_;
  double down_ = 0;
  double longest_ = 0;
};

// Follows the gradients of whole backwards from the last rank up to the first.
class WayUp {
 public:
  WayUp(const PipelineWork& work, const Paths& paths, const WayDown& way_down)
      : paths_(paths),
        schedule_(work.schedule),
        stages_(paths.pipeline().stages),
        m_(static_cast<double>(work.micro_batches_per_chunk())),
        down_(way_down.down()),
        all_down_(way_down.all_down()) {}

  // When the last backward of a rank, the next one up, ends at least; `own` is what its passes alone take.
  double end_of(std::int64_t rank, const PathCost& b, double own) {
    const PathCost f = paths_.forward(rank);
    down_ -= f.pass + f.hand;
    below_ += f.hand;
    double end = own;
    const bool is_last = rank + 1 == stages_;
    if (schedule_ == ScheduleKind::k1f1b && !paths_.serial() && !is_last)
      end = after_turns(end, f, b, static_cast<double>(stages_ - 1 - rank));
    if (schedule_ == ScheduleKind::kGpipe) end = after_all_forwards(end, b);
    if (!is_last) end = std::max(end, arrives_ + b.pass);
    arrives_ = end + b.hand;
    below_ += f.pass + b.pass + b.hand;
    return end;
  }

 private:
  // With round trips below a rank that runs n forwards ahead.
  double after_turns(double end, const PathCost& f, const PathCost& b, double n) const {
    if (m_ > n) {
      end = std::max(end, down_ + (m_ - 1) * f.kept + f.pass + (m_ - 1 - n) * b.kept + below_ + b.pass);
      end = std::max(end, down_ + f.pass + below_ + (m_ - 1) * b.kept + b.pass + (m_ - 1 - n) * f.kept);
    }
    if (m_ > n + 1)
      end = std::max(end,
                     down_ + 2 * (f.pass + below_) + (m_ - 1 - n) * b.kept + (m_ - 2 - n) * f.kept + b.pass);
    return end;
  }

  double after_all_forwards(double end, const PathCost& b) {
    longest_up_ = std::max(longest_up_, (m_ - 1) * b.kept);
    end = std::max(end, all_down_ + up_ + b.pass + longest_up_);
    up_ += b.pass + b.hand;
    return end;
  }

  const Paths& paths_;
  ScheduleKind schedule_;
  std::int64_t stages_;
  double m_;
  double down_;  // of the first micro-batch, to the rank at hand
  double all_down_;
  double below_ = 0;    // the round trip from the rank's forward to its backward
  double arrives_ = 0;  // when the gradient comes from the rank below
  double up_ = 0, longest_up_ = 0;
};

}  // namespace

Seconds Timeline::least(const PipelineWork& work) {
  begin(work, nullptr);
  const Paths paths(work);
  const Pipeline& pipeline = paths.pipeline();
  const std::int64_t p = pipeline.stages;
  const auto m = static_cast<double>(work.micro_batches_per_chunk());
  count_whole(work);  // whatever runs: a bound's stages are not looked at

  // Each rank by itself. Where receives block they are among its own: the message can be taken before them.
  WayDown way_down(m);
  for (std::int64_t r = 0; r < p; ++r) {
    const double received = paths.serial() && r > 0 ? paths.forward(r - 1).hand : 0.0;
    const double start = runs_both_ways(work.schedule) ? 0.0 : way_down.down() - received;
    stages_[static_cast<std::size_t>(r)].pipeline_end = Seconds(start + m * paths.own_passes(r));
    way_down.pass(paths.forward(r));
  }
  if (splits_backward(work.schedule)) {
    for (std::int64_t r = 0; r < p; ++r) end_chunks(work, r, 0.0);
    return finish(work, nullptr);
  }
  WayUp way_up(work, paths, way_down);
  for (std::int64_t r = p; r-- > 0;) {
    const PathCost b = paths.backward(r);
    Seconds& pipeline_end = stages_[static_cast<std::size_t>(r)].pipeline_end;
    const double sent = work.blocking_sends ? b.hand : 0.0;
    const double own = pipeline_end.value - sent;  // its last backward, where that is its last pass
    const double end = way_up.end_of(r, b, own);
    pipeline_end = std::max(pipeline_end, Seconds(end + sent));
    end_chunks(work, r, own + sent);
    last_[static_cast<std::size_t>(r)] = {end - b.pass, end};
  }
  return finish(work, nullptr);
}

Seconds Timeline::most(const PipelineWork& work) {
  if (splits_backward(work.schedule)) return Seconds(std::numeric_limits<double>::infinity());
  begin(work, nullptr);
  const Paths paths(work);
  const Pipeline& pipeline = paths.pipeline();
  const auto m = static_cast<double>(work.micro_batches_per_chunk());
  double forward = 0, backward = 0;
  for (std::int64_t n = 0; n < pipeline.pieces(); ++n) {
    const PathCost f = paths.forward(n), b = paths.backward(n);
    forward = std::max(forward, std::max(f.kept, f.pass + f.hand));
    backward = std::max(backward, std::max(b.kept, b.pass + b.hand));
  }
  const double end =
      (m * static_cast<double>(pipeline.chunks_per_stage) + static_cast<double>(pipeline.stages - 1)) *
      (forward + backward);
  count_whole(work);
  for (std::int64_t r = 0; r < pipeline.stages; ++r) {
    stages_[static_cast<std::size_t>(r)].pipeline_end = Seconds(end);
    end_chunks(work, r, end);
  }
  return finish(work, nullptr);
}

// When the last backwards of a rank's chunks end, if all its passes are over at `end` (zero: not known) and
// none of them waits. Under interleaved the last p backwards of a chunk come before those of the chunk below.
void Timeline::end_chunks(const PipelineWork& work, std::int64_t rank, double end) {
  const Paths paths(work);
  const Pipeline& pipeline = paths.pipeline();
  for (std::int64_t c = 0; c < pipeline.chunks_per_stage; ++c) {
    const std::int64_t n = pipeline.piece(rank, c);
    const PathCost b = paths.backward(n);
    const double last = std::max(0.0, end - (work.blocking_sends ? b.hand : 0.0));
    last_[static_cast<std::size_t>(n)] = {std::max(0.0, last - b.pass), last};
    end -= static_cast<double>(pipeline.stages) * b.kept;
  }
}

}  // namespace foretrain
