#include "calibrate/cluster_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/run_identity.h"
#include "spec/fitted_collective_text.h"

namespace foretrain {
namespace {

// To as many digits as a file states; the same text on every machine.
std::string figure(double value) { return fmt::format("{:.6g}", value); }

void put_link(ClusterState& out, std::string_view tier, const Link& link) {
  const auto put = [&](std::string_view key, double value) {
    out.emplace_back(fmt::format("{}_{}", tier, key), figure(value));
  };
  put("gbytes", link.bandwidth.value / 1e9);
  put("pair_gbytes", link.pair.value / 1e9);
  put("latency_us", link.latency.value * 1e6);
  put("rank_step_us", link.rank_step.value * 1e6);
  put("collective_efficiency", link.collective_efficiency);
  put("p2p_efficiency", link.p2p_efficiency);
  put("nvls_efficiency", link.nvls_efficiency);
}

// What was fitted to samples may be long: its digest says whether it is the same.
std::string fits_of(const std::vector<FittedCollective>& fits) {
  return fits.empty() ? "none" : hash_text(to_yaml(fits));
}

}  // namespace

ClusterState state_of(const Cluster& c) {
  ClusterState out;
  const auto put = [&](std::string_view key, double value) { out.emplace_back(key, figure(value)); };
  put("gpus_per_node", static_cast<double>(c.gpus_per_node));
  put("nvlink_domain", static_cast<double>(c.nvlink_domain));
  put("nics", static_cast<double>(c.nics));
  put_link(out, "intra", c.intra);
  put_link(out, "inter", c.inter);
  put("leaf_nodes", static_cast<double>(c.fabric.leaf_nodes));
  put("oversubscription", c.fabric.oversubscription);
  put("host_launch_us", c.host_launch.value * 1e6);
  put("host_stall_us", c.host_stall.value * 1e6);
  put("usable_gib", c.gpu.usable.value / (1024.0 * 1024 * 1024));
  put("hbm_gbytes", c.gpu.hbm.value / 1e9);
  put("bf16_tflops", c.gpu.rate(Dtype::kBf16).value / 1e12);
  put("sms", static_cast<double>(c.gpu.sms));
  put("power_cap_w", c.gpu.power_cap_w);
  out.emplace_back("collectives", fits_of(c.collectives));
  out.emplace_back("gpu_collectives", fits_of(c.gpu.collectives));
  return out;
}

std::string first_difference(const ClusterState& is, const ClusterState& from) {
  for (const auto& [key, value] : is) {
    const auto found = std::find_if(from.begin(), from.end(), [&](const auto& f) { return f.first == key; });
    if (found == from.end()) return fmt::format("{} {}", key, value);
    if (found->second != value) return fmt::format("{} {} instead of {}", key, value, found->second);
  }
  return "";
}

}  // namespace foretrain
