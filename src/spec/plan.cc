#include "spec/plan.h"

#include <fmt/format.h>

#include "base/text.h"
#include "spec/fields.h"

namespace foretrain {

namespace {

constexpr std::int64_t kMaxDegree = 1'000'000;
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::size_t kMaxStages = 20'000;  // more than any model has layers

// A YAML list, or text "11-12-12-9".
Result<std::vector<std::int64_t>> parse_layers_per_stage(const Node& node) {
  std::vector<Node> parts = node.items;
  if (!node.is_list()) {
    TRY_ASSIGN(const std::string text, node.text());
    for (const std::string_view part : split(text, '-')) {
      Node& item = parts.emplace_back();
      item.kind = Node::Kind::kScalar;
      item.scalar = part;
      item.at = node.at;
    }
  }
  if (parts.empty() || parts.size() > kMaxStages)
    return fail(fmt::format("expected 1 to {} stages, found {}", kMaxStages, parts.size()), node.at);
  std::vector<std::int64_t> layers;
  for (const Node& part : parts) {
    TRY_ASSIGN(const std::int64_t count, part.integer(0, kMaxLayers));
    layers.push_back(count);
  }
  return layers;
}

Result<void> read_degrees(const Node& node, Plan& plan) {
  TRY(read_optional(node, "tp", plan.tp, 1, kMaxDegree));
  TRY(read_optional(node, "sp", plan.sp));
  TRY(read_optional(node, "pp", plan.pp, 1, kMaxDegree));
  TRY(read_optional(node, "vpp", plan.vpp, 1, kMaxDegree));
  TRY(read_optional(node, "cp", plan.cp, 1, kMaxDegree));
  TRY(read_optional(node, "ep", plan.ep, 1, kMaxDegree));
  TRY(read_optional(node, "dp", plan.dp, 1, kMaxDegree));
  TRY(read_optional(node, "zero", plan.zero, 0, 3));
  TRY(read_optional(node, "shard", plan.shard, 0, kMaxDegree));
  return read_optional(node, "micro_batch", plan.micro_batch, 1, kMaxDegree);
}

Result<void> read_choices(const Node& node, Plan& plan) {
  TRY(read_optional(node, "recompute", plan.recompute, kRecomputeNames));
  TRY(read_optional(node, "recompute_layers", plan.recompute_layers, 0, kMaxLayers));
  TRY(read_optional(node, "schedule", plan.schedule, kScheduleNames));
  TRY(read_optional(node, "precision", plan.precision, kDtypeNames));
  TRY(read_optional(node, "attention", plan.attention, kAttentionNames));
  TRY(read_optional(node, "grad_dtype", plan.grad_dtype, kDtypeNames));
  TRY(read_optional(node, "reduce_dtype", plan.reduce_dtype, kDtypeNames));
  TRY(read_optional(node, "offload", plan.offload));
  TRY(read_optional(node, "optimizer", plan.optimizer, kOptimizerNames));
  TRY(read_optional(node, "master_weights", plan.master_weights));
  TRY(read_optional(node, "sp_gather_again", plan.sp_gather_again));
  TRY(read_optional(node, "overlap_grad_reduce", plan.overlap_grad_reduce));
  TRY(read_optional(node, "overlap_param_gather", plan.overlap_param_gather));
  return read_optional(node, "partition_activations", plan.partition_activations);
}

// "tp=4,pp=2" as the map that a file would hold, without positions.
Result<Node> plan_map(std::string_view text) {
  Node map;
  map.kind = Node::Kind::kMap;
  if (trim(text).empty()) return map;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return fail(fmt::format("expected key=value, found {}", quoted(trim(part))));
    const std::string key(trim(part.substr(0, equals)));
    if (map.find(key) != nullptr) return fail(fmt::format("duplicate key {}", quoted(key)));
    Node value;
    value.kind = Node::Kind::kScalar;
    value.scalar = trim(part.substr(equals + 1));
    map.entries.emplace_back(key, std::move(value));
    map.key_at.emplace_back();
  }
  return map;
}

}  // namespace

