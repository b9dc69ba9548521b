#include "fit/collective_fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "network/network.h"

namespace foretrain {
namespace {

// Nodes of 4, NVLink 300 GB/s, four NICs of 25 GB/s.
Cluster cluster_of() {
  Cluster cluster;
  cluster.name = "test";
  cluster.gpus_per_node = cluster.nvlink_domain = cluster.nics = 4;
  cluster.intra = {.bandwidth = gigabytes_per_second(300), .latency = microseconds(3.4)};
  cluster.inter = {.bandwidth = gigabytes_per_second(100), .latency = microseconds(14)};
  return cluster;
}

// What a fabric with this share of its rate and this scale of latencies would measure, times `factor`.
template <class Factor>
std::vector<CollectiveSample> measured(CollectiveKind kind, std::int64_t ranks, std::int64_t ranks_per_node,
                                       double share, double latency, const Factor& factor,
                                       double smallest = 1e3, double largest = 4e9) {
  Cluster truth = cluster_of();
  const PlacedGroup placed = placed_alone(ranks, ranks_per_node, truth);
  const Tier tier = placed.crosses_nodes() ? Tier::kInter : Tier::kIntra;
  truth.collectives = {{.kind = kind, .tier = tier, .bandwidth_share = share, .latency_scale = latency}};
  std::vector<CollectiveSample> samples;
  for (double bytes = smallest; bytes <= largest; bytes *= 1.15) {
    const double whole = std::round(bytes);
    const CollectiveCost cost = collective_cost(kind, Bytes(whole), placed, link_rates(placed, truth), truth);
    CollectiveSample sample;
    sample.kind = kind;
    sample.bytes = Bytes(whole);
    sample.ranks = ranks;
    sample.ranks_per_node = ranks_per_node;
    sample.seconds = cost.seconds * factor(whole);
    sample.source = "a.log";
    samples.push_back(sample);
  }
  return samples;
}
double unchanged(double) { return 1; }

std::vector<CollectiveSample> joined(std::vector<CollectiveSample> a,
                                     const std::vector<CollectiveSample>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_CASE("share and latency of a fabric that follows the model come back") {
  const auto samples = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 2.0, unchanged);
  const auto fitted = fit_collectives(samples, cluster_of());
  REQUIRE(fitted.size() == 1);
  CHECK(fitted[0].kind == CollectiveKind::kAllReduce);
  CHECK(fitted[0].tier == Tier::kInter);
  CHECK(fitted[0].bandwidth_share == doctest::Approx(0.4).epsilon(0.01));
  CHECK(fitted[0].latency_scale == doctest::Approx(2.0).epsilon(0.05));
  REQUIRE(fitted[0].layouts.size() == 1);
  CHECK(fitted[0].layouts[0].samples == static_cast<std::int64_t>(samples.size()));
  CHECK(fitted[0].layouts[0].error < 0.01);
}

TEST_CASE("large messages alone tell nothing of latency: its scale stays at 1") {
  const auto samples = measured(CollectiveKind::kAllGather, 8, 1, 0.4, 3.0, unchanged, 1e9, 8e9);
  const auto fitted = fit_collectives(samples, cluster_of());
  REQUIRE(fitted.size() == 1);
  CHECK(fitted[0].latency_scale == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("a layout's own departure is kept by size, and the cluster then gives the samples back") {
  // A fifth slower above 100 MB, as another protocol might be.
  const auto samples = measured(CollectiveKind::kAllReduce, 4, 4, 0.7, 1.0,
                                [](double bytes) { return bytes > 1e8 ? 1.2 : 1.0; });
  Cluster cluster = cluster_of();
  cluster.collectives = fit_collectives(samples, cluster);
  const PlacedGroup placed = placed_alone(4, 4, cluster);
  double worst = 0, sum = 0;
  for (const CollectiveSample& s : samples) {
    const CollectiveCost cost =
        collective_cost(s.kind, s.bytes, placed, link_rates(placed, cluster), cluster);
    const double error = std::abs(cost.seconds / s.seconds - 1);
    worst = std::max(worst, error), sum += error;
  }
  CHECK(sum / static_cast<double>(samples.size()) < 0.02);
  CHECK(worst < 0.2);  // at the step itself, which bins round off
}

TEST_CASE("what layouts do not share shows as the error of an unseen one") {
  const auto alike = joined(measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged),
                            measured(CollectiveKind::kAllReduce, 16, 4, 0.4, 1, unchanged));
  CHECK(fit_collectives(alike, cluster_of())[0].unseen_error < 0.02);
  const auto different = joined(measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged, 1e8),
                                measured(CollectiveKind::kAllReduce, 16, 4, 0.2, 1, unchanged, 1e8));
  // Each is judged by the other's share: half or twice the time, so 0.5 and 1.
  CHECK(fit_collectives(different, cluster_of())[0].unseen_error == doctest::Approx(0.75).epsilon(0.1));
}

TEST_CASE("kinds and tiers are fitted apart, the inner one bounds the outer") {
  const auto samples = joined(measured(CollectiveKind::kAllReduce, 4, 4, 0.1, 1, unchanged, 1e8),
                              measured(CollectiveKind::kAllReduce, 16, 4, 0.5, 1, unchanged, 1e8));
  const auto fitted = fit_collectives(samples, cluster_of());
  REQUIRE(fitted.size() == 2);
  CHECK(fitted[0].tier == Tier::kIntra);
  CHECK(fitted[0].bandwidth_share == doctest::Approx(0.1).epsilon(0.01));
  CHECK(fitted[1].tier == Tier::kInter);
}

TEST_CASE("a sweep that the switch reduces tells how much of the stated rates there is, for rings too") {
  // Eight GPUs of 300 GB/s whose switch all-reduces at 0.7 of that; the fabric gives a tenth less than
  // stated.
  Cluster cluster = cluster_of();
  cluster.gpus_per_node = cluster.nvlink_domain = 8;
  cluster.intra.nvls_efficiency = 0.7;
  Cluster truth = cluster;
  truth.collectives = {{.kind = CollectiveKind::kAllReduce,
                        .tier = Tier::kIntra,
                        .bandwidth_share = 0.9 * cluster.intra.collective_efficiency}};
  const PlacedGroup eight = placed_alone(8, 8, cluster);
  std::vector<CollectiveSample> samples;
  for (double bytes = 1 << 20; bytes < 8e9; bytes *= 2) {
    CollectiveSample sample;
    sample.bytes = Bytes(bytes);
    sample.ranks = sample.ranks_per_node = 8;
    const CollectiveCost cost =
        collective_cost(sample.kind, sample.bytes, eight, link_rates(eight, truth), truth);
    CHECK(cost.algorithm == Algorithm::kNvls);
    sample.seconds = cost.seconds;
    samples.push_back(sample);
  }
  cluster.collectives = fit_collectives(samples, cluster);
  REQUIRE(cluster.collectives.size() == 1);
  CHECK(cluster.collectives[0].bandwidth_share == doctest::Approx(0.72).epsilon(0.02));
  // Two ranks, which run a ring, and a group over nodes behind that NVLink are no stranger for it.
  for (const auto& [ranks, per_node] : {std::pair(2, 2), std::pair(16, 8)}) {
    const PlacedGroup other = placed_alone(ranks, per_node, cluster);
    const auto seconds = [&](const Cluster& c) {
      return collective_cost(CollectiveKind::kAllReduce, Bytes(1e9), other, link_rates(other, c), c).seconds;
    };
    CHECK(seconds(cluster).value == doctest::Approx(seconds(truth).value).epsilon(0.03));
  }
}

TEST_CASE("small messages alone tell nothing of bandwidth: its share stays as stated") {
  const auto samples = measured(CollectiveKind::kAllReduce, 8, 1, 0.1, 1.0, unchanged, 1, 8);
  const auto fitted = fit_collectives(samples, cluster_of());
  REQUIRE(fitted.size() == 1);
  CHECK(fitted[0].bandwidth_share == doctest::Approx(cluster_of().inter.collective_efficiency).epsilon(0.05));
}

TEST_CASE("dense samples are binned, eight to a bin at least; a sweep keeps its sizes") {
  auto dense = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged, 1e9, 1e9);
  for (int i = 1; i < 40; ++i) {
    CollectiveSample next = dense.front();
    next.bytes += Bytes(1e6 * i);
    next.seconds *= 1 + 0.001 * i;
    dense.push_back(next);
  }
  CHECK(fit_collectives(dense, cluster_of())[0].layouts[0].bytes.size() == 5);
  const auto sweep = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged);
  CHECK(fit_collectives(sweep, cluster_of())[0].layouts[0].bytes.size() == sweep.size());
}

