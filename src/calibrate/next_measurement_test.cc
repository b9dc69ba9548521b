#include "calibrate/next_measurement.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/estimate.h"
#include "calibrate/run_identity.h"
#include "calibrate/testing.h"

using namespace foretrain;

namespace {

Lesson asked(const Run& run) {
  const auto costs = std::make_shared<const AnalyticCost>(run.cluster);
  Lesson out;
  out.kind = kind_of(run);
  out.gpus = run.gpus;
  out.plan = "a plan";
  out.slope = step_slope(run, costs, {});
  out.spread = 0.06;
  out.predicted = predict_with(run, costs, {}).step.value;
  return out;
}

Contest contest(const Run& a, const Run& b) {
  Contest out{asked(a), asked(b)};
  out.difference = std::log(out.b.predicted / out.a.predicted);
  return out;
}

double step(const Run& run, const ClusterFactors& truth) {
  return predict_with(run, std::make_shared<const AnalyticCost>(run.cluster), truth).step.value;
}

}  // namespace

TEST_CASE("what is named first settles two plans that cannot be told apart, whatever the truth is") {
  // One leans on links between nodes, the other on those inside.
  const Run a = run_on_dgx("llama-3-8b", 32, 64, "tp=16,zero=1");
  const Run b = run_on_dgx("llama-3-8b", 32, 64, "tp=8,pp=4,micro_batch=2");
  Contest c = contest(a, b);
  c.difference = 0.02;  // as if they were predicted so near to each other
  const Posterior prior({}, {}, {}, {c.a, c.b});
  const NextMeasurement next = next_measurement(prior, c, 8);
  REQUIRE(!next.told_apart);
  REQUIRE(!next.proposals.empty());
  const Proposal& first = next.proposals.front();
  CHECK(first.deviation < next.deviation);
  // A fabric that is slower than thought makes the first the slower one; links inside a node that are, the second.
  for (const auto& [factor, truth] :
       {std::pair(ClusterFactor::kInterBandwidth, 0.5), std::pair(ClusterFactor::kIntraBandwidth, 0.5)}) {
    ClusterFactors factors{};
    factors[static_cast<std::size_t>(factor)] = truth;
    const double shift = std::log(step(b, factors) / step(a, factors)) - std::log(step(b, {}) / step(a, {}));
    std::vector<double> values;
    for (const Probe& probe : first.probes) {
      double value = 0;
      for (std::size_t k = 0; k < kClusterFactorCount; ++k) value += probe.slope[k] * factors[k];
      if (probe.of_a > 0) value = std::log(step(a, factors) / step(a, {}));
      if (probe.of_b > 0) value = std::log(step(b, factors) / step(b, {}));
      values.push_back(value);
    }
    const double after = difference_after(prior, c, first.probes, values);
    INFO(name(factor), ": D ", c.difference + shift, ", after ", after, " +- ", first.deviation, " by ",
         first.probes.front().what);
    CHECK(std::abs(after) > kZ80 * first.deviation);   // it settles
    CHECK((after > 0) == (c.difference + shift > 0));  // and rightly
    CHECK(std::abs(after - (c.difference + shift)) < 2.5 * first.deviation + 0.05);
  }
}

TEST_CASE("both runs measured leave nothing but the measurements' own noise") {
  const Contest c = contest(run_on_dgx("llama-3-8b", 32, 64, "tp=16,zero=1"),
                            run_on_dgx("llama-3-8b", 32, 64, "tp=8,pp=4,micro_batch=2"));
  const Posterior prior({}, {}, {}, {c.a, c.b});
  const NextMeasurement next = next_measurement(prior, c, 8);
  bool found = false;
  for (const Proposal& p : next.proposals) {
    if (p.probes.size() != 2 || p.probes[0].of_a != 1 || p.probes[1].of_b != 1) continue;
    found = true;
    CHECK(p.deviation < std::sqrt(2) * 0.01 * 1.01);
  }
  CHECK(found);
}

TEST_CASE("what was just measured is not asked for again") {
  const Run a = run_on_dgx("llama-3-8b", 32, 64, "tp=16,zero=1");
  const Run b = run_on_dgx("llama-3-8b", 32, 64, "tp=8,pp=4,micro_batch=2");
  const auto learned = learn({measured_with(a, {0.1}, "the log of a")});
  REQUIRE(learned);
  Contest c = contest(a, b);
  c.a.run = run_identity(a), c.b.run = run_identity(b);
  c.difference = 0.02;
  const NextMeasurement next = next_measurement(learned->calibration.posterior, c, 8);
  REQUIRE(!next.told_apart);
  double alone = 0;  // what a second run of a would leave
  for (const Proposal& p : next.proposals)
    if (p.probes.size() == 1 && p.probes[0].of_a == 1) alone = p.deviation;
  CHECK(alone > 0.98 * next.deviation);
  for (const Probe& probe : next.proposals.front().probes) CHECK(probe.of_a == 0);
  // And once both were, the two are known as well as measurements are.
  const auto both = learn({measured_with(a, {0.1}, "a"), measured_with(b, {0.1}, "b")});
  REQUIRE(both);
  CHECK(next_measurement(both->calibration.posterior, c, 8).deviation < 0.02);
}

TEST_CASE("plans far apart need no measurement") {
  Contest c =
      contest(run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1"), run_on_dgx("llama-3-8b", 8, 32, "tp=4,zero=1"));
  c.difference = 1;
  CHECK(next_measurement(Posterior({}, {}, {}, {c.a, c.b}), c, 8).told_apart);
}

TEST_CASE("a run on one node asks for nothing between nodes") {
  const Contest c =
      contest(run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1"), run_on_dgx("llama-3-8b", 8, 32, "tp=4,zero=1"));
  for (const Probe& probe : possible_probes(c, 8)) CHECK(probe.what.find("between") == std::string::npos);
}
