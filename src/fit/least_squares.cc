#include "fit/least_squares.h"

#include <array>
#include <cmath>
#include <optional>

#include "base/check.h"

namespace foretrain {
namespace {

constexpr std::size_t kMost = 12;
using Matrix = std::array<std::array<double, kMost>, kMost>;
using Vector = std::array<double, kMost>;

// Solves the normal equations of the chosen columns by Cholesky; none where they are dependent.
std::optional<Vector> solve(const Matrix& g, const Vector& b, std::span<const std::size_t> chosen) {
  const std::size_t n = chosen.size();
  Matrix l{};
  Vector z{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = g[chosen[i]][chosen[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (i != j) {
        l[i][j] = sum / l[j][j];
      } else {
        if (sum <= 1e-12 * g[chosen[i]][chosen[i]]) return std::nullopt;
        l[i][i] = std::sqrt(sum);
      }
    }
    double sum = b[chosen[i]];
    for (std::size_t k = 0; k < i; ++k) sum -= l[i][k] * z[k];
    z[i] = sum / l[i][i];
  }
  Vector x{};
  for (std::size_t i = n; i-- > 0;) {
    double sum = z[i];
    for (std::size_t k = i + 1; k < n; ++k) sum -= l[k][i] * x[k];
    x[i] = sum / l[i][i];
  }
  return x;
}

}  // namespace

std::vector<double> non_negative_least_squares(std::span<const double> a, std::size_t columns,
                                               std::span<const double> y) {
  CHECK_THAT(columns > 0 && columns <= kMost && a.size() == columns * y.size());
  Matrix g{};
  Vector b{};
  for (std::size_t r = 0; r < y.size(); ++r)
    for (std::size_t i = 0; i < columns; ++i) {
      const double ai = a[r * columns + i];
      b[i] += ai * y[r];
      for (std::size_t j = 0; j <= i; ++j) g[i][j] += ai * a[r * columns + j];
    }
  for (std::size_t i = 0; i < columns; ++i)
    for (std::size_t j = i + 1; j < columns; ++j) g[i][j] = g[j][i];

  std::vector<double> best(columns, 0.0);
  double best_value = 0;  // of |A c|^2 - 2 b c; zero is c = 0
  for (unsigned set = 1; set < (1u << columns); ++set) {
    std::array<std::size_t, kMost> chosen{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < columns; ++i)
      if (set >> i & 1) chosen[n++] = i;
    const auto x = solve(g, b, {chosen.data(), n});
    if (!x) continue;
    double value = 0;
    bool negative = false;
    for (std::size_t i = 0; i < n; ++i) {
      negative = negative || (*x)[i] < 0;
      value -= b[chosen[i]] * (*x)[i];  // at the solution |A c|^2 = b c
    }
    if (negative || value >= best_value) continue;
    best_value = value;
    best.assign(columns, 0.0);
    for (std::size_t i = 0; i < n; ++i) best[chosen[i]] = (*x)[i];
  }
  return best;
}

}  // namespace foretrain
