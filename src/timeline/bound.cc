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
  const Pipeline& pipeline() const { return pipeline_; }
  bool serial() const { return serial_; }

 private:
  const ChunkLoad& load(std::int64_t n) const { return work_.chunks[static_cast<std::size_t>(n)]; }
  bool leaves(std::int64_t from, std::int64_t to) const { return pipeline_.rank(from) != pipeline_.rank(to); }

  const PipelineWork& work_;
  Pipeline pipeline_;
  bool split_, serial_;
};

}  // namespace

Seconds Timeline::least(const PipelineWork& work) {
  begin(work, nullptr);
  const Paths paths(work);
  const Pipeline& pipeline = paths.pipeline();
  const std::int64_t p = pipeline.stages, v = pipeline.chunks_per_stage;
  const auto m = static_cast<double>(work.micro_batches_per_chunk());
  const bool whole = !splits_backward(work.schedule);
  const bool turns = work.schedule == ScheduleKind::k1f1b;
  count_whole(work);  // whatever runs: a bound's stages are not looked at

  // Each rank by itself. Where receives block they are among its own: the message can be taken before them.
  double down = 0, longest_down = 0, all_down = 0;
  for (std::int64_t r = 0; r < p; ++r) {
    double own = 0;
    for (std::int64_t c = 0; c < v; ++c) {
      const std::int64_t n = pipeline.piece(r, c);
      own += paths.forward(n).kept + paths.backward(n).kept;
    }
    const PathCost f = paths.forward(r);
    const double start = runs_both_ways(work.schedule)
                             ? 0.0
                             : down - (paths.serial() && r > 0 ? paths.forward(r - 1).hand : 0.0);
    stages_[static_cast<std::size_t>(r)].pipeline_end = Seconds(start + m * own);
    longest_down = std::max(longest_down, (m - 1) * f.kept);
    down += f.pass + f.hand;
  }
  all_down = down + longest_down;
  // Gradients go up.
  double arrives = 0, below = 0, up = 0, longest_up = 0;
  for (std::int64_t r = p; r-- > 0;) {
    const PathCost f = paths.forward(r), b = paths.backward(r);
    StageTimes& times = stages_[static_cast<std::size_t>(r)];
    const double sent = work.blocking_sends ? b.hand : 0.0;
    down -= f.pass + f.hand;
    const double own = times.pipeline_end.value - sent;  // its last backward, where that is its last pass
    double end = own;
    if (whole) {
      below += f.hand;
      if (turns && !paths.serial() && r + 1 < p) {
        const auto n = static_cast<double>(p - 1 - r);
        if (m > n) {
          end = std::max(end, down + (m - 1) * f.kept + f.pass + (m - 1 - n) * b.kept + below + b.pass);
          end = std::max(end, down + f.pass + below + (m - 1) * b.kept + b.pass + (m - 1 - n) * f.kept);
        }
        if (m > n + 1)
          end = std::max(end,
                         down + 2 * (f.pass + below) + (m - 1 - n) * b.kept + (m - 2 - n) * f.kept + b.pass);
      }
      if (work.schedule == ScheduleKind::kGpipe) {
        longest_up = std::max(longest_up, (m - 1) * b.kept);
        end = std::max(end, all_down + up + b.pass + longest_up);
        up += b.pass + b.hand;
      }
      if (r + 1 < p) end = std::max(end, arrives + b.pass);
      times.pipeline_end = std::max(times.pipeline_end, Seconds(end + sent));
      arrives = end + b.hand;
      below += f.pass + b.pass + b.hand;
    }
    end_chunks(work, r, whole ? own + sent : 0.0);
    if (whole) last_[static_cast<std::size_t>(r)] = {end - b.pass, end};
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
