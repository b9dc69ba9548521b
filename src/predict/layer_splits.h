// Which layers each chunk of a job has: as its plan says, or as the stack deals them, remembered by the number
// of chunks.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "job/job.h"
#include "workload/chunk.h"

namespace foretrain {

class LayerSplits {
 public:
  explicit LayerSplits(const Setting& setting);  // which must outlive it
  // Of each chunk of the model, in its order, without its ends; until the next call.
  std::span<const Chunk> of(const Job& job);
  // Whether layers are all alike and the plan says how many each stage has, which deals them evenly over its chunks.
  bool by_stage(const Job& job) const;

 private:
  // Of so many layers each, in the model's order.
  std::span<const Chunk> cut(std::span<const std::int64_t> counts, const Job& job,
                             std::vector<Chunk>& chunks) const;
  // Which kinds the first layers of each chunk are, where these are run again.
  void mark_recomputed(const Job& job, std::vector<Chunk>& chunks) const;
  // Which layers of each chunk stay in the format of the passes.
  void mark_plain(const Job& job, std::vector<Chunk>& chunks) const;

  const Setting& setting_;
  std::vector<std::uint8_t> kinds_;  // of each layer; empty: all are of one
  std::unordered_map<std::int64_t, std::vector<Chunk>> splits_;
  std::vector<std::int64_t> counts_;
  std::vector<Chunk> given_;
};

}  // namespace foretrain
