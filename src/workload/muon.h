// Muon's update of the blocks' matrices: five Newton-Schulz iterations that make a momentum X of n rows and more columns
// orthogonal (Jordan et al. 2024, kellerjordan.github.io/posts/muon; at scale Liu et al. 2025, arXiv 2502.16982),
//   A = X X^T,   B = b A + c A A,   X = a X + B X,
// three products in bf16 of n l n, n n n and n n l, which outweigh AdamW's bytes many times over. Embedding, head, norms
// and biases are AdamW's; momentum and update of the matrices are taken to move as many bytes as AdamW's.
#pragma once

#include <array>
#include <cstdint>

#include "job/mesh.h"
#include "spec/model.h"
#include "spec/stack.h"
#include "workload/chunk.h"
#include "workload/pass.h"

namespace foretrain {

inline constexpr std::int64_t kNewtonSchulzSteps = 5;

// Matrices that one rank of a chunk holds, by their sides.
struct MatrixKinds {
  struct Kind {
    std::int64_t shorter = 0, longer = 0, count = 0;
    bool operator==(const Kind&) const = default;
  };
  std::array<Kind, 16> kinds{};  // of a model; more are counted as the last of these
  std::size_t size = 0;

  void add(std::int64_t rows, std::int64_t columns, std::int64_t count);
  // Of so many whole matrices a rank's share, where they are dealt to ranks.
  MatrixKinds share(double part) const;
  bool operator==(const MatrixKinds&) const = default;
};

// The tasks of all their iterations: a launch a product.
void add_newton_schulz(const MatrixKinds& matrices, Repeat& repeat);

}  // namespace foretrain
