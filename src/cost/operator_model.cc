#include "cost/operator_model.h"

#include <algorithm>
#include <cmath>

#include "operators/attention.h"

namespace foretrain {

double base_seconds(const std::array<double, kMaxTerms>& coefficients, const Terms& terms) {
  double sum = 0;
  for (std::size_t i = 0; i < terms.count; ++i) sum += coefficients[i] * terms.seconds[i];
  return sum;
}

bool knows_rows(const OperatorModelView& model, const Operator& op, const Operator& aligned, const Gpu& gpu) {
  const Terms here = physical_terms(op, gpu), there = physical_terms(aligned, gpu);
  for (std::size_t i = 0; i < here.count; ++i)
    if (here.seconds[i] > 0 && there.seconds[i] == 0 && model.coefficients[i] > 0) return true;
  return false;
}

OperatorCost evaluate(const OperatorModelView& model, const Operator& op, const Gpu& gpu) {
  const double base = base_seconds(model.coefficients, physical_terms(op, gpu));
  const Features features = residual_features(op, gpu);
  double residual = model.smooth.predict(features.view());
  if (model.residual.trees() > 0)
    residual =
        model.residual.predict(features.view().first(static_cast<std::size_t>(model.residual.features)));
  OperatorCost cost;
  cost.gpu = Seconds(base * std::exp(residual));
  cost.clocked_share = model.facts.clocked_share;
  if (!model.power.empty()) cost.energy = std::exp(model.power.predict(features.view()));
  // How far outside the sampled ranges, in doublings: the base still carries the trend, less surely.
  double outside = 0;
  for (std::size_t i = 0; i < kMaxSizes; ++i) {
    const double size = static_cast<double>(op.flat()[i]);
    const double low = model.facts.size_low[i], high = model.facts.size_high[i];
    if (size > high) outside = std::max(outside, std::log2(size / std::max(high, 1.0)) + 0.1);
    if (size < low) outside = std::max(outside, std::log2(low / std::max(size, 1.0)) + 0.1);
  }
  if (op.kind == OperatorKind::kAttention && query_groups(op) > model.facts.group_high)
    outside = std::max(outside, std::log2(query_groups(op) / std::max(model.facts.group_high, 1.0)));
  constexpr double kSpreadPerDoubling = 0.05;
  cost.spread = outside > 0 ? model.facts.spread_outside + kSpreadPerDoubling * outside : model.facts.spread;
  cost.origin = model.facts.origin;
  const double host = model.host.empty() ? model.facts.seconds_per_launch_host
                                         : static_cast<double>(std::exp(model.host.predict(features.view())));
  cost.host = Seconds(host * op.launches);
  if (outside > 0 && cost.origin <= Origin::kInterpolated) cost.origin = Origin::kExtrapolated;
  return cost;
}

}  // namespace foretrain
