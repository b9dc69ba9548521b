// Which run a measurement is of: two with the same identity are the same run, measured twice.
#pragma once

#include <string>
#include <string_view>

#include "spec/run.h"

namespace foretrain {

// Sixteen digits of all that says what a step does: the model's file whatever its name, plan, stack, batch, length, documents
// and task, and how many machines of how many GPUs.
std::string run_identity(const Run& run);

// Of a figure, in seconds, that was measured of a run: the same for the same measurement.
std::string fingerprint_of(std::string_view run, std::string_view part, double measured);

// FNV-1a of 64 bits, as sixteen digits.
std::string hash_text(std::string_view text);

}  // namespace foretrain
