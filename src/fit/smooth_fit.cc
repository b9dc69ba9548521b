#include "fit/smooth_fit.h"

#include <cmath>
#include <numeric>

#include "base/check.h"

namespace foretrain {
namespace {

// Solves (L L^T) x = b where the lower half of `a`, n x n, becomes L. Rows are long: sums run in eight lanes.
double dot(const double* a, const double* b, std::size_t n) {
  double lane[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; ++j) lane[j] += a[i + j] * b[i + j];
  double sum = std::accumulate(lane, lane + 8, 0.0);
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void solve_in_place(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    double* row = a.data() + i * n;
    for (std::size_t j = 0; j < i; ++j) {
      const double* other = a.data() + j * n;
      row[j] = (row[j] - dot(row, other, j)) / other[j];
    }
    const double rest = row[i] - dot(row, row, i);
    CHECK_THAT(rest > 0);  // noise is added to a positive definite kernel
    row[i] = std::sqrt(rest);
    b[i] = (b[i] - dot(row, b.data(), i)) / row[i];
  }
  for (std::size_t i = n; i-- > 0;) {
    b[i] /= a[i * n + i];
    for (std::size_t j = 0; j < i; ++j) b[j] -= a[i * n + j] * b[i];
  }
}

}  // namespace

Smooth fit_smooth(std::span<const float> x, std::span<const float> scale, std::span<const double> y,
                  const SmoothOptions& options) {
  const std::size_t n = y.size(), columns = scale.size();
  CHECK_THAT(x.size() == n * columns && options.noise > 0 && options.reach > 0);
  Smooth smooth;
  for (std::size_t f = 0; f < columns; ++f)
    if (scale[f] > 0) {
      smooth.feature.push_back(static_cast<std::uint8_t>(f));
      smooth.scale.push_back(scale[f] / static_cast<float>(options.reach));
    }
  const std::size_t used = smooth.feature.size();
  std::vector<float> scaled;
  scaled.reserve(n * used);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t f = 0; f < used; ++f)
      scaled.push_back(x[i * columns + smooth.feature[f]] * smooth.scale[f]);

  const double mean = n > 0 ? std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(n) : 0.0;
  smooth.mean = static_cast<float>(mean);
  std::vector<double> kernel(n * n), weights(n);
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = y[i] - mean;
    for (std::size_t j = 0; j < i; ++j) {
      float distance = 1;
      for (std::size_t f = 0; f < used; ++f) {
        const float d = scaled[i * used + f] - scaled[j * used + f];
        distance += d * d;
      }
      kernel[i * n + j] = 1 / distance;
    }
    kernel[i * n + i] = 1 + options.noise;
  }
  solve_in_place(kernel, weights);

  const std::size_t blocks = (n + kSmoothBlock - 1) / kSmoothBlock;
  smooth.points.assign(blocks * used * kSmoothBlock, 0.0f);
  smooth.weights.assign(blocks * kSmoothBlock, 0.0f);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t b = i / kSmoothBlock, lane = i % kSmoothBlock;
    smooth.weights[i] = static_cast<float>(weights[i]);
    for (std::size_t f = 0; f < used; ++f)
      smooth.points[(b * used + f) * kSmoothBlock + lane] = scaled[i * used + f];
  }
  return smooth;
}

}  // namespace foretrain
