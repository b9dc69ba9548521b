// The published training runs that are judged by parts. FORETRAIN_SEED names the folder with
// measured_runs.json (tests/accuracy/check sets it).
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "spec/model.h"
#include "spec/plan.h"

namespace foretrain {

using Json = nlohmann::json;

inline Json measured_runs() {
  const char* folder = std::getenv("FORETRAIN_SEED");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  std::ifstream file(std::string(folder) + "/measured_runs.json");
  return Json::parse(file);
}

// One layer of its model.
inline Model model_of(const Json& a) {
  Model model;
  model.name = "seed";
  model.hidden = a.at("hidden");
  const std::int64_t heads = a.at("heads"), kv_heads = a.at("kv_heads"), ffn = a.at("ffn"), layers = 1;
  model.blocks = {{layers, Block{{heads, kv_heads, model.hidden / heads}, {MlpKind::kGelu, ffn}}}};
  model.norm = a.at("norm") == "layernorm" ? Norm::kLayernorm : Norm::kRmsnorm;
  model.positions = Positions::kRope;
  model.rotary_fraction = a.at("rotary_fraction");
  model.vocab = a.at("vocab");
  model.biases = model.qkv_bias = model.projection_bias = true;
  model.norm_bias = model.norm == Norm::kLayernorm;
  const std::string residual = a.at("residual");
  model.residual = residual.starts_with("parallel") ? Residual::kParallel : Residual::kSequential;
  return model;
}

// The choices that shape a layer's passes.
inline Plan plan_of(const Json& run) {
  const Json& plan_json = run.at("plan");
  Plan plan;
  plan.tp = plan_json.at("tp");
  plan.micro_batch = plan_json.at("micro_batch");
  plan.recompute = Recompute::kFull;
  plan.precision = "fp16";
  const std::string attention = run.at("architecture").at("attention");
  plan.attention = attention.starts_with("unfused") ? AttentionKind::kUnfused : AttentionKind::kFlash;
  plan.partition_activations = plan_json.at("partition_activations").get<bool>();
  return plan;
}

}  // namespace foretrain
