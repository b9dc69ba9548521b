// Pieces of features (terms.h) that families share.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "operators/operator.h"
#include "operators/terms.h"

namespace foretrain {

inline double log2_of(double v) { return std::log2(std::max(v, 1.0)); }

// Largest power of two that divides a size, up to 128: kernels load 8 or 16 elements at a time.
inline double alignment(std::int64_t size) {
  return static_cast<double>(
      std::min(std::countr_zero(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))), 7));
}

// FLOPs, bytes, and the first for each of the second.
inline void add_work_features(Features& f, const Operator& op, double scale_of_bytes) {
  const double work = flops(op).value, moved = bytes(op).value;
  f.add(log2_of(work));
  f.add(log2_of(moved), scale_of_bytes);
  f.add(work > 0 ? std::log2(work / moved) : 0);
}

// As many of the first sizes as there are scales.
inline void add_size_features(Features& f, const Operator& op, std::span<const double> scales) {
  for (std::size_t i = 0; i < scales.size(); ++i)
    f.add(log2_of(static_cast<double>(op.flat()[i])), scales[i]);
}

}  // namespace foretrain
