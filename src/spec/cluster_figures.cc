#include "spec/cluster_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace foretrain {
namespace {

std::int64_t count(double value) { return static_cast<std::int64_t>(value); }

template <Dtype kDtype>
void set_rate(Cluster& c, double v) {
  c.gpu.rates[static_cast<std::size_t>(kDtype)] = teraflops(v);
}

// Links of a pair, where no switch joins GPUs, are so many of all.
void set_intra(Cluster& c, double v) {
  const BytesPerSecond rate = gigabytes_per_second(v);
  c.intra.pair = BytesPerSecond(c.intra.pair.value * (rate / c.intra.bandwidth));
  c.intra.bandwidth = rate;
}

// A domain that was a node stays one.
void set_gpus_per_node(Cluster& c, double v) {
  if (c.nvlink_domain == c.gpus_per_node) c.nvlink_domain = count(v);
  c.gpus_per_node = count(v);
}

void set_usable(Cluster& c, Bytes usable) {
  c.gpu.usable = usable;
  c.gpu.memory = std::max(c.gpu.memory, usable);
}

// What each GPU has of the way to its node's memory while all use it.
void set_host(Cluster& c, double v) {
  c.gpu.host = gigabytes_per_second(v);
  if (c.host > BytesPerSecond()) c.host = gigabytes_per_second(v * static_cast<double>(c.gpus_per_node));
}

constexpr double kLeastRate = 1e-3, kMostRate = 1e6;

constexpr ClusterFigure kFigures[] = {
    {"inter_gbps", kLeastRate, kMostRate, false, false,
     [](Cluster& c, double v) { c.inter.bandwidth = BytesPerSecond(v * 1e9 / 8); }},
    {"inter_latency_us", 0, 1e6, false, false,
     [](Cluster& c, double v) { c.inter.latency = microseconds(v); }},
    {"inter_collective_efficiency", 1e-3, 1, false, false,
     [](Cluster& c, double v) { c.inter.collective_efficiency = v; }},
    {"inter_p2p_efficiency", 1e-3, 1, false, false, [](Cluster& c, double v) { c.inter.p2p_efficiency = v; }},
    {"nics", 1, 1024, true, false, [](Cluster& c, double v) { c.nics = count(v); }},
    {"leaf_nodes", 1, 1e6, true, false, [](Cluster& c, double v) { c.fabric.leaf_nodes = count(v); }},
    {"oversubscription", 1, 1000, false, false, [](Cluster& c, double v) { c.fabric.oversubscription = v; }},
    {"intra_gbytes", kLeastRate, kMostRate, false, false, set_intra},
    {"intra_latency_us", 0, 1e6, false, false,
     [](Cluster& c, double v) { c.intra.latency = microseconds(v); }},
    {"intra_collective_efficiency", 1e-3, 1, false, false,
     [](Cluster& c, double v) { c.intra.collective_efficiency = v; }},
    {"intra_p2p_efficiency", 1e-3, 1, false, false, [](Cluster& c, double v) { c.intra.p2p_efficiency = v; }},
    {"gpus_per_node", 1, 1024, true, false, set_gpus_per_node},
    {"nvlink_domain", 1, 1e6, true, false, [](Cluster& c, double v) { c.nvlink_domain = count(v); }},
    {"host_launch_us", 0, 1e6, false, false, [](Cluster& c, double v) { c.host_launch = microseconds(v); }},
    {"host_memory_gib", 1, 1e6, false, false, [](Cluster& c, double v) { c.host_memory = gib(v); }},
    {"cpu_memory_gbytes", kLeastRate, kMostRate, false, false,
     [](Cluster& c, double v) { c.cpu_memory = gigabytes_per_second(v); }},
    {"price_per_gpu_hour", 0, 1e6, false, false, [](Cluster& c, double v) { c.price_per_gpu_hour = v; }},
    {"usable_gib", 1e-3, 1e6, false, false, [](Cluster& c, double v) { set_usable(c, gib(v)); }},
    {"usable_mib", 1, 1e9, false, false, [](Cluster& c, double v) { set_usable(c, mib(v)); }},
    {"host_gbytes", kLeastRate, kMostRate, false, false, set_host},
    {"hbm_gbytes", kLeastRate, kMostRate, false, true,
     [](Cluster& c, double v) { c.gpu.hbm = gigabytes_per_second(v); }},
    {"l2_mib", 1e-3, 1e6, false, true, [](Cluster& c, double v) { c.gpu.l2 = mib(v); }},
    {"sms", 1, 1e5, true, true, [](Cluster& c, double v) { c.gpu.sms = count(v); }},
    {"power_cap_w", 1, 1e5, false, false, [](Cluster& c, double v) { c.gpu.power_cap_w = v; }},
    {"bf16_tflops", 1e-3, 1e6, false, true, set_rate<Dtype::kBf16>},
    {"fp16_tflops", 1e-3, 1e6, false, true, set_rate<Dtype::kFp16>},
    {"fp8_tflops", 1e-3, 1e6, false, true, set_rate<Dtype::kFp8>},
    {"product_efficiency", 0.01, 1, false, true, [](Cluster& c, double v) { c.gpu.product_efficiency = v; }},
    {"memory_efficiency", 0.01, 1, false, true, [](Cluster& c, double v) { c.gpu.memory_efficiency = v; }},
};

}  // namespace

std::span<const ClusterFigure> cluster_figures() { return kFigures; }

const ClusterFigure* find_cluster_figure(std::string_view key) {
  const auto* found = std::find_if(std::begin(kFigures), std::end(kFigures),
                                   [key](const ClusterFigure& figure) { return figure.key == key; });
  return found == std::end(kFigures) ? nullptr : found;
}

std::string expected_of(const ClusterFigure& figure) {
  return fmt::format("{} from {} to {}", figure.whole ? "a whole number" : "a number", figure.low,
                     figure.high);
}

bool may_be(const ClusterFigure& figure, double value) {
  return value >= figure.low && value <= figure.high && (!figure.whole || value == std::floor(value));
}

Result<void> set_figure(Cluster& cluster, const ClusterFigure& figure, double value) {
  const bool between_nodes = figure.key.starts_with("inter_") || figure.key == "nics" ||
                             figure.key == "leaf_nodes" || figure.key == "oversubscription";
  if (between_nodes && cluster.inter.bandwidth == BytesPerSecond())
    return fail(
        fmt::format("{}: cluster {} states no links between nodes", figure.key, quoted(cluster.name)));
  figure.set(cluster, value);
  if (cluster.fabric.oversubscription > 1 && cluster.fabric.leaf_nodes == 0)
    return fail(fmt::format("{}: cluster {} states no leaf_nodes, expected how many nodes share a leaf",
                            figure.key, quoted(cluster.name)));
  if (cluster.nvlink_domain % cluster.gpus_per_node != 0)
    return fail(fmt::format("nvlink_domain {} is not a multiple of gpus_per_node {}", cluster.nvlink_domain,
                            cluster.gpus_per_node));
  return {};
}

}  // namespace foretrain
