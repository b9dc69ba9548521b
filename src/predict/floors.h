// What plans take at least, however their layers are split and whatever overlaps: a search leaves out whole families
// of plans by it, before any of them is put together.
//
// Seconds. A stage's passes are not shorter than the sum of what its layers take (shape_floors.h). With W the seconds
// of all layers and ends, forward and backward, of one micro-batch, m micro-batches and p stages some stage takes
// m W / p. Under gpipe and 1f1b a stage begins when the first micro-batch has come down to it, and its last gradient has
// yet to go up: with w_r the seconds of stage r,
//   step >= max over r of (w_0 + .. + w_{r-1} + m w_r) >= W / (1 - (1 - 1/m)^p)
// the right side where all of these are equal, as at the least they are: w_r = (step/m) (1 - 1/m)^r. Where
// backwards are split only forwards come first, a share s or more of each layer: W s / (1 - (1 - s/m)^p).
// That is at the reference clock; what clocks add is in clock_floor.h.
// Layers that are run again count as often as there are at least: N of every chunk that has as many, and no chunk has
// more than some number of layers, so the fewest are where as few chunks as possible have any.
//
// Bytes. A stage of l layers with n micro-batches in flight needs at least, with a layer's states S, what it keeps H,
// and D less of it where it is one of the N of each of v chunks that are run again,
//   e + l S + (1 + f) (n (l H - min(v N, l) D) + x)
// f what fragmentation adds (counters.h), x what a forward uses besides, e what lies outside of torch and what an end
// of the model brings. So memory says how many layers each stage can have, whole ones; all of them together must be
// the model's. Layers of several kinds k count by weights c_k, those of the first kind 1: for any weights the same holds with
// the least of all (S_k + n H_k) / c_k, and the largest D. And where splits change the ends alone, the stage after the
// first has so many layers in any of them: what it holds at the moments of its order is a floor too.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "job/job.h"
#include "network/network.h"
#include "predict/chunk_memo.h"
#include "predict/clock_floor.h"
#include "predict/shape_floors.h"
#include "timeline/order_book.h"

namespace foretrain {

// A bound adds up what the simulation does, in another order: this much less, it is one in spite of rounding.
inline constexpr double kBelowRounding = 1 - 1e-11;

struct PlanFloor {
  Seconds step;
  Bytes peak;
  bool fits = true;  // otherwise none of the plans does
};

// What is known of the plans besides.
struct FloorScope {
  Bytes limit = Bytes(std::numeric_limits<double>::infinity());         // of what must fit
  std::int64_t most_layers = std::numeric_limits<std::int64_t>::max();  // that a chunk of any of them has
  // That its stage told_by() has in any of them at least, dealt evenly over its chunks or better; 0: not known.
  std::int64_t fewest_layers = 0;
};

// Stages wait for the micro-batches of those above them alone, and have whole backwards.
constexpr bool runs_in_turns(ScheduleKind schedule) {
  return schedule == ScheduleKind::kGpipe || schedule == ScheduleKind::k1f1b;
}

// The stage whose layers say most of what must fit, where splits change the ends alone: the first between them, that has
// the most micro-batches in flight.
constexpr std::int64_t told_by(std::int64_t stages) { return stages > 2 ? 1 : 0; }

// How the layers of a part's plan are split: over the chunks of the model; or, where they are all alike, over its stages,
// each of which deals them evenly over its chunks, the first ones first.
struct LayerSplit {
  std::span<const Chunk> chunks;
  std::span<const std::int64_t> stages;  // empty: by chunk
};

class Floors {
 public:
  explicit Floors(const Setting& setting) : setting_(setting), shapes_(setting) {}  // which must outlive it

