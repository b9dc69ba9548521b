#include "validate/logged_memory.h"

namespace foretrain {

Bytes logged_memory(const Prediction& prediction, const Stack& stack, std::optional<StatedCounter> stated) {
  MemoryCounter counter = stack.memory_log.counter;
  if (stated == StatedCounter::kAllocated) counter = MemoryCounter::kAllocated;
  if (stated == StatedCounter::kReserved) counter = MemoryCounter::kReserved;
  if (stated == StatedCounter::kNvidiaSmi) counter = MemoryCounter::kNvidiaSmi;
  const bool unknown = !stated || stated == StatedCounter::kUnknown;
  const bool first = unknown && stack.memory_log.stage == LoggedStage::kFirst;
  const auto stage = static_cast<std::size_t>(first ? 0 : prediction.worst_stage);
  const MemoryCounters& memory = prediction.stages[stage].memory;
  switch (counter) {
    case MemoryCounter::kAllocated:
      return memory.allocated;
    case MemoryCounter::kReserved:
      return memory.reserved;
    case MemoryCounter::kNvidiaSmi:
      break;
  }
  return memory.total;
}

std::optional<StatedCounter> stated_counter(std::string_view words) {
  const auto has = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
  if (has("reserved")) return StatedCounter::kReserved;
  if (has("alloc") || has("Alloc")) return StatedCounter::kAllocated;
  // What drivers count beside its limit: "mem usage/free/total/usage_ratio" of Primus.
  if (has("usage/free")) return StatedCounter::kNvidiaSmi;
  return std::nullopt;
}

}  // namespace foretrain
