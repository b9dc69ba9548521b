#include "calibrate/matrix.h"

#include <cmath>

namespace foretrain {

std::optional<Cholesky> Cholesky::of(const Matrix& matrix) {
  const std::size_t n = matrix.rows();
  Matrix lower(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= lower(i, k) * lower(j, k);
      if (i != j) {
        lower(i, j) = sum / lower(j, j);
      } else {
        if (!(sum > 0)) return std::nullopt;
        lower(i, i) = std::sqrt(sum);
      }
    }
  return Cholesky(std::move(lower));
}

std::vector<double> Cholesky::solve(std::vector<double> right) const {
  const std::size_t n = lower_.rows();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= lower_(i, k) * right[k];
    right[i] /= lower_(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= lower_(k, i) * right[k];
    right[i] /= lower_(i, i);
  }
  return right;
}

// A^-1 = L^-T L^-1: column by column of L^-1, whose squares add up.
std::vector<double> Cholesky::inverse_diagonal() const {
  const std::size_t n = lower_.rows();
  std::vector<double> out(n, 0.0), column(n);
  for (std::size_t j = 0; j < n; ++j) {
    column[j] = 1 / lower_(j, j);
    out[j] += column[j] * column[j];
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = 0;
      for (std::size_t k = j; k < i; ++k) sum -= lower_(i, k) * column[k];
      column[i] = sum / lower_(i, i);
      out[j] += column[i] * column[i];
    }
  }
  return out;
}

double Cholesky::log_determinant() const {
  double sum = 0;
  for (std::size_t i = 0; i < lower_.rows(); ++i) sum += 2 * std::log(lower_(i, i));
  return sum;
}

}  // namespace foretrain
