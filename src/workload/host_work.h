// What the host does between launches: calls of the framework, and points at which it waits for the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/workload.h"

namespace foretrain {

Task host_task(Direction direction, std::int64_t calls, bool waits);

// Spreads host calls evenly over the tasks of a layer, those that are run again or the others.
void add_calls(std::vector<Task>& tasks, std::int64_t calls, bool recompute);

// Points at which the host waits for the GPU, evenly among those tasks, the last of them after the last task.
void spread_syncs(std::vector<Task>& tasks, std::int64_t syncs, bool recompute);

// What the host does around the passes of a chunk. A backward may be cut into B and W, each of which ends
// with a wait where the whole does.
void add_host_work(const Stack& stack, const Chunk& chunk, ChunkWork& work);

}  // namespace foretrain
