// The products that an operator consists of, and what they take: by physics, and as terms and features of a fit.
//
// Terms of a product m x k x n on a GPU with s SMs and rate R:
//   flops / R; bytes / bandwidth; and for tiles of a x b the time of ceil(tiles / s) waves,
//   s * waves * 2 a b k / R: a last wave that is not full costs as much as a full one; the best tilings
//   (tiling.h); and what a product takes longer whose rows are no multiple of 8 elements (k and n, the sides
//   along which memory runs): libraries then fall back to kernels that load one, two or four at a time. Operands with
//   scales have none such; for them, what a backward takes longer.
// A grouped product is a batch of one product an expert, of unequal rows (tiles_along); a loop of them fills
// its waves expert by expert.
#pragma once

#include <array>
#include <span>

#include "operators/product.h"
#include "operators/terms.h"
#include "spec/gpu.h"

namespace foretrain {

struct Product {
  double batch, m, k, n;
  double repeats = 1;          // one after the other, each over all SMs
  double deviation = 0;        // of m over the batch
  double depth_deviation = 0;  // of k
};

// The products an operator consists of: one, or the two of a whole backward.
struct Products {
  std::size_t count = 0;
  std::array<Product, 2> list{};

  std::span<const Product> view() const { return {list.data(), count}; }
};

Products products_of(const Operator& op);

// The sides of the forward's product.
LinearSizes sides(const Operator& op);

Seconds product_time(const Operator& op, const Gpu& gpu);
void add_product_terms(Terms& t, const Operator& op, const Gpu& gpu);
void add_product_features(Features& f, const Operator& op, const Gpu& gpu);

}  // namespace foretrain
