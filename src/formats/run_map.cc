#include "formats/run_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/map_writer.h"

namespace foretrain {
namespace {

constexpr std::array<std::string_view, 43> kModelKeys = {"hidden",
                                                         "layers",
                                                         "heads",
                                                         "kv_heads",
                                                         "head_dim",
                                                         "qk_norm",
                                                         "window",
                                                         "sinks",
                                                         "q_rank",
                                                         "kv_rank",
                                                         "nope_dim",
                                                         "rope_dim",
                                                         "v_dim",
                                                         "ffn",
                                                         "mlp",
                                                         "experts",
                                                         "top_k",
                                                         "routing_groups",
                                                         "group_limit",
                                                         "expert_ffn",
                                                         "router",
                                                         "shared_ffn",
                                                         "shared_gate",
                                                         "balancing_bias",
                                                         "dense_layers",
                                                         "expert_every",
                                                         "full_every",
                                                         "norm",
                                                         "post_norms",
                                                         "positions",
                                                         "rotary_fraction",
                                                         "max_positions",
                                                         "vocab",
                                                         "tied",
                                                         "biases",
                                                         "qkv_bias",
                                                         "projection_bias",
                                                         "norm_bias",
                                                         "embedding_norm",
                                                         "residual",
                                                         "dropout",
                                                         "mtp_layers",
                                                         "gelu"};

std::int64_t degree(const Facts& facts, std::string_view key) {
  return std::max<std::int64_t>(1, facts.whole(key).value_or(1));
}

// Ranks that share one sequence.
std::int64_t split_of(const Facts& facts) {
  return product({degree(facts, "plan.tp"), degree(facts, "plan.pp"), degree(facts, "plan.cp")});
}

// In how many GPUs the run is said to be, by nodes or by ranks.
void find_gpus(Facts& facts) {
  const auto nodes = facts.whole("nodes"), each = facts.whole("gpus_per_node"), stated = facts.whole("gpus");
  if (nodes && each && *nodes > 0 && *each > 0) {
    if (stated && *stated != product({*nodes, *each}))
      facts.contradict(fmt::format("{} GPUs are stated, but {} nodes of {} make {}", *stated, *nodes, *each,
                                   product({*nodes, *each})));
    if (!stated) facts.set("gpus", std::to_string(product({*nodes, *each})), "nodes x GPUs");
  }
  const std::int64_t split = split_of(facts);
  const auto dp = facts.whole("dp");
  const auto gpus = facts.whole("gpus");
  if (!gpus && dp && *dp > 0) facts.set("gpus", std::to_string(product({split, *dp})), "tp pp cp dp");
  if (!gpus) return;
  if (*gpus % split != 0)
    facts.contradict(fmt::format("{} GPUs ({}) are not a multiple of tp {} x pp {} x cp {} = {}", *gpus,
                                 nodes && each ? fmt::format("{} nodes x {}", *nodes, *each) : "as stated",
                                 degree(facts, "plan.tp"), degree(facts, "plan.pp"), degree(facts, "plan.cp"),
                                 split));
  else if (dp && *dp > 0 && *dp != *gpus / split)
    facts.contradict(fmt::format("dp {} is stated, but {} GPUs leave {}", *dp, *gpus, *gpus / split));
}

// Copies of what ZeRO divides: so many ranks share one.
void find_shards(Facts& facts) {
  const auto gpus = facts.whole("gpus"), copies = facts.whole("instances");
  if (!copies || *copies < 2) return;
  const std::int64_t ranks = gpus.value_or(0) / product({degree(facts, "plan.tp"), degree(facts, "plan.pp")});
  if (ranks > 0 && ranks % *copies == 0)
    facts.set_usual("plan.shard", std::to_string(ranks / *copies));
  else
    facts.not_modelled.emplace_back("num-distributed-optimizer-instances", "memory");
}

void find_batch(Facts& facts) {
  const auto gpus = facts.whole("gpus"), accumulation = facts.whole("accumulation");
  const std::int64_t micro = degree(facts, "plan.micro_batch");
  const std::int64_t split = split_of(facts);
  if (!gpus || *gpus % split != 0) return;
  const std::int64_t dp = *gpus / split;
  const auto batch = facts.whole("global_batch");
  if (!batch && accumulation && *accumulation > 0)
    facts.set("global_batch", std::to_string(product({micro, *accumulation, dp})),
              "micro batch x accumulation x dp");
  if (batch && accumulation && *accumulation > 0 && *batch != product({micro, *accumulation, dp}))
    facts.contradict(
        fmt::format("global batch {} is stated, but micro batch {} x accumulation {} x dp {} make {}", *batch,
                    micro, *accumulation, dp, product({micro, *accumulation, dp})));
  if (batch && *batch > 0 && *batch % product({micro, dp}) != 0)
    facts.contradict(
        fmt::format("global batch {} is not a multiple of micro batch {} x dp {}", *batch, micro, dp));
}

void put(MapWriter& out, std::string_view key, const Facts::Stated& stated) {
  Node node = out.scalar(stated.value);
  node.at = stated.at;
  if (const auto whole = whole_word(stated.value)) node.scalar = std::to_string(*whole);
  out.put(key, std::move(node));
}

Node model_of(const Facts& facts) {
  MapWriter model;
  if (facts.has("model")) model.put("name", std::string_view(facts.word("model")));
  for (const std::string_view key : kModelKeys)
    if (const auto found = facts.all().find(std::string(key)); found != facts.all().end())
      put(model, key, found->second);
  return model.take();
}

}  // namespace

ForeignRun foreign_run(std::string_view format, Facts facts) {
  // How sequences would be shared, which frameworks state whether or not they are.
  if (degree(facts, "plan.cp") == 1) facts.erase("plan.cp_type");
  find_gpus(facts);
  find_batch(facts);
  find_shards(facts);
  MapWriter run, plan;
  const bool has_sizes = facts.has("hidden") && facts.has("layers");
  if (has_sizes)
    run.put("model", model_of(facts));
  else if (facts.has("model"))
    put(run, "model", facts.all().at("model"));
  for (const std::string_view key : {"gpus", "seq", "global_batch", "stack", "task"})
    if (const auto found = facts.all().find(std::string(key)); found != facts.all().end())
      put(run, key, found->second);
  constexpr std::string_view kPlan = "plan.";
  for (const auto& [key, stated] : facts.all())
    if (key.starts_with(kPlan)) put(plan, std::string_view(key).substr(kPlan.size()), stated);
  run.put("plan", plan.take());
  ForeignRun out{.format = std::string(format), .run = run.take()};
  out.unknown_flags = std::move(facts.unknown);
  out.not_modelled = std::move(facts.not_modelled);
  out.accumulation = facts.whole("accumulation");
  out.contradictions = std::move(facts.contradictions);
  out.assumed = std::move(facts.assumed);
  return out;
}

std::optional<std::int64_t> batch_on(const ForeignRun& run, std::int64_t gpus) {
  if (!run.accumulation || *run.accumulation < 1 || run.run.find("global_batch") != nullptr)
    return std::nullopt;
  const Node* plan = run.run.find("plan");
  const auto of = [&](std::string_view key) {
    const Node* node = plan == nullptr ? nullptr : plan->find(key);
    return node == nullptr ? 1 : std::max<std::int64_t>(1, whole_word(node->scalar).value_or(1));
  };
  const std::int64_t replicas = gpus / product({of("tp"), of("pp"), of("cp")});
  if (replicas < 1) return std::nullopt;
  return product({of("micro_batch"), *run.accumulation, replicas});
}

}  // namespace foretrain
