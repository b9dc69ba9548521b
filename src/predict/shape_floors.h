// What a layer or an end of the model takes and keeps at least, by the shape of its passes: sums over its tasks, no
// pass is laid out. Chunks of any size are not below the sum of what they are made of, so that one small table serves
// all plans of a shape, whatever their splits, schedules and numbers of layers that are run again.
//
// A pass is not shorter than any of three rows of work (segment.h):
//   operators, and the collectives that stop them;
//   exchanges between operators, hidden or not;
//   gathers and scatters of units over shards, hidden or not.
// Operators and what is hidden behind them slow each other down (contention.h): with C of the one beside R of the other, and
// c, r how much longer each takes, both run for no more than C c and R r seconds, so both together take
//   C + R r (1 - 1/c) or more, and R + C c (1 - 1/r).
// What stops operators is hidden behind nothing, and hides something itself.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "network/network.h"
#include "predict/chunk_memo.h"
#include "workload/chunk.h"

namespace foretrain {

// A collective over shards. Where they lie is not of the shape: who asks prices it.
struct ShardTask {
  Collective collective;
  double times = 1;
  bool stops = false;  // operators wait for all of it
  bool gather = false;
};

struct LeastPass {
  PassLeast least;
  std::vector<ShardTask> shards;
};

// A layer of one kind, or the ends.
struct LeastUnit {
  LeastPass forward;
  LeastPass backward;
  Bytes held;
  Bytes held_for_weight;
  Bytes forward_extra;
  Bytes backward_extra;
};

struct ShapeFloor {
  // As is, and run again in the backward; the same where nothing can be (selective recomputation).
  struct Ways {
    LeastUnit plain;
    LeastUnit again;
  };
  // Layers of a kind, and those of it that a recipe leaves in the format of the passes.
  struct Layers : Ways {
    std::size_t kind = 0;
    bool left = false;
    std::int64_t count = 0;  // in the model
  };
  std::vector<Layers> layers;
  // Embedding and head, in chunks of their own and in one.
  Ways first, last, both;
};

class ShapeFloors {
 public:
  explicit ShapeFloors(const Setting& setting) : setting_(setting) {}  // which must outlive it

  // Of a job's shape, whatever is run again fully.
  const ShapeFloor& of(const Job& job, const Network& network, ChunkMemo& memo);

 private:
  ShapeFloor make(const ShapeKey& key, const Network& network, ChunkMemo& memo) const;

  const Setting& setting_;
  std::unordered_map<ShapeKey, ShapeFloor, ShapeKeyHash> known_;
  std::pair<const ShapeKey, ShapeFloor>* last_ = nullptr;
};

}  // namespace foretrain
