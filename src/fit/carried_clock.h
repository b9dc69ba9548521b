// Clocks of loops that recorded none. Published tables say how long a product took, not at which clock; where another
// GPU's profile knows what power does to its clock (cost/governor.h), that is carried over:
//   - an operation, and a byte, cost the joules that they cost there (chips of neighbouring processes), static power is
//     the same share of the cap, the reference clock is the GPU's highest
//   - a burst, a loop too short for the card to have lowered its clock, ran at the reference clock
//   - any longer loop ran at the clock at which the governor settles under the GPU's own cap, found together with
//     the time at the reference clock:  us = reference (1 + c (1/x - 1)),  x = settled clock of that load
//     where c, the share that follows the clock, is the other GPU's
// What is fitted from such samples is derived, and less sure by what a clock is unsure.
//
// Example: a B200's products take 1.42 times as long in loops of 0.1 s and more as in bursts (SimuMax against
// aiconfigurator, shapes that both have); the H200's joules under 1000 W say 1.41.
#pragma once

#include <vector>

#include "cost/cost.h"
#include "samples/sample.h"
#include "spec/gpu.h"

namespace foretrain {

// Loops of 47 ms on a B200 take as long as bursts of a few, those of 60 ms after them 1.3 times as long.
inline constexpr Seconds kLongestBurst = Seconds(0.05);

PowerModel carried_power(const PowerModel& power, const Gpu& from, const Gpu& to);

// Whether a sample's clock can be found so: a product of known loop without one.
bool lacks_clock(const Sample& sample);

// Fills in the clocks of all that lack one; `there` prices operators on the GPU that the power comes from. How many
// were filled in.
std::size_t carry_clocks(std::vector<Sample>& samples, const Gpu& gpu, const PowerModel& power,
                         const CostSource& there);

}  // namespace foretrain
