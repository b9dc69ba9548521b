// Muon's update of the blocks' matrices: five Newton-Schulz iterations that make a momentum X of n rows and more columns
// orthogonal (Jordan et al. 2024, kellerjordan.github.io/posts/muon; at scale Liu et al. 2025, arXiv 2502.16982),
//   A = X X^T,   B = b A + c A A,   X = a X + B X,
// three products in bf16 of n l n, n n n and n n l, which outweigh AdamW's bytes many times over. Embedding, head, norms
// and biases are AdamW's; momentum and update of the matrices are taken to move as many bytes as AdamW's. Of tensor ranks each
// iterates on its own part (Megatron Core's muon_tp_mode blockwise).
//
// A matrix is made orthogonal whole. Under ZeRO 1 matrices are dealt to ranks, each whole (Megatron Core's
// LayerWiseDistributedOptimizer), and nothing more is sent than weights. Where every matrix is cut into N shards, as ZeRO 2 and
// 3 of fully_shard cut it, N of one kind are put together on a rank each by an all-to-all of bf16 shards, and go back
// by another (microsoft/dion, muon.py; essential.ai/blog/infra): of n matrices of s bytes
//   2 ceil(n / N) all-to-alls, in each of which a rank sends s bytes.
// Experts' matrices are cut by experts, so that each lies whole on a rank.
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
  void add(const MatrixKinds& more);
  // Of so many whole matrices a rank's share, where they are dealt to ranks.
  MatrixKinds share(double part) const;
  bool operator==(const MatrixKinds&) const = default;
};

// The tasks of all their iterations: a launch a product.
void add_newton_schulz(const MatrixKinds& matrices, Repeat& repeat);

}  // namespace foretrain