Result<Plan> parse_plan(const Node& node, Plan start) {
  TRY(only_fields(node, "a plan",
                  {"tp",
                   "sp",
                   "pp",
                   "vpp",
                   "cp",
                   "ep",
                   "dp",
                   "zero",
                   "shard",
                   "micro_batch",
                   "recompute",
                   "recompute_layers",
                   "schedule",
                   "precision",
                   "attention",
                   "grad_dtype",
                   "reduce_dtype",
                   "offload",
                   "optimizer",
                   "master_weights",
                   "sp_gather_again",
                   "overlap_grad_reduce",
                   "overlap_param_gather",
                   "partition_activations",
                   "layers_per_stage"}));
  Plan plan = std::move(start);
  TRY(read_degrees(node, plan));
  TRY(read_choices(node, plan));
  if (const Node* layers = node.find("layers_per_stage")) {
    auto parsed = parse_layers_per_stage(*layers);
    if (!parsed) return named("layers_per_stage", std::move(parsed).error());
    plan.layers_per_stage = *std::move(parsed);
  }
  return plan;
}

Result<Plan> parse_plan(std::string_view text, Plan start) {
  auto plan = plan_map(text).and_then([&](const Node& map) { return parse_plan(map, std::move(start)); });
  if (!plan) return named("--plan", std::move(plan).error());
  return plan;
}

std::string to_text(const Plan& plan) {
  const Plan usual;
  std::vector<std::string> parts;
  const auto add = [&parts](std::string_view key, const auto& value, const auto& otherwise) {
    if (value != otherwise) parts.push_back(fmt::format("{}={}", key, value));
  };
  const auto add_word = [&parts](std::string_view key, const auto& names, auto value, auto otherwise) {
    if (value != otherwise)
      parts.push_back(fmt::format("{}={}", key, names[static_cast<std::size_t>(value)]));
  };
  const auto add_open_word = [&parts](std::string_view key, const auto& names, const auto& value) {
    if (value) parts.push_back(fmt::format("{}={}", key, names[static_cast<std::size_t>(*value)]));
  };
  const auto add_open_flag = [&parts](std::string_view key, std::optional<bool> value) {
    if (value) parts.push_back(fmt::format("{}={:d}", key, *value));
  };
  add("tp", plan.tp, usual.tp);
  if (plan.sp) parts.push_back("sp=1");
  add("pp", plan.pp, usual.pp);
  add("vpp", plan.vpp, usual.vpp);
  add("cp", plan.cp, usual.cp);
  add("ep", plan.ep, usual.ep);
  add("dp", plan.dp, usual.dp);
  add("zero", plan.zero, usual.zero);
  add("shard", plan.shard, usual.shard);
  add("micro_batch", plan.micro_batch, usual.micro_batch);
  add_word("recompute", kRecomputeNames, plan.recompute, usual.recompute);
  add("recompute_layers", plan.recompute_layers, usual.recompute_layers);
  add_word("schedule", kScheduleNames, plan.schedule, usual.schedule);
  add_word("precision", kDtypeNames, plan.precision, usual.precision);
  add_open_word("attention", kAttentionNames, plan.attention);
  add_open_word("grad_dtype", kDtypeNames, plan.grad_dtype);
  add_open_word("reduce_dtype", kDtypeNames, plan.reduce_dtype);
  if (plan.offload) parts.push_back("offload=1");
  add_word("optimizer", kOptimizerNames, plan.optimizer, usual.optimizer);
  add_open_flag("master_weights", plan.master_weights);
  add_open_flag("sp_gather_again", plan.sp_gather_again);
  add_open_flag("overlap_grad_reduce", plan.overlap_grad_reduce);
  add_open_flag("overlap_param_gather", plan.overlap_param_gather);
  add_open_flag("partition_activations", plan.partition_activations);
  if (!plan.layers_per_stage.empty())
    parts.push_back(fmt::format("layers_per_stage={}", fmt::join(plan.layers_per_stage, "-")));
  return join(parts, ",");
}

}  // namespace foretrain
