#include "spec/cluster_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml_text.h"
#include "spec/fitted_collective_text.h"
#include "spec/gpu_text.h"
#include "spec/read_fields.h"
#include "spec/row_words.h"
#include "spec/unsteady.h"

namespace foretrain {

namespace {

constexpr double kGigabit = 1e9 / 8;  // bytes

Result<Link> parse_link(const Node& map, std::string_view rate_key, double rate_unit) {
  Link link;
  double rate = 0, latency_us = 0;
  TRY(read_required(map, rate_key, rate, RealNumber{1e-3, 1e6}));
  TRY(read_required(map, "latency_us", latency_us, RealNumber{0.0, 1e6}));
  link.bandwidth = BytesPerSecond(rate * rate_unit);
  link.latency = microseconds(latency_us);
  TRY(read_optional(map, "collective_efficiency", link.collective_efficiency, RealNumber{1e-3, 1.0}));
  TRY(read_optional(map, "p2p_efficiency", link.p2p_efficiency, RealNumber{1e-3, 1.0}));
  TRY(read_optional(map, "assumed", link.assumed));
  return link;
}

Result<void> read_nodes(const Node& node, Cluster& cluster) {
  TRY(read_required(node, "gpus_per_node", cluster.gpus_per_node, WholeNumber{1, 1024}));
  cluster.nvlink_domain = cluster.gpus_per_node;
  TRY(read_optional(node, "nvlink_domain", cluster.nvlink_domain, WholeNumber{1, 1'000'000}));
  if (cluster.nvlink_domain % cluster.gpus_per_node != 0)
    return fail(fmt::format("nvlink_domain {} is not a multiple of gpus_per_node {}", cluster.nvlink_domain,
                            cluster.gpus_per_node),
                node.find("nvlink_domain")->at);
  return {};
}

Result<Jitter> parse_jitter(const Node& node) {
  TRY_ASSIGN(
      const Node* map,
      required_section(node, "jitter", {"spread", "message_spread", "stalls_per_node_hour", "stall_ms"}));
  Jitter jitter;
  double stall_ms = 0;
  TRY(read_optional(*map, "spread", jitter.spread, RealNumber{0.0, 1.0}));
  TRY(read_optional(*map, "message_spread", jitter.message_spread, RealNumber{0.0, 10.0}));
  TRY(read_optional(*map, "stalls_per_node_hour", jitter.stalls_per_node_hour, RealNumber{0.0, 1e6}));
  TRY(read_optional(*map, "stall_ms", stall_ms, RealNumber{0.0, 1e9}));
  if ((jitter.stalls_per_node_hour > 0) != (stall_ms > 0))
    return fail("jitter: expected stalls_per_node_hour and stall_ms together", map->at);
  jitter.stall = Seconds(stall_ms * 1e-3);
  return jitter;
}

std::string link_yaml(const Link& link) {
  std::string out = fmt::format("  latency_us: {}\n", in_units_of(1e-6, link.latency.value));
  out += fmt::format("  collective_efficiency: {}\n", link.collective_efficiency);
  out += fmt::format("  p2p_efficiency: {}\n", link.p2p_efficiency);
  return out;
}

std::string indented(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += fmt::format("  {}\n", line);
  return out;
}

}  // namespace

Result<Cluster> parse_cluster(const Node& node, const std::function<Result<Gpu>(const Node&)>& gpu_of) {
  TRY(only_fields(node, "a cluster",
                  {"name", "source", "gpu", "gpus_per_node", "nvlink_domain", "intra", "inter",
                   "host_launch_us", "host_stall_us", "host_gbytes", "host_memory_gib", "cpu_memory_gbytes",
                   "price_per_gpu_hour", "jitter", "collectives", kUnsteadyKey, kRowsKey}));
  TRY(unsteady_of(node));
  TRY(cluster_words_of(node));
  Cluster cluster;
  cluster.name = "inline";
  TRY(read_optional(node, "name", cluster.name));
  TRY(read_optional(node, "source", cluster.source));
  const Node* gpu = node.find("gpu");
  if (gpu == nullptr) return missing(node, "gpu");
  TRY_ASSIGN(cluster.gpu, gpu_of(*gpu));
  TRY(read_nodes(node, cluster));

  TRY_ASSIGN(const Node* intra,
             required_section(node, "intra",
                              {"gbytes", "pair_gbytes", "latency_us", "collective_efficiency",
                               "p2p_efficiency", "nvls_efficiency"}));
  TRY_ASSIGN(cluster.intra, parse_link(*intra, "gbytes", 1e9));
  double pair = 0;
  TRY(read_optional(*intra, "pair_gbytes", pair, RealNumber{1e-3, 1e6}));
  cluster.intra.pair = gigabytes_per_second(pair);
  TRY(read_optional(*intra, "nvls_efficiency", cluster.intra.nvls_efficiency, RealNumber{1e-3, 2.0}));
  TRY_ASSIGN(const Node* inter, optional_section(node, "inter",
                                                 {"gbps", "nics", "latency_us", "collective_efficiency",
                                                  "p2p_efficiency", "rank_step_us", "assumed", "leaf_nodes",
                                                  "oversubscription", "rail_optimized"}));
  if (node.find("inter") != nullptr) {
    TRY_ASSIGN(cluster.inter, parse_link(*inter, "gbps", kGigabit));
    TRY(read_optional(*inter, "nics", cluster.nics, WholeNumber{1, 1024}));
    double rank_step_us = 0;
    TRY(read_optional(*inter, "rank_step_us", rank_step_us, RealNumber{0.0, 1e6}));
    cluster.inter.rank_step = microseconds(rank_step_us);
    TRY(read_optional(*inter, "leaf_nodes", cluster.fabric.leaf_nodes, WholeNumber{1, 1'000'000}));
    TRY(read_optional(*inter, "oversubscription", cluster.fabric.oversubscription, RealNumber{1.0, 1000.0}));
    TRY(read_optional(*inter, "rail_optimized", cluster.fabric.rail_optimized));
    if (cluster.fabric.oversubscription > 1.0 && cluster.fabric.leaf_nodes == 0)
      return fail("oversubscription: found no leaf_nodes beside it, expected how many nodes share a leaf",
                  inter->find("oversubscription")->at);
  }

  double host_launch_us = 0;
  TRY(read_required(node, "host_launch_us", host_launch_us, RealNumber{0.0, 1e6}));
  cluster.host_launch = microseconds(host_launch_us);
  double host_stall_us = 0;
  TRY(read_optional(node, "host_stall_us", host_stall_us, RealNumber{0.0, 1e6}));
  cluster.host_stall = microseconds(host_stall_us);
  double host = 0, memory = 0;
  TRY(read_optional(node, "host_gbytes", host, RealNumber{1e-3, 1e6}));
  TRY(read_optional(node, "host_memory_gib", memory, RealNumber{1.0, 1e6}));
  cluster.host = gigabytes_per_second(host);
  cluster.host_memory = gib(memory);
  double cpu_memory = 0;
  TRY(read_optional(node, "cpu_memory_gbytes", cpu_memory, RealNumber{1e-3, 1e6}));
  if (cpu_memory > 0) cluster.cpu_memory = gigabytes_per_second(cpu_memory);
  TRY(read_optional(node, "price_per_gpu_hour", cluster.price_per_gpu_hour, RealNumber{0.0, 1e6}));
  if (node.find("jitter") != nullptr) {
    TRY_ASSIGN(cluster.jitter, parse_jitter(node));
  }
  if (const Node* fitted = node.find("collectives")) {
    TRY_ASSIGN(cluster.collectives, parse_fitted_collectives(*fitted));
  }
  return cluster;
}

std::string to_yaml(const Cluster& cluster) {
  std::string out = fmt::format("name: {}\n", yaml_quoted(cluster.name));
  if (!cluster.source.empty()) out += fmt::format("source: {}\n", yaml_quoted(cluster.source));
  out += "gpu:\n" + indented(to_yaml(cluster.gpu));
  out += fmt::format("gpus_per_node: {}\n", cluster.gpus_per_node);
  out += fmt::format("nvlink_domain: {}\n", cluster.nvlink_domain);
  out += fmt::format("intra:\n  gbytes: {}\n", in_units_of(1e9, cluster.intra.bandwidth.value));
  if (cluster.intra.pair > BytesPerSecond(0))
    out += fmt::format("  pair_gbytes: {}\n", in_units_of(1e9, cluster.intra.pair.value));
  out += link_yaml(cluster.intra);
  if (cluster.intra.nvls_efficiency > 0)
    out += fmt::format("  nvls_efficiency: {}\n", cluster.intra.nvls_efficiency);
  if (cluster.inter.bandwidth > BytesPerSecond()) {
    out += fmt::format("inter:\n  gbps: {}\n", in_units_of(kGigabit, cluster.inter.bandwidth.value));
    out += fmt::format("  nics: {}\n", cluster.nics) + link_yaml(cluster.inter);
    if (cluster.inter.rank_step > Seconds(0))
      out += fmt::format("  rank_step_us: {}\n", in_units_of(1e-6, cluster.inter.rank_step.value));
    if (cluster.inter.assumed) out += "  assumed: true\n";
    if (cluster.fabric.leaf_nodes > 0) out += fmt::format("  leaf_nodes: {}\n", cluster.fabric.leaf_nodes);
    if (cluster.fabric.oversubscription > 1)
      out += fmt::format("  oversubscription: {}\n", cluster.fabric.oversubscription);
    if (cluster.fabric.rail_optimized) out += "  rail_optimized: true\n";
  }
  out += fmt::format("host_launch_us: {}\n", in_units_of(1e-6, cluster.host_launch.value));
  if (cluster.host_stall > Seconds(0))
    out += fmt::format("host_stall_us: {}\n", in_units_of(1e-6, cluster.host_stall.value));
  if (cluster.host > BytesPerSecond())
    out += fmt::format("host_gbytes: {}\n", in_units_of(1e9, cluster.host.value));
  if (cluster.host_memory > Bytes(0))
    out += fmt::format("host_memory_gib: {}\n", cluster.host_memory / gib(1));
  if (cluster.cpu_memory)
    out += fmt::format("cpu_memory_gbytes: {}\n", in_units_of(1e9, cluster.cpu_memory->value));
  if (cluster.price_per_gpu_hour) out += fmt::format("price_per_gpu_hour: {}\n", *cluster.price_per_gpu_hour);
  if (cluster.jitter)
    out += fmt::format("jitter: {{spread: {}, message_spread: {}, stalls_per_node_hour: {}, stall_ms: {}}}\n",
                       cluster.jitter->spread, cluster.jitter->message_spread,
                       cluster.jitter->stalls_per_node_hour, in_units_of(1e-3, cluster.jitter->stall.value));
  return out + to_yaml(cluster.collectives);
}

}  // namespace foretrain
