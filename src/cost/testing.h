// For tests of profiles: a forest, a model and a cluster that are made up.
#pragma once

#include <cstdint>

#include "cost/forest.h"
#include "cost/operator_model.h"
#include "operators/product.h"
#include "spec/catalog.h"

namespace foretrain {

// One tree of depth 1: residual log(2) for small products, 0 for large ones.
inline Forest step_forest() {
  Forest forest;
  forest.depth = 1;
  const Operator product = foretrain::linear({.m = 1, .k = 1, .n = 1});
  forest.features =
      static_cast<std::int32_t>(residual_features(product, Catalog().gpu("h200-141gb-sxm").value()).count);
  forest.split_feature = {0};
  forest.threshold = {30.0f};  // log2 of FLOPs
  forest.leaf = {0.6931472f, 0.0f};
  return forest;
}

inline OperatorModelView linear_model(const Forest& forest, PassKind pass) {
  OperatorModelView model;
  model.key = {OperatorKind::kLinear, Impl::kAten, pass, Dtype::kFp16};
  model.coefficients[1] = 1.25;  // of flops / rate
  model.facts.samples = 100;
  model.facts.spread = 0.03;
  model.facts.spread_outside = 0.1;
  model.facts.size_low = {1, 1, 1, 0, 0, 0};
  model.facts.size_high = {10000, 10000, 10000, 0, 0, 0};
  model.residual = forest.view();
  return model;
}

inline Cluster a100() {
  Cluster cluster;
  cluster.name = "test";
  cluster.gpu = Catalog().gpu("a100-80gb-sxm").value();
  cluster.host_launch = microseconds(6);
  return cluster;
}

inline Operator linear(std::int64_t m, PassKind pass, Dtype dtype = Dtype::kFp16) {
  return foretrain::linear({.m = m, .k = 4096, .n = 4096}, {.pass = pass, .dtype = dtype});
}

}  // namespace foretrain
