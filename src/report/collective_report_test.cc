#include "report/collective_report.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

Cluster cluster_of() {
  Cluster cluster;
  cluster.name = "test";
  cluster.gpus_per_node = cluster.nvlink_domain = cluster.nics = 8;
  cluster.intra = {
      .bandwidth = gigabytes_per_second(450), .latency = microseconds(3.4), .nvls_efficiency = 0.69};
  cluster.inter = {.bandwidth = gigabytes_per_second(400), .latency = microseconds(14)};
  return cluster;
}

FittedCollective fitted() {
  FittedLayout layout{.ranks = 16, .ranks_per_node = 8, .samples = 1200, .error = 0.0123, .spread = 0.01};
  layout.bytes = {1e6, 2e9};
  layout.factor = {1.1, 0.9};
  return {.kind = CollectiveKind::kAllReduce,
          .tier = Tier::kInter,
          .bandwidth_share = 0.875,
          .layouts = {layout}};
}

TEST_CASE("the table of bus bandwidth names layouts, sizes and what runs") {
  const std::string text = bus_bandwidth_text(cluster_of());
  CHECK(text.find("64 KiB") != std::string::npos);
  CHECK(text.find("1x8") != std::string::npos);
  CHECK(text.find("64x8") != std::string::npos);
  CHECK(text.find("nvls") != std::string::npos);
  CHECK(text.find("send_receive        2  2x1") != std::string::npos);
  // One GPU alone has no collectives.
  Cluster one = cluster_of();
  one.gpus_per_node = one.nvlink_domain = 1;
  one.inter = {};
  CHECK(bus_bandwidth_text(one).find("all_reduce") == std::string::npos);
}

TEST_CASE("a fit's report says what was used, rejected, fitted, and how good it is") {
  CollectiveFitReport report;
  report.cluster = "mine";
  report.samples_name = "comm";
  report.read = 1300;
  report.used = 1200;
  report.rejections = {{"all_reduce 2x8", "a.log", "outlier", 100, 1300, "1000000 bytes: 1 s"}};
  report.fitted = {fitted()};
  report.study = {{CollectiveKind::kAllReduce, 16, 8, "a.log", 1200, 0.01, -1, 0.05},
                  {CollectiveKind::kAllReduce, 16, 8, "b.log", 400, 0.03, -1, -1}};
  report.written = "out";
  const std::string text = collective_fit_text(report);
  CHECK(text.find("collective samples of mine from comm: 1,300 read, 1,200 used") == 0);
  CHECK(text.find("outlier") != std::string::npos);
  CHECK(text.find("all_reduce  inter     87.5 %") != std::string::npos);
  CHECK(text.find("1 MB .. 2 GB") != std::string::npos);
  // Over the two tables (1 + 3)/2; put together by their samples (1200 * 1 + 400 * 3)/1600.
  CHECK(text.find("2.00 %") != std::string::npos);
  CHECK(text.find("random: 1.50 %") != std::string::npos);
  CHECK(text.find("written: out/cluster.yaml") != std::string::npos);
  const std::string json = collective_fit_json(report);
  CHECK(json.find("\"random\": 0.02") != std::string::npos);
  CHECK(json.find("\"unseen_layout\": null") != std::string::npos);
  CHECK(json.find("\"count\": 100") != std::string::npos);
}

}  // namespace
}  // namespace foretrain
