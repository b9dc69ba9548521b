// Small dense matrices: as many rows as there are measurements, or factors. Positive definite ones are decomposed by
// Cholesky, A = L L^T, by which systems are solved and determinants known.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace foretrain {

class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns) : columns_(columns), values_(rows * columns, 0.0) {}

  double& operator()(std::size_t i, std::size_t j) { return values_[i * columns_ + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values_[i * columns_ + j]; }
  std::size_t rows() const { return columns_ == 0 ? 0 : values_.size() / columns_; }
  std::size_t columns() const { return columns_; }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t columns_ = 0;
  std::vector<double> values_;
};

class Cholesky {
 public:
  // Nothing where the matrix is not positive definite.
  static std::optional<Cholesky> of(const Matrix& matrix);

  std::vector<double> solve(std::vector<double> right) const;  // A^-1 right
  std::vector<double> inverse_diagonal() const;                // of A^-1
  double log_determinant() const;                              // of A
  const Matrix& lower() const { return lower_; }

 private:
  explicit Cholesky(Matrix lower) : lower_(std::move(lower)) {}

  Matrix lower_;
};

}  // namespace foretrain
