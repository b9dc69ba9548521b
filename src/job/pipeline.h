// How a plan's model is cut along its pipeline: the schedule that runs, and the pieces that it deals out.
//
// The pieces of the model are numbered in its order, from the embedding on. Each rank holds `chunks` of them:
//            in turns         in a V             both ways
//            (interleaved)    (zbv, dualpipev)   (dualpipe)
//   rank 0   piece 0  3  6    piece 0  5         piece 0  5, the last of the second copy
//   rank 1   piece 1  4  7    piece 1  4         piece 1  4
//   rank 2   piece 2  5  8    piece 2  3         piece 2  3, the first of the second copy
// The pieces of dualpipe are two copies of a model of p pieces, each for half of the micro-batches.
#pragma once

#include <cstdint>

#include "spec/plan.h"

namespace foretrain {

inline constexpr std::int64_t kStagesBesidesLayers = 2;  // embedding and head may stand alone

struct Pipeline {
  // What runs: 1f1b over several chunks is interleaved, and one stage has no pipeline, whatever is asked for.
  ScheduleKind schedule = ScheduleKind::k1f1b;
  std::int64_t stages = 1;
  // Pieces of the model that each stage holds; of dualpipe one in each direction, of the same model.
  std::int64_t chunks_per_stage = 1;

  // Pieces that the model is cut into.
  constexpr std::int64_t model_chunks() const {
    return runs_both_ways(schedule) ? stages : stages * chunks_per_stage;
  }
  // Pieces that ranks hold: of dualpipe both copies.
  std::int64_t pieces() const { return stages * chunks_per_stage; }
  std::int64_t piece(std::int64_t rank, std::int64_t chunk) const {
    return chunk == 1 && lies_in_v(schedule) ? 2 * stages - 1 - rank : chunk * stages + rank;
  }
  std::int64_t rank(std::int64_t piece) const {
    return piece >= stages && lies_in_v(schedule) ? 2 * stages - 1 - piece : piece % stages;
  }
  std::int64_t chunk(std::int64_t piece) const { return piece / stages; }
  // Whether a piece is at the beginning or end of a model.
  bool first(std::int64_t piece) const { return piece == 0 || (runs_both_ways(schedule) && piece == stages); }
  bool last(std::int64_t piece) const {
    return piece == pieces() - 1 || (runs_both_ways(schedule) && piece == stages - 1);
  }
  // The micro-batches that go through each piece: of dualpipe's two copies each has one half.
  std::int64_t through_each(std::int64_t micro_batches) const {
    return runs_both_ways(schedule) ? micro_batches / 2 : micro_batches;
  }
  // Whether one stage holds both ends of the model.
  bool ends_together() const { return stages == 1 || lies_in_v(schedule); }

  bool operator==(const Pipeline&) const = default;
};
Pipeline pipeline_of(const Plan& plan);

}  // namespace foretrain
