#include "job/expert_load.h"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

// Chance that a standard normal value is below x.
double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Where below() is p, by halving: seldom asked for.
double quantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) < p ? low : high) = middle;
  }
  return low;
}

// Expected largest of n standard normal values.
double largest_of(double n) { return n < 2 ? 0.0 : quantile((n - 0.375) / (n + 0.25)); }

}  // namespace

double fullest_rank(const ExpertSpread& spread, double capacity) {
  const double z = largest_of(static_cast<double>(spread.ranks)), m = static_cast<double>(spread.per_rank);
  if (spread.fullest <= 1 || z <= 0) return std::min(spread.fullest, capacity);
  const double of_rank = (spread.fullest - 1) / z, s = std::sqrt(std::log1p(m * of_rank * of_rank));
  const double a = (std::log(capacity) + s * s / 2) / s;
  const double mean = below(a - s) + capacity * below(-a);
  const double square = std::exp(s * s) * below(a - 2 * s) + capacity * capacity * below(-a);
  const double variance = std::max(0.0, square - mean * mean) / m;
  return std::min({spread.fullest, capacity, mean + z * std::sqrt(variance)});
}

}  // namespace foretrain
