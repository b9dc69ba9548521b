// How many layers each chunk of a job has: as its plan says, or as the stack deals them, remembered by the
// number of chunks.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "job/job.h"

namespace foretrain {

class LayerSplits {
 public:
  explicit LayerSplits(const Setting& setting) : setting_(setting) {}  // which must outlive it
  // Of each chunk of the model, in its order; until the next call.
  std::span<const std::int64_t> of(const Job& job);

 private:
  const Setting& setting_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> splits_;
  std::vector<std::int64_t> chunk_layers_;
};

}  // namespace foretrain
