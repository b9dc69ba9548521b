// A fitted operator: its base coefficients, its residual (trees, or smooth), where it was sampled and how far
// it is off.
#pragma once

#include <array>
#include <cstdint>

#include "base/estimate.h"
#include "cost/cost.h"
#include "cost/forest.h"
#include "cost/smooth.h"
#include "operators/description.h"
#include "operators/optimizer.h"
#include "operators/terms.h"

namespace foretrain {

// What one model is for: every shape of an operator, one implementation, pass and number format. A pooled
// model stands for all passes of a linear or of a grouped product (Description::pools_passes) that are one
// kernel, with and without a bias, of one library or another (ModelFacts::pooled): its key is that of the
// plain forward.
struct ModelKey {
  OperatorKind kind = OperatorKind::kLinear;
  Impl impl = Impl::kAten;
  PassKind pass = PassKind::kForward;
  Dtype dtype = Dtype::kFp16;

  bool operator==(const ModelKey&) const = default;
};
inline ModelKey key_of(const Operator& op) { return {op.kind, impl_of(op), op.pass, op.dtype}; }

// Whether samples of it go into a pooled model.
inline bool is_pooled(const ModelKey& key) {
  const bool one =
      key.pass == PassKind::kForward || key.pass == PassKind::kInput || key.pass == PassKind::kWeight;
  return description(key.kind).pools_passes && one && (key.impl == Impl::kAten || key.impl == Impl::kFused);
}
constexpr ModelKey pooled_key(const ModelKey& key) {
  return {key.kind, Impl::kAten, PassKind::kForward, key.dtype};
}

struct ModelFacts {
  std::int64_t samples = 0;
  double error = 0;           // cross-validated mean absolute relative error on unseen shapes
  double spread = 0;          // of the log residual: half the width of the 80 % interval, over kZ80
  double spread_outside = 0;  // beyond the sampled range
  Origin origin = Origin::kInterpolated;
  double seconds_per_launch_host = 0;  // 0: not sampled
  std::array<double, 6> size_low{};    // sampled range, by size
  std::array<double, 6> size_high{};
  double group_high = 0;     // most query heads to one of keys and values
  double clocked_share = 0;  // of its time at the reference clock
  bool pooled = false;

  bool operator==(const ModelFacts&) const = default;
};

struct OperatorModelView {
  ModelKey key;
  ModelFacts facts;
  std::array<double, kMaxTerms> coefficients{};
  ForestView residual;
  SmoothView smooth;  // instead of the forest
  SmoothView host;    // log of host seconds a launch; empty: seconds_per_launch_host
  SmoothView power;   // log of what its FLOPs cost in energy, against the chip's average; empty: as much
};

// Seconds, spread and origin of `op`, whose key is the model's; host seconds are 0 where none were sampled.
OperatorCost evaluate(const OperatorModelView& model, const Operator& op, const Gpu& gpu);

// Whether its samples held rows that are loaded as those of `op`, which are no multiple of 16 bytes: a fit gives
// weight to what such rows take longer only where it saw some. `aligned` is the same with rows that are.
bool knows_rows(const OperatorModelView& model, const Operator& op, const Operator& aligned, const Gpu& gpu);

// The base alone.
double base_seconds(const std::array<double, kMaxTerms>& coefficients, const Terms& terms);

}  // namespace foretrain