TEST_CASE("too few samples of a layout leave it to the cluster's figures") {
  auto samples = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged);
  samples.resize(kFewestCollectiveSamples - 1);
  CHECK(fit_collectives(samples, cluster_of()).empty());
}

TEST_CASE("equal samples give equal fits") {
  const auto samples = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 2, unchanged);
  CHECK(fit_collectives(samples, cluster_of()) == fit_collectives(samples, cluster_of()));
}

TEST_CASE("a study judges by samples that the fit has not seen, and larger sizes by smaller ones") {
  auto samples = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged, 1e6, 1e8);
  auto large = measured(CollectiveKind::kAllReduce, 8, 1, 0.4, 1, unchanged, 1.01e8, 1e10);
  for (CollectiveSample& s : large) s.source = "large.log", s.seconds *= 1.1;
  const auto rows = study_collectives(joined(samples, large), cluster_of());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].source == "a.log");
  CHECK(rows[0].larger < 0);
  CHECK(rows[0].unseen_layout < 0);
  CHECK(rows[1].larger == doctest::Approx(1 - 1 / 1.1).epsilon(0.05));  // the tenth that the small ones lack
  CHECK(rows[1].random < 0.02);
}

// Dispatches of four ranks that follow the model with this share, latency and time a token, on 20 SMs.
std::vector<CollectiveSample> dispatches(double share, double latency, Seconds row) {
  Cluster truth = cluster_of();
  truth.collectives = {{.kind = CollectiveKind::kDispatch,
                        .tier = Tier::kIntra,
                        .bandwidth_share = share,
                        .latency_scale = latency,
                        .row = row}};
  const PlacedGroup placed = placed_alone(4, 4, truth);
  std::vector<CollectiveSample> samples;
  for (const std::int64_t hidden : {1024, 2048, 4096, 5120, 7168})
    for (const std::int32_t top_k : {1, 4, 8})
      for (std::int64_t tokens = 128; tokens <= 65536; tokens *= 4) {
        CollectiveSample s{.kind = CollectiveKind::kDispatch,
                           .bytes = Bytes(static_cast<double>(tokens * top_k * hidden)),
                           .ranks = 4,
                           .ranks_per_node = 4,
                           .source = "a.csv",
                           .tokens = tokens,
                           .hidden = hidden,
                           .top_k = top_k,
                           .experts = 64,
                           .sms = 20};
        s.seconds =
            collective_cost(s.kind, s.bytes, placed, link_rates(placed, truth), truth, s.routing()).seconds;
        samples.push_back(s);
      }
  return samples;
}

TEST_CASE("share, latency and the time a token of a dispatch come back, for shapes that were left out too") {
  const auto fitted = fit_collectives(dispatches(0.5, 1.5, Seconds(30e-9)), cluster_of());
  REQUIRE(fitted.size() == 1);
  CHECK(fitted[0].bandwidth_share == doctest::Approx(0.5).epsilon(0.02));
  CHECK(fitted[0].latency_scale == doctest::Approx(1.5).epsilon(0.02));
  CHECK(fitted[0].row.value == doctest::Approx(30e-9).epsilon(0.02));
  REQUIRE(fitted[0].layouts.size() == 1);
  CHECK(fitted[0].layouts[0].samples == 75);
  CHECK(fitted[0].layouts[0].error < 0.02);
}

TEST_CASE("dispatches with other numbers of SMs have no part in the fit") {
  auto samples = dispatches(0.5, 1.5, Seconds(30e-9));
  const auto alone = fit_collectives(samples, cluster_of());
  for (CollectiveSample s : dispatches(0.1, 1.0, Seconds(100e-9))) {
    s.sms = 4;
    samples.push_back(s);
  }
  CHECK(fit_collectives(samples, cluster_of()) == alone);
}

}  // namespace
}  // namespace foretrain
