#include "operators/terms.h"

#include <algorithm>

#include "operators/description.h"
#include "operators/light.h"

namespace foretrain {

Seconds roofline(const Operator& op, const Gpu& gpu) {
  const Seconds memory = bytes(op) / gpu.hbm;
  const Flops work = flops(op);
  return work.value > 0 ? std::max(memory, work / gpu.rate(op.dtype)) : memory;
}

Terms physical_terms(const Operator& op, const Gpu& gpu) {
  Terms terms;
  terms.add(1e-6 * op.launches);
  if (const auto add_terms = description(op.kind).add_terms)
    add_terms(terms, op, gpu);
  else
    add_row_terms(terms, op, gpu);
  return terms;
}

Features residual_features(const Operator& op, const Gpu& gpu) {
  Features features;
  if (const auto add_features = description(op.kind).add_features)
    add_features(features, op, gpu);
  else
    add_light_features(features, op);
  return features;
}

}  // namespace foretrain