  // Of all plans like the job's, their splits and what overlaps left open.
  PlanFloor of(const Job& job, const Network& network, ChunkMemo& memo, const FloorScope& scope);
  // Of those among them with one split. They speak of the plans that of() was last asked about; an Evaluator sees to
  // that. Bytes are of the rank that holds the most, or of the first over the limit.
  Seconds split_seconds(const Job& job, const LayerSplit& split);
  Bytes split_bytes(const Job& job, const LayerSplit& split, Bytes limit);

 private:
  // Of layers by kind, then of what the ends of the model bring.
  struct Shares {
    WeightRanks ranks;
    AdapterChoices adapters;
    LowPrecision low;
    bool together = false;
    std::vector<ParameterShare> layers;  // of each kind all of them, as the shape's floor has them
    ParameterShare first, last, whole;
    bool known = false;
  };
  struct Units;
  // What a micro-batch takes of each unit, at the reference clock; or its part of a bound at the clock where ranks settle
  // (clock_floor.h), from which `less` times the step is to be taken.
  struct Parts {
    std::array<double, 2 * kMaxBlockKinds> layers{};  // as shapes list them
    double more = 0;                                  // of a layer that is run again, where some are
    std::array<double, 2> ends{};                     // one of them: both
    std::size_t end_count = 0;
    double waits = 0;  // of a chunk, for shards
    double all = 0, least_layer = 0;
    double less = 0;
  };
  static void take_parts(const Units& units, double chunks, const ClockFloor* clock, Parts& out);
  void take_forwards(const Units& units);
  const Shares& shares_of(const Job& job, const ShapeFloor& shape);
  Units units_of(const Job& job, const Network& network, const ShapeFloor& shape,
                 std::int64_t most_layers) const;
  Seconds least_step(const Job& job, const Units& units, const PowerModel* power, std::int64_t most_layers);
  double split_step(const Units& units, double m, double p, double chunks) const;
  void weigh(const Job& job, const ShapeFloor& shape, const FloorScope& scope, PlanFloor& out);

  const Setting& setting_;
  ShapeFloors shapes_;
  Shares shares_;
  std::vector<std::pair<std::size_t, bool>>
      kinds_;  // of layers, and whether they are left, as shapes list them
  Parts at_reference_, at_clock_, forwards_;
  // What a unit holds at least, in bytes; of layers as shapes list them, then of the ends.
  struct Held {
    double state = 0, held = 0, for_weight = 0;
  };
  struct HeldParts {
    std::array<Held, 2 * kMaxBlockKinds> layers{};
    std::array<Held, 2> ends{};
    double less = 0;  // of a layer that is run again, where some are
    double outside = 0, with_holes = 1;
    // While a pass runs, of a chunk with layers alone and of one with the head.
    std::array<double, 2> forward_extra{}, backward_extra{};
  };
  HeldParts held_;
  OrderBook orders_;

  // One stage of a split. Where layers are alike it hangs on how many the stage has alone, and the splits of a part, which
  // differ in few stages, share it.
  struct Stage {
    double own = 0,
           slowed = 0;       // seconds of a micro-batch, at the reference clock and at the governor's (Parts)
    double down = 0;         // until a micro-batch has left it for the next
    double bytes = -1;       // states and peak; not known yet
    std::uint64_t part = 0;  // that it is of
  };
  Stage& stage_of(const Job& job, const LayerSplit& split, std::int64_t rank);
  void take_chunks(const Job& job, const LayerSplit& split, std::int64_t rank);
  void deal_layers(const Job& job, std::int64_t layers);
  double seconds_of(const Job& job, const Parts& parts, std::int64_t rank, std::size_t chunk) const;
  double stage_bytes(const Job& job, std::int64_t rank, bool of_any_kind = false);
  double held_at_peak(const Job& job, std::int64_t rank);
  std::uint64_t part_ = 0;     // that of() was asked about, counted
  std::vector<Stage> stages_;  // by rank and layers
  Stage stage_;                // by chunk
  std::vector<Chunk> chunks_;  // of a rank
  std::vector<Held> pieces_;   // likewise
};

}  // namespace foretrain
