#include "spec/cluster_figures.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "spec/catalog.h"
#include "spec/cluster_text.h"

namespace foretrain {
namespace {

Cluster dgx() { return Catalog().cluster("dgx-a100").value(); }

Cluster with(Cluster cluster, std::string_view key, double value) {
  const ClusterFigure* figure = find_cluster_figure(key);
  REQUIRE(figure != nullptr);
  REQUIRE(set_figure(cluster, *figure, value).has_value());
  return cluster;
}

// Lines of the other's text that this one's lacks.
std::ptrdiff_t new_lines(const Cluster& cluster, const Cluster& other) {
  const std::string before = to_yaml(cluster), after = to_yaml(other);
  const auto known = split(before, '\n'), lines = split(after, '\n');
  return std::count_if(lines.begin(), lines.end(), [&](std::string_view line) {
    return std::find(known.begin(), known.end(), line) == known.end();
  });
}

TEST_CASE("each figure changes what the file states under its name") {
  const Cluster base = dgx();
  CHECK(with(base, "inter_gbps", 400).inter.bandwidth == BytesPerSecond(50e9));
  CHECK(with(base, "usable_gib", 40).gpu.usable == gib(40));
  CHECK(with(base, "bf16_tflops", 500).gpu.rate(Dtype::kBf16) == teraflops(500));
  CHECK(with(base, "usable_gib", 200).gpu.memory == gib(200));  // a part with less could not have it
  CHECK(with(base, "gpus_per_node", 4).nvlink_domain == 4);
  for (const ClusterFigure& figure : cluster_figures()) {
    CAPTURE(figure.key);
    if (figure.key == "oversubscription") continue;
    const double value = figure.high == 1 ? 0.123 : figure.key == "nvlink_domain" ? 64 : 3;
    const Cluster other = with(base, figure.key, value);
    CHECK_FALSE(other == base);
    CHECK(new_lines(base, other) >= 1);
    CHECK(new_lines(base, other) <= 3);  // with what follows it: a node's domain, scalings of fp8
    CHECK(with(other, figure.key, value) == other);
  }
}

TEST_CASE("a figure stays within what its file takes, and counts are whole") {
  const ClusterFigure* rate = find_cluster_figure("inter_gbps");
  const ClusterFigure* nics = find_cluster_figure("nics");
  REQUIRE(rate != nullptr);
  REQUIRE(nics != nullptr);
  CHECK(may_be(*rate, 0.5));
  CHECK_FALSE(may_be(*rate, 0));
  CHECK_FALSE(may_be(*nics, 1.5));
  CHECK(expected_of(*nics) == "a whole number from 1 to 1024");
  CHECK(find_cluster_figure("inter") == nullptr);
}

TEST_CASE("what a figure belongs to must be there") {
  Cluster cluster = dgx();
  cluster.fabric = {};
  CHECK(set_figure(cluster, *find_cluster_figure("oversubscription"), 2).error().message.find("leaf_nodes") !=
        std::string::npos);
  cluster = dgx();
  CHECK(set_figure(cluster, *find_cluster_figure("nvlink_domain"), 12).error().message ==
        "nvlink_domain 12 is not a multiple of gpus_per_node 8");
  cluster.inter = {};
  CHECK(set_figure(cluster, *find_cluster_figure("inter_gbps"), 100).error().message ==
        "inter_gbps: cluster 'dgx-a100' states no links between nodes");
}

TEST_CASE("a pair's links are a share of all") {
  Cluster cluster = Catalog().cluster("perlmutter").value();
  const double share = cluster.intra.pair / cluster.intra.bandwidth;
  cluster = with(cluster, "intra_gbytes", 600);
  CHECK(cluster.intra.pair / cluster.intra.bandwidth == doctest::Approx(share));
}

}  // namespace
}  // namespace foretrain
