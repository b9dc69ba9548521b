#include "cost/operator_model.h"

#include <algorithm>
#include <cmath>

namespace foretrain {

double base_seconds(const std::array<double, kMaxTerms>& coefficients, const Terms& terms) {
  double sum = 0;
  for (std::size_t i = 0; i < terms.count; ++i) sum += coefficients[i] * terms.seconds[i];
  return sum;
}

OperatorCost evaluate(const OperatorModelView& model, const Operator& op, const Gpu& gpu) {
  const double base = base_seconds(model.coefficients, physical_terms(op, gpu));
  const Features features = residual_features(op, gpu);
  const double residual = model.residual.trees() > 0 ? model.residual.predict(features.view()) : 0.0;
  OperatorCost cost;
  cost.gpu = Seconds(base * std::exp(residual));
  // How far outside the sampled ranges, in doublings: the base still carries the trend, less surely.
  double outside = 0;
  for (std::size_t i = 0; i < op.sizes.size(); ++i) {
    const double size = static_cast<double>(op.sizes[i]);
    const double low = model.facts.size_low[i], high = model.facts.size_high[i];
    if (size > high) outside = std::max(outside, std::log2(size / std::max(high, 1.0)) + 0.1);
    if (size < low) outside = std::max(outside, std::log2(low / std::max(size, 1.0)) + 0.1);
  }
  if (op.kind == OperatorKind::kAttention && query_groups(op) > model.facts.group_high)
    outside = std::max(outside, std::log2(query_groups(op) / std::max(model.facts.group_high, 1.0)));
  constexpr double kSpreadPerDoubling = 0.05;
  cost.spread = outside > 0 ? model.facts.spread_outside + kSpreadPerDoubling * outside : model.facts.spread;
  cost.origin = model.facts.origin;
  cost.host = Seconds(model.facts.seconds_per_launch_host * op.launches);
  if (outside > 0 && cost.origin <= Origin::kInterpolated) cost.origin = Origin::kExtrapolated;
  return cost;
}

}  // namespace foretrain
