#include "fit/smooth_fit.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

// y = sin(a), the second feature without meaning.
struct Rows {
  std::vector<float> x;
  std::vector<double> y;
};
Rows sines(int count) {
  Rows rows;
  for (int i = 0; i < count; ++i) {
    const double a = 6.0 * i / count;
    rows.x.insert(rows.x.end(), {static_cast<float>(a), static_cast<float>(i * 37 % 11)});
    rows.y.push_back(std::sin(a));
  }
  return rows;
}

}  // namespace

TEST_CASE("a dozen points of a smooth curve tell what lies between them") {
  const Rows rows = sines(12);
  const Smooth smooth = fit_smooth(rows.x, std::vector<float>{1, 0}, rows.y, {.reach = 1, .noise = 1e-6});
  CHECK(smooth.feature == std::vector<std::uint8_t>{0});  // a scale of 0 leaves a feature out
  for (double a = 0.1; a < 5.4; a += 0.1) {
    const float x[] = {static_cast<float>(a), 0};
    CHECK(std::abs(smooth.view().predict(x) - std::sin(a)) < 0.03);
  }
}

TEST_CASE("noise draws predictions towards the mean, and the same rows give the same model") {
  const Rows rows = sines(12);
  const std::vector<float> scale = {1, 0};
  const Smooth sharp = fit_smooth(rows.x, scale, rows.y, {.noise = 1e-6});
  const Smooth blunt = fit_smooth(rows.x, scale, rows.y, {.noise = 10});
  const float x[] = {1.57f, 0};
  CHECK(blunt.view().predict(x) < sharp.view().predict(x));
  CHECK(blunt.view().predict(x) > blunt.mean);
  CHECK(fit_smooth(rows.x, scale, rows.y, {.noise = 10}) == blunt);
}

TEST_CASE("without points the mean is all there is") {
  const Smooth none = fit_smooth({}, std::vector<float>{1}, {}, {});
  CHECK(none.view().empty());
  const float x[] = {3};
  CHECK(none.view().predict(x) == 0);
}
