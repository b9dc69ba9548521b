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

// What it has where a plan or a model asks for more.
std::span<const Instead> megatron_instead();

}  // namespace foretrain
