// Most samples of the H200's profile ran in loops of some 0.03 s, too short for their clocks to settle: a check of
// what a governor gives such a loop (loop_cap of cost/governor.h). Its one figure comes from products that every
// model runs; those of experts and latent attention have no say in it, and judge it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "cost/profile_store.h"
#include "samples/sample.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

struct Loop {
  PowerLoad load;
  double cap_w;
  Seconds length;
  double clock;  // measured, a share of the reference clock
};

struct Loops {
  std::vector<Loop> common, of_experts;
  PowerModel power;
};

void add_table(const std::string& table, const CostSource& costs, Loops& loops) {
  const auto samples = read_samples(disk(), std::string(FORETRAIN_H200_SAMPLES) + "/" + table);
  REQUIRE(samples.has_value());
  for (const Sample& sample : *samples) {
    if (!is_product(sample.op.kind) || sample.op.dtype != Dtype::kBf16) continue;
    if (Seconds(*sample.loop_s) >= kSettledLoop) continue;
    Loop loop{.cap_w = *sample.limit_w,
              .length = Seconds(*sample.loop_s),
              .clock = std::min(*sample.clock_mhz / loops.power.reference_mhz, 1.0)};
    add(loop.load, costs.cost(sample.op));
    const bool others = is_of_experts(sample.op.kind) || sample.op.kind == OperatorKind::kLatentAttention;
    (others ? loops.of_experts : loops.common).push_back(loop);
  }
}

const Loops& short_loops() {
  static const Loops loops = [] {
    Cluster cluster;
    cluster.gpu = Catalog().gpu("h200-141gb-sxm").value();
    const auto choice = ProfileStore().costs_for(cluster, "");
    REQUIRE(choice.has_value());
    REQUIRE(choice->costs->power() != nullptr);
    Loops found;
    found.power = *choice->costs->power();
    add_table("operators.csv", *choice->costs, found);
    add_table("experts.csv", *choice->costs, found);
    return found;
  }();
  return loops;
}

// log(foretold / measured) of each clock, under the cap that `cap_of` gives a loop.
template <class Cap>
std::vector<double> errors(const std::vector<Loop>& loops, const Cap& cap_of) {
  std::vector<double> found;
  for (const Loop& loop : loops)
    found.push_back(std::log(settled_clock(loop.load, short_loops().power, cap_of(loop)) / loop.clock));
  return found;
}
const auto as_settled = [](const Loop& loop) { return loop.cap_w; };
const auto as_short = [](const Loop& loop) { return loop_cap(loop.cap_w, loop.length); };

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double mean_size(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return mean(values);
}
double share_within(const std::vector<double>& values, double most) {
  const auto count =
      std::count_if(values.begin(), values.end(), [&](double value) { return std::abs(value) <= most; });
  return static_cast<double>(count) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("the memory of power is the one that meets the clocks of short loops best") {
  const std::vector<Loop>& loops = short_loops().common;
  const auto error_with = [&](Seconds memory) {
    return mean_size(
        errors(loops, [&](const Loop& loop) { return loop_cap(loop.cap_w, loop.length, memory); }));
  };
  const double chosen = error_with(kPowerMemory);
  CHECK(chosen < error_with(0.85 * kPowerMemory));
  CHECK(chosen < error_with(1.2 * kPowerMemory));
  // Four fifths of the clocks lie within their interval.
  CHECK(share_within(errors(loops, as_short), kZ80 * kShortLoopClockSpread) ==
        doctest::Approx(0.8).epsilon(0.04));
}

TEST_CASE("short loops run faster than settled ones of the same work, by as much as the governor says") {
  for (const auto& [what, loops] :
       {std::pair{"common", &short_loops().common}, {"experts", &short_loops().of_experts}}) {
    const std::vector<double> settled = errors(*loops, as_settled), now = errors(*loops, as_short);
    std::printf("%s: %zu short loops, clocks %.1f %% off (bias %+.1f %%); as if settled %.1f %% (%+.1f %%)\n",
                what, loops->size(), 100 * mean_size(now), 100 * mean(now), 100 * mean_size(settled),
                100 * mean(settled));
    CHECK(mean(settled) < -0.02);
    CHECK(std::abs(mean(now)) < 0.02);
    CHECK(mean_size(now) < 0.75 * mean_size(settled));
  }
}
