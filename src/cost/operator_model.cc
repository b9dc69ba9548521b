#include "cost/operator_model.h"

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
  bool inside = true;
  for (std::size_t i = 0; i < op.sizes.size(); ++i) {
    const double size = static_cast<double>(op.sizes[i]);
    inside = inside && size >= model.facts.size_low[i] && size <= model.facts.size_high[i];
  }
  cost.spread = inside ? model.facts.spread : model.facts.spread_outside;
  cost.origin = model.facts.origin;
  cost.host = Seconds(model.facts.seconds_per_launch_host * op.launches);
  if (!inside && cost.origin <= Origin::kInterpolated) cost.origin = Origin::kExtrapolated;
  return cost;
}

}  // namespace foretrain
