// Which operator of the host launched what ran on the GPU: by the call of equal correlation, inside the
// operators that were open on its thread at that time; where there is no such call, by the external id.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "samples/kineto_events.h"

namespace foretrain {

class KinetoOwners {
 public:
  explicit KinetoOwners(const KinetoEvents& events);

  // The innermost operator, as a place in KinetoEvents::operators; -1: none is known.
  std::int32_t owner(const GpuEvent& event) const;
  // The operator around one; -1: none.
  std::int32_t parent(std::int32_t op) const { return parents_[static_cast<std::size_t>(op)]; }
  // When the host launched it; none where its call is not in the trace.
  std::optional<double> launched_us(const GpuEvent& event) const;

 private:
  std::int32_t open_at(std::int64_t thread, double us) const;

  const KinetoEvents& events_;
  std::unordered_map<std::int64_t, std::size_t> launches_;               // by correlation
  std::unordered_map<std::int64_t, std::int32_t> external_;              // operators by external id
  std::unordered_map<std::int64_t, std::vector<std::int32_t>> threads_;  // operators in order of start
  std::vector<std::int32_t> parents_;
};

}  // namespace foretrain
