#include "network/max_min.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

namespace foretrain {
namespace {

constexpr double kUnlimited = 1e18;

TEST_CASE("two flows on a link of 10, the second also on a link of 3: 7 and 3") {
  const double capacities[] = {10, 3};
  const FlowClass classes[] = {{kUnlimited, {1, 0}}, {kUnlimited, {1, 1}}};
  double rates[2];
  max_min(capacities, classes, rates);
  CHECK(rates[0] == doctest::Approx(7));
  CHECK(rates[1] == doctest::Approx(3));
}

TEST_CASE("what a limited flow leaves goes to the others") {
  const double capacities[] = {2.5};
  const FlowClass classes[] = {{1, {1}}, {kUnlimited, {1}}};
  double rates[2];
  max_min(capacities, classes, rates);
  CHECK(rates[0] == doctest::Approx(1));
  CHECK(rates[1] == doctest::Approx(1.5));
}

TEST_CASE("eight alike on a node of 100: 12.5 each; with four pairs beside them, 100 / 12") {
  const double capacities[] = {100};
  const FlowClass alone[] = {{kUnlimited, {8}}};
  const FlowClass both[] = {{kUnlimited, {8}}, {kUnlimited, {4}}};
  double rates[2];
  max_min(capacities, alone, {rates, 1});
  CHECK(rates[0] == doctest::Approx(12.5));
  max_min(capacities, both, rates);
  CHECK(rates[0] == doctest::Approx(100.0 / 12));
  CHECK(rates[1] == doctest::Approx(100.0 / 12));
}

TEST_CASE("no link carries more than it can, and each flow is stopped by something that is full") {
  CHECK(rc::check([] {
    const auto links = *rc::gen::inRange<std::size_t>(1, kMaxSharedLinks + 1);
    const auto flows = *rc::gen::inRange<std::size_t>(1, 12);
    std::vector<double> capacities(links), rates(flows);
    std::vector<FlowClass> classes(flows);
    for (double& c : capacities) c = *rc::gen::inRange(1, 100);
    for (FlowClass& f : classes) {
      f.limit = *rc::gen::inRange(1, 50);
      for (std::size_t l = 0; l < links; ++l) f.uses[l] = *rc::gen::inRange(0, 4);
    }
    max_min(capacities, classes, rates);
    std::vector<double> load(links);
    for (std::size_t f = 0; f < flows; ++f)
      for (std::size_t l = 0; l < links; ++l) load[l] += classes[f].uses[l] * rates[f];
    for (std::size_t l = 0; l < links; ++l) RC_ASSERT(load[l] <= capacities[l] * (1 + 1e-9));
    // Max-min: a flow is at its limit, or on a full link where nobody has more than it.
    for (std::size_t f = 0; f < flows; ++f) {
      bool held = rates[f] >= classes[f].limit * (1 - 1e-9);
      for (std::size_t l = 0; l < links && !held; ++l) {
        if (classes[f].uses[l] == 0 || load[l] < capacities[l] * (1 - 1e-9)) continue;
        held = true;
        for (std::size_t g = 0; g < flows; ++g)
          if (classes[g].uses[l] > 0 && rates[g] > rates[f] * (1 + 1e-9)) held = false;
      }
      RC_ASSERT(held);
    }
  }));
}

}  // namespace
}  // namespace foretrain
