// What power does to a GPU's clock (cost/governor.h), from the clocks at which loops of products settled.
//
// A sample of a product says its time, its clock, the limit that was enforced, and which share of its loop it
// took; the rest of the loop streamed through memory. Joules a byte, joules a FLOP and how the latter fall
// with the clock are those whose governor predicts the clocks best: least mean |log(predicted / measured)|,
// found by a simplex search (Nelder and Mead 1965), over products that every model runs (not those of experts)
// where there are enough. What a FLOP on operands of eight bits costs is fitted after that, alone, to loops of these
// products: they have no say in the figures of the others, nor has what streams between them a say in theirs (cards of
// one kind differ most in that: with a quarter of the time in products two H200s settle at 1690 and 1920 MHz, with all
// of it at 1370 and 1390). A GPU's static power hardly shows in busy loops: it is taken as a seventh of its cap
// (assumed; 100 W of an H200's 700).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cost/governor.h"
#include "fit/operator_fit.h"

namespace foretrain {

struct PowerFit {
  PowerModel model;
  std::size_t samples = 0;
  double error = 0;  // mean |log(predicted / measured)| of the clock
  std::size_t fp8_samples =
      0;  // the same of operands of eight bits; 0: too few, and their figure is not known
  double fp8_error = 0;
};

// None where fewer than 30 samples of products say all of it. `clocked_share` is that of a sample's model.
std::optional<PowerFit> fit_power(const std::vector<Sample>& samples, const Gpu& gpu,
                                  const std::function<double(const Operator&)>& clocked_share);

// Products differ in what a FLOP costs (operands that are reused more, or less): by how much, against the
// chip's average, so that the governor meets the clocks of `samples`, which are of one model. Smooth and
// blunt, for clocks scatter; empty where there are few.
Smooth fit_energy(std::span<const Sample* const> samples, const Gpu& gpu, const PowerModel& power,
                  double clocked_share);

// The clock, in MHz, at which the loop of a sample settles whose FLOPs cost `energy` times the chip's average;
// for tables of errors.
double predicted_clock(const Sample& sample, const Gpu& gpu, const PowerModel& power, double clocked_share,
                       double energy = 1);

}  // namespace foretrain
