// What tests of passes share.
#pragma once

#include <algorithm>
#include <string_view>

#include "spec/catalog.h"
#include "workload/pass_shape.h"

namespace foretrain {

// Of a plan for one replica where it states no dp, with one micro-batch a step or several.
inline PassShape shape_of(const Model& model, Plan plan, const Stack& stack, std::int64_t seq,
                          bool accumulates) {
  plan.dp = std::max<std::int64_t>(plan.dp, 1);
  const Setting setting{model, {}, stack, seq};
  return pass_shape(job_of(setting, plan, plan.dp * plan.micro_batch * (accumulates ? 2 : 1)));
}

inline Model gpt(std::int64_t layers = 4, std::int64_t hidden = 1024, std::int64_t heads = 16) {
  Model model;
  model.name = "gpt";
  model.hidden = hidden;
  model.blocks = {{layers, Block{{heads, heads, hidden / heads}, {MlpKind::kGelu, 4 * hidden}}}};
  model.norm = Norm::kLayernorm;
  model.positions = Positions::kLearned;
  model.max_positions = 2048;
  model.vocab = 51200;
  model.biases = model.qkv_bias = model.projection_bias = model.norm_bias = true;
  model.dropout = 0.1;
  return model;
}

inline Stack stack(std::string_view name) { return Catalog().stack(name).value(); }

inline PassShape shape(const Model& model, const Stack& s, Plan plan, std::int64_t seq = 2048) {
  return shape_of(model, plan, s, seq, true);
}

}  // namespace foretrain
