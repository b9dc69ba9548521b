// A run in Megatron's flags: statements in our words are put into those of its table (megatron_rows.h), some of which say
// together what one of ours does.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/launch_writer.h"

namespace foretrain {

// Statements as Megatron makes them: "plan.dispatcher" becomes its type and its back-end, and so on. Megatron-Bridge has the
// same under other names.
Statements megatron_statements(const LaunchRun& run);

// CUDA_DEVICE_MAX_CONNECTIONS, where it matters: Megatron's FSDP refuses one connection, exchanges of experts beside
// compute want many, and what orders kernels by their launch wants one.
void add_connections(const LaunchRun& run, const Settings& settings, Launch& launch);

// What it has where a plan or a model asks for more.
std::span<const Instead> megatron_instead();

}  // namespace foretrain
