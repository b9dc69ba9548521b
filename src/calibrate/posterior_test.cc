#include "calibrate/posterior.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace foretrain;

namespace {

const RunKind kKind{"32 x 4096, 6.74 B", "megatron", "bf16", 4096};
const RunKind kFar{"94 x 8192, 400 B", "torchtitan", "fp8-current", 131072};

Lesson lesson(double gap, const ClusterFactors& slope, const RunKind& kind = kKind) {
  static int runs = 0;
  Lesson out;
  out.run = std::to_string(runs++);
  out.kind = kind;
  out.gap = gap;
  out.slope = slope;
  out.spread = 0.1;
  return out;
}
const ClusterFactors kProductsAlone = {1, 0, 0, 0, 0, 0, 0};
const ClusterFactors kFabricAlone = {0, 0, 0, 0, 1, 0, 0};

double share_left(const Posterior& posterior, const ClusterFactors& slope, const RunKind& kind) {
  const Posterior::Variance v = posterior.variance({slope, kind, "", 0.1});
  return v.left / v.before;
}

}  // namespace

TEST_CASE("without lessons nothing is moved and nothing is surer") {
  const Posterior prior({}, {});
  CHECK(prior.factors() == ClusterFactors{});
  CHECK(prior.shift(kKind) == 0);
  CHECK(share_left(prior, kProductsAlone, kKind) == 1);
}

TEST_CASE("one lesson of one factor is the textbook's") {
  // y = theta + u + e with variances a, k and o (+ 1e-4 of the measurement): theta's mean is a / (a + k + o) y.
  const Posterior one({lesson(0.2, kProductsAlone)}, {});
  const double all = 0.01 + 1e-4;
  const double a = 0.01 * (1 - one.shares().own);
  const double k = 0.01 * one.shares().own * one.shares().alike;
  CHECK(one.factors()[0] == doctest::Approx(0.2 * a / all));
  CHECK(one.shift(kKind) == doctest::Approx(0.2 * k / all));
  CHECK(one.covariance()(0, 0) == doctest::Approx(a - a * a / all));
}

TEST_CASE("what a lesson cannot tell stays at its prior") {
  const Posterior one({lesson(0.2, kFabricAlone)}, {});
  CHECK(one.factors()[0] == 0);
  CHECK(one.deviation(ClusterFactor::kMatrixProducts) ==
        doctest::Approx(one.prior_deviation(ClusterFactor::kMatrixProducts)));
  CHECK(one.deviation(ClusterFactor::kInterBandwidth) < one.prior_deviation(ClusterFactor::kInterBandwidth));
}

TEST_CASE("variance shrinks for runs like those that were measured, and not far from them") {
  std::vector<Lesson> lessons;
  for (int i = 0; i < 5; ++i) lessons.push_back(lesson(0.1, kProductsAlone));
  const Posterior posterior = Posterior::learned(lessons);
  const double near = share_left(posterior, kProductsAlone, kKind);
  const double far = share_left(posterior, kFabricAlone, kFar);
  CHECK(near < 0.6);
  CHECK(far > 0.99);
  CHECK(std::abs(posterior.shift(kFar)) < 0.01);
}

TEST_CASE("a lesson that the others do not bear out counts for little") {
  std::vector<Lesson> lessons;
  for (int i = 0; i < 6; ++i) lessons.push_back(lesson(0.05, kProductsAlone));
  lessons.push_back(lesson(1.0, kProductsAlone));
  const Posterior posterior = Posterior::learned(lessons);
  CHECK(posterior.lessons().back().weight < 0.2);
  CHECK(posterior.lessons().front().weight > 0.8);
  CHECK(posterior.factors()[0] + posterior.shift(kKind) < 0.1);
}

TEST_CASE("two lessons cannot say which of them is odd") {
  const Posterior two = Posterior::learned({lesson(0.05, kProductsAlone), lesson(1.0, kProductsAlone)});
  CHECK(!two.weighs());
  for (const Lesson& l : two.lessons()) CHECK(l.weight == 1);
}

TEST_CASE("a run's own part is known where it was measured") {
  const Posterior one({lesson(0.2, kProductsAlone)}, {});
  const std::string run = one.lessons().front().run;
  CHECK(one.was_measured(run));
  // All three parts together are the gap but for the share of the measurement's own variance.
  const double all = one.factors()[0] + one.shift(kKind) + one.own_shift(run);
  CHECK(all == doctest::Approx(0.2 * 0.01 / (0.01 + 1e-4)));
  CHECK(one.variance({kProductsAlone, kKind, run, 0.1}).left == doctest::Approx(1e-4).epsilon(0.02));
  CHECK(one.own_shift("another") == 0);
  // A step made of parts that were measured: each counts by its share.
  std::vector<Lesson> parts = {lesson(0.2, kProductsAlone), lesson(0.2, kProductsAlone)};
  parts[0].part = MeasuredPart::kForward, parts[1].part = MeasuredPart::kBackward;
  parts[1].run = parts[0].run = "r";
  parts[0].predicted = 1, parts[1].predicted = 2;
  const Posterior of_parts(parts, {});
  CHECK(of_parts.factors()[0] + of_parts.shift(kKind) + of_parts.own_shift("r") ==
        doctest::Approx(0.2).epsilon(0.02));
}

TEST_CASE("lessons that contradict each other move less than those that agree") {
  const Posterior agree = Posterior::learned(
      {lesson(0.1, kProductsAlone), lesson(0.1, kProductsAlone), lesson(0.1, kProductsAlone)});
  const Posterior differ = Posterior::learned(
      {lesson(0.5, kProductsAlone), lesson(-0.35, kProductsAlone), lesson(0.15, kProductsAlone)});
  const auto moved = [](const Posterior& p) { return p.factors()[0] + p.shift(kKind); };
  const auto left = [](const Posterior& p) { return p.variance({kProductsAlone, kKind, "", 0.1}).left; };
  CHECK(moved(agree) > moved(differ));
  CHECK(left(differ) > left(agree));
}
