#include "spec/cluster_text.h"

#include <doctest/doctest.h>

#include <string>

#include "spec/gpu_text.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

const std::string kGpu =
    "gpu: {rates_tflops: {bf16: 989.4}, hbm_gbytes: 3352.3, memory_mib: 81559, usable_mib: 81079, l2_mib: "
    "50, "
    "sms: 132, clock_mhz: {base: 1590, max: 1980}, power_cap_w: 700}\n";
const std::string kLinks =
    "gpus_per_node: 8\nintra: {gbytes: 449.9, latency_us: 2.7}\n"
    "inter: {gbps: 3199.7, nics: 8, latency_us: 6.1, collective_efficiency: 0.048, assumed: true}\n"
    "host_launch_us: 5.3\n";

const std::string kSwitched =
    "gpus_per_node: 8\nintra: {gbytes: 450, latency_us: 3.4, nvls_efficiency: 0.61}\n"
    "inter: {gbps: 3200, nics: 8, latency_us: 14, leaf_nodes: 32, oversubscription: 2.3, rail_optimized: "
    "true}\n"
    "host_launch_us: 6\n";
const std::string kFitted =
    "collectives:\n"
    "  - collective: all_reduce\n    tier: inter\n    bandwidth_share: 0.0475\n    unseen_error: 0.031\n"
    "    layouts:\n      - {ranks: 8, ranks_per_node: 1, spread: 0.01, bytes: [2.7e8, 2.4e9], factor: [1.01, "
    "0.99]}\n";

Result<Cluster> cluster_of(const std::string& yaml) {
  return parse_yaml(yaml, "c.yaml").and_then([](const Node& node) { return parse_cluster(node, parse_gpu); });
}

}  // namespace

TEST_CASE("a cluster's rates between nodes are gigabits a node") {
  const auto cluster = cluster_of(kGpu + kLinks);
  REQUIRE_MESSAGE(cluster.has_value(), error_of(cluster));
  CHECK(cluster->gpu.rate(Dtype::kBf16) == teraflops(989.4));
  CHECK(cluster->inter.bandwidth.value == 3199.7 * 1e9 / 8);
  CHECK(cluster->intra.latency == microseconds(2.7));
  CHECK(cluster->nvlink_domain == 8);
  CHECK(cluster->nics == 8);
  CHECK(cluster->inter.assumed);
  CHECK_FALSE(cluster->price_per_gpu_hour.has_value());
}

TEST_CASE("a cluster's switches") {
  const auto cluster = cluster_of(kGpu + kSwitched);
  REQUIRE_MESSAGE(cluster.has_value(), error_of(cluster));
  CHECK(cluster->intra.nvls_efficiency == 0.61);
  CHECK(cluster->fabric == Fabric{.leaf_nodes = 32, .oversubscription = 2.3, .rail_optimized = true});
  // By default nothing above the nodes slows them, and no switch reduces.
  CHECK(cluster_of(kGpu + kLinks)->fabric == Fabric{});
  CHECK(cluster_of(kGpu + kLinks)->intra.nvls_efficiency == 0);
}

TEST_CASE("a cluster written as YAML reads back equal, to the last bit") {
  for (const std::string& yaml :
       {kGpu + kLinks + "price_per_gpu_hour: 2.49\nnvlink_domain: 72\n", kGpu + kSwitched + kFitted,
        kGpu + "gpus_per_node: 4\nintra: {gbytes: 300, latency_us: 2}\n"
               "host_launch_us: 6\nsource: 'one box: no network'\n",
        kGpu + "gpus_per_node: 4\nintra: {gbytes: 300, latency_us: 2}\ninter: {gbps: 800, latency_us: 35, "
               "rank_step_us: 41.3}\nhost_launch_us: 6\nhost_stall_us: 1080\n"}) {
    const auto cluster = cluster_of(yaml);
    REQUIRE_MESSAGE(cluster.has_value(), error_of(cluster));
    CHECK(*cluster_of(to_yaml(*cluster)) == *cluster);
  }
}

TEST_CASE("a wrong cluster is refused") {
  CHECK(error_of(cluster_of("name: x\n")) == "c.yaml:1:1: error: missing key 'gpu'");
  CHECK(error_of(cluster_of("nvlink_domain: 12\n" + kGpu + kLinks)) ==
        "c.yaml:1:16: error: nvlink_domain 12 is not a multiple of gpus_per_node 8");
  CHECK(error_of(cluster_of("inter: {gbytes: 3}\n" + kGpu +
                            "gpus_per_node: 8\n"
                            "intra: {gbytes: 300, latency_us: 2}\n"))
            .starts_with("c.yaml:1:9: error: unknown key 'gbytes'"));
  CHECK(error_of(
            cluster_of("intra: {gbytes: 300, pair_gbytes: 0, latency_us: 2}\n" + kGpu + "gpus_per_node: 4\n"))
            .starts_with("c.yaml:1:35: error: pair_gbytes: found '0', expected a number from 0.001"));
}

TEST_CASE("switches that make no sense are refused") {
  const auto with = [](const std::string& inter) {
    return error_of(cluster_of("inter: {gbps: 800, latency_us: 14, " + inter + "}\n" + kGpu +
                               "gpus_per_node: 8\nintra: {gbytes: 300, latency_us: 2}\nhost_launch_us: 6\n"));
  };
  CHECK(
      with("oversubscription: 2") ==
      "c.yaml:1:54: error: oversubscription: found no leaf_nodes beside it, expected how many nodes share a "
      "leaf");
  CHECK(with("leaf_nodes: 4, oversubscription: 0.5")
            .starts_with("c.yaml:1:69: error: oversubscription: found '0.5', expected a number from 1"));
  CHECK(with("leaf_nodes: 0").starts_with("c.yaml:1:48: error: leaf_nodes: found '0', expected"));
  CHECK(with("rail_optimised: true").starts_with("c.yaml:1:36: error: unknown key 'rail_optimised'"));
}
