// How well published times of exchanges of tokens are predicted: by fits that have not seen a shape (row, experts,
// top_k) of theirs, and by the figures that stand where nothing was fitted. FORETRAIN_OPERATOR_TABLES names the
// folder (tests/accuracy/check sets it).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "fit/collective_fit.h"
#include "network/network.h"
#include "samples/collective_clean.h"
#include "samples/operator_tables.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

struct Mean {
  double sum = 0, weight = 0;

  void add(double value, double of = 1) { sum += value * of, weight += of; }
  double value() const { return sum / weight; }
};

OperatorTablesImport imported() {
  const char* folder = std::getenv("FORETRAIN_OPERATOR_TABLES");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  std::vector<Source> tables;
  for (const char* name : {"aic_nccl.csv", "aic_deepep_normal.csv", "aic_alltoall_nvlink_gb200.csv"}) {
    const std::string path = std::string(folder) + "/" + name;
    tables.push_back({path, read_file(path, kMaxOperatorTableBytes).value()});
  }
  auto result = import_operator_tables(std::move(tables));
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().text()));
  return *std::move(result);
}

// As where nothing was fitted.
Cluster unfitted(const std::string& name) {
  Cluster cluster = Catalog().cluster(name).value();
  cluster.collectives.clear();
  cluster.gpu.collectives.clear();
  return cluster;
}

double stated_error(const CollectiveSample& sample, const Cluster& cluster) {
  const PlacedGroup placed = placed_alone(sample.ranks, sample.ranks_per_node, cluster);
  const CollectiveCost cost = collective_cost(sample.kind, sample.bytes, placed, link_rates(placed, cluster),
                                              cluster, sample.routing());
  return std::abs(cost.seconds / sample.seconds - 1);
}

bool is_of_interest(const CollectiveSample& sample) {
  if (sample.kind == CollectiveKind::kAllToAll) return true;
  const bool is_deepep = sample.kind == CollectiveKind::kDispatch || sample.kind == CollectiveKind::kCombine;
  return is_deepep && sample.sms == exchange_sms(sample.kind);
}

struct Most {
  CollectiveKind kind;
  double error;
};

void check_gpu(const OperatorTablesImport& all, const std::string& gpu, const std::string& cluster_name) {
  const Cluster cluster = unfitted(cluster_name);
  std::vector<CollectiveSample> samples = all.samples.at(gpu);
  std::erase_if(samples, [](const CollectiveSample& sample) { return !is_of_interest(sample); });
  const auto cleaned =
      clean(std::move(samples), {.of_rank = cluster.intra.bandwidth,
                                 .of_node = cluster.inter.bandwidth,
                                 .domain_nodes = cluster.nvlink_domain / cluster.gpus_per_node});
  const auto study = study_collectives(cleaned.kept, cluster);
  for (const Most most : {Most{CollectiveKind::kAllToAll, 0.12}, Most{CollectiveKind::kDispatch, 0.06},
                          Most{CollectiveKind::kCombine, 0.14}}) {
    Mean held_out, stated;
    for (const CollectiveStudyRow& row : study)
      if (row.kind == most.kind && row.ranks <= cluster.gpus_per_node && row.random >= 0)
        held_out.add(row.random, static_cast<double>(row.samples));
    for (const CollectiveSample& sample : cleaned.kept)
      if (sample.kind == most.kind && sample.ranks <= cluster.gpus_per_node)
        stated.add(stated_error(sample, cluster));
    MESSAGE(gpu, " ", std::string(name(most.kind)), ": held out ", held_out.value(), ", stated ",
            stated.value());
    CHECK(held_out.value() <= most.error);
  }
}

}  // namespace

TEST_CASE("exchanges inside a domain, samples held out by whole shapes") {
  const OperatorTablesImport all = imported();
  for (const auto& [gpu, cluster] :
       {std::pair("h100-80gb-sxm", "dgx-h100"), std::pair("h200-141gb-sxm", "dgx-h200"),
        std::pair("b200-180gb-sxm", "dgx-b200"), std::pair("gb200", "nv-perf-gb200"),
        std::pair("gb300", "nv-perf-gb300")})
    check_gpu(all, gpu, cluster);
}

TEST_CASE("other kernels over an NVLink domain of 72 take what HybridEP's stated figures say, to a third") {
  const OperatorTablesImport all = imported();
  const Cluster cluster = unfitted("nv-perf-gb200");
  Mean dispatch, combine;
  for (const CollectiveSample& sample : all.samples.at("gb200")) {
    // As in training: bf16 or fp8 rows, thousands of them, over more than a tray.
    if (sample.ranks < 8 || sample.tokens < 4096 ||
        sample.bytes.value / static_cast<double>(sample.tokens) <
            static_cast<double>(sample.hidden) * sample.top_k)
      continue;
    if (sample.kind == CollectiveKind::kHybridDispatch) dispatch.add(stated_error(sample, cluster));
    if (sample.kind == CollectiveKind::kHybridCombine) combine.add(stated_error(sample, cluster));
  }
  MESSAGE("stated, not fitted: dispatch ", dispatch.value(), ", combine ", combine.value());
  CHECK(dispatch.value() <= 0.33);
  CHECK(combine.value() <= 0.33);
}
