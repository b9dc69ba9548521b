#include "calibrate/posterior.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

const RunKind kKind{"32 x 4096, 6.74 B", "megatron", "bf16", 4096};
const RunKind kFar{"94 x 8192, 400 B", "torchtitan", "fp8-current", 131072};

Lesson lesson(double gap, const ClusterFactors& slope, const RunKind& kind = kKind) {
  Lesson out;
  out.kind = kind;
  out.gap = gap;
  out.slope = slope;
  out.spread = 0.1;
  return out;
}
const ClusterFactors kProductsAlone = {1, 0, 0, 0, 0, 0, 0};
const ClusterFactors kFabricAlone = {0, 0, 0, 0, 1, 0, 0};

double share_left(const Posterior& posterior, const ClusterFactors& slope, const RunKind& kind) {
  const Posterior::Variance v = posterior.variance(slope, kind, 0.1);
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

TEST_CASE("lessons that contradict each other move less than those that agree") {
  const Posterior agree = Posterior::learned(
      {lesson(0.1, kProductsAlone), lesson(0.1, kProductsAlone), lesson(0.1, kProductsAlone)});
  const Posterior differ = Posterior::learned(
      {lesson(0.5, kProductsAlone), lesson(-0.35, kProductsAlone), lesson(0.15, kProductsAlone)});
  const auto moved = [](const Posterior& p) { return p.factors()[0] + p.shift(kKind); };
  CHECK(moved(agree) > moved(differ));
  CHECK(differ.variance(kProductsAlone, kKind, 0.1).left > agree.variance(kProductsAlone, kKind, 0.1).left);
}
