// Gradient-boosted trees by XGBoost's C API, the only place that knows it. The library is opened when it is
// first needed (dlopen of Debian's libxgboost0), so that a program that only predicts does not depend on it.
//
// Training minimises squared error and starts from the (weighted) mean of y. One thread a call, so reruns are
// equal to the byte; calls from several threads at once do not disturb each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/result.h"
#include "cost/forest.h"

namespace foretrain {

struct BoostOptions {
  int trees = 500;
  int depth = 4;
  double learning_rate = 0.06;
  double min_child_weight = 5;  // the sum of weights a leaf holds at least
  double lambda = 1.0;
  double subsample = 1.0;
  int bins = 256;  // thresholds tried a feature; 0 tries all (XGBoost's exact method), several times slower
  std::uint32_t seed = 1;
};

// The names under which the library is looked for, the first that opens.
inline constexpr std::initializer_list<const char*> kXgboostLibraries = {"libxgboost.so.0", "libxgboost.so"};

// Whether boost() will find its library; the error names the package. `fit` asks before it reads samples.
Result<void> check_xgboost(std::initializer_list<const char*> libraries = kXgboostLibraries);

// Row-major `x` with `columns` features a row, one y a row, one positive weight a row (or no weights: all
// equal). An error where there is no row, a number is not finite, or the library is missing.
Result<Forest> boost(std::span<const float> x, std::size_t columns, std::span<const float> y,
                     std::span<const float> weights, const BoostOptions& options);

// XGBoost's own predictions from the same training, for the test that holds the flat layout bit-equal.
Result<std::vector<float>> boost_and_predict(std::span<const float> x, std::size_t columns,
                                             std::span<const float> y, std::span<const float> weights,
                                             const BoostOptions& options, std::span<const float> query);

}  // namespace foretrain
