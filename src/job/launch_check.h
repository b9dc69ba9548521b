// Whether a framework launches a plan: the rules of its stack (spec/launch_rule.h), held against what the run means.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "spec/run.h"

namespace foretrain {

// What a plan comes to in the words of rules, by Trait. It has been checked but for these, so that dp is known.
using Traits = std::array<std::int64_t, kTraitCount>;
Traits traits_of(const Model& model, const Stack& stack, const Plan& plan);

bool keeps(const LaunchRule& rule, const Traits& traits);

// The first rule that a run breaks, in words; none: the stack launches it.
std::optional<std::string> launch_refusal(const Run& run);

}  // namespace foretrain
