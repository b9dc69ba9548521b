#include "report/collective_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "network/network.h"
#include "report/table.h"

namespace foretrain {
namespace {

constexpr Align kLeft = Align::kLeft, kRight = Align::kRight;
constexpr double kDoubtful = 0.25;  // an error that no fabric's noise explains

std::string percent(double share) { return share < 0 ? "-" : fmt::format("{:.2f} %", 100 * share); }
std::string count_text(std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); }

std::string size_text(double bytes) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}};
  for (const auto& [unit, suffix] : kUnits)
    if (bytes >= unit) return fmt::format("{:.3g} {}", bytes / unit, suffix);
  return fmt::format("{:.0f} B", bytes);
}

std::string layout_text(std::int64_t ranks, std::int64_t ranks_per_node) {
  return fmt::format("{}x{}", ranks / ranks_per_node, ranks_per_node);
}

struct Mean {
  double sum = 0;
  std::size_t count = 0;

  void add(double value) {
    if (value >= 0) sum += value, ++count;
  }
  double value() const { return count > 0 ? sum / static_cast<double>(count) : -1; }
};

// The mean over rows, and over (collective, layout) with its sources put together by their samples.
struct StudyMeans {
  Mean random, merged, unseen, larger;
};
StudyMeans means_of(const std::vector<CollectiveStudyRow>& rows) {
  StudyMeans means;
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::pair<double, double>> layouts;
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, double> unseen;
  for (const CollectiveStudyRow& row : rows) {
    means.random.add(row.random);
    means.larger.add(row.larger);
    unseen[{row.kind, row.ranks, row.ranks_per_node}] = row.unseen_layout;
    if (row.random < 0) continue;
    auto& [sum, count] = layouts[{row.kind, row.ranks, row.ranks_per_node}];
    sum += row.random * static_cast<double>(row.samples);
    count += static_cast<double>(row.samples);
  }
  for (const auto& [layout, sums] : layouts) means.merged.add(sums.first / sums.second);
  for (const auto& [layout, error] : unseen) means.unseen.add(error);
  return means;
}

std::string study_text(const std::vector<CollectiveStudyRow>& rows) {
  Table table({kLeft, kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.add({"collective", "layout", "samples", "random", "unseen layout", "larger sizes", "source"});
  for (const CollectiveStudyRow& row : rows)
    table.add({std::string(name(row.kind)), layout_text(row.ranks, row.ranks_per_node),
               count_text(row.samples), percent(row.random), percent(row.unseen_layout), percent(row.larger),
               printable(row.source)});
  const StudyMeans means = means_of(rows);
  table.add({"mean", "", "", percent(means.random.value()), percent(means.unseen.value()),
             percent(means.larger.value()), ""});
  return "mean absolute error on samples held out\n" + table.text() +
         fmt::format("  with the sources of a layout put together, random: {}\n",
                     percent(means.merged.value()));
}

void add_layout(JsonWriter& w, const FittedCollective& fitted, const FittedLayout& layout) {
  w.begin_object().key("collective").value(name(fitted.kind)).key("tier").value(name(fitted.tier));
  w.key("bandwidth_share").value(fitted.bandwidth_share).key("latency_scale").value(fitted.latency_scale);
  w.key("unseen_error").value(fitted.unseen_error).key("ranks").value(layout.ranks);
  w.key("ranks_per_node").value(layout.ranks_per_node).key("samples").value(layout.samples);
  w.key("error").value(layout.error).key("smallest_bytes").value(layout.bytes.front());
  w.key("largest_bytes").value(layout.bytes.back()).end_object();
}

void add_error(JsonWriter& w, std::string_view key, double error) {
  w.key(key);
  if (error < 0)
    w.null();
  else
    w.value(error);
}

}  // namespace

std::string fitted_collectives_text(const std::vector<FittedCollective>& fitted) {
  Table table({kLeft, kLeft, kRight, kRight, kRight, kLeft, kRight, kRight, kLeft});
  table.add({"collective", "tier", "bandwidth", "latency", "unseen layout", "layout", "samples", "error",
             "sampled sizes"});
  for (const FittedCollective& f : fitted)
    for (const FittedLayout& layout : f.layouts) {
      const bool first = &layout == &f.layouts.front();
      table.add({first ? std::string(name(f.kind)) : "", first ? std::string(name(f.tier)) : "",
                 first ? fmt::format("{:.3g} %", 100 * f.bandwidth_share) : "",
                 first ? fmt::format("x {:.3g}", f.latency_scale) : "", first ? percent(f.unseen_error) : "",
                 layout_text(layout.ranks, layout.ranks_per_node), with_commas(layout.samples),
                 percent(layout.error),
                 size_text(layout.bytes.front()) + " .. " + size_text(layout.bytes.back())});
    }
  return table.text();
}

std::string bus_bandwidth_text(const Cluster& cluster) {
  constexpr double kSizes[] = {65536, 1 << 20, 1 << 24, 1 << 28, 4294967296.0};
  std::vector<std::pair<std::int64_t, std::int64_t>> layouts, pairs;  // ranks, a node
  const std::int64_t node = cluster.gpus_per_node;
  for (std::int64_t ranks = 2; ranks <= node; ranks *= 2) layouts.push_back({ranks, ranks});
  if (node > 1 && layouts.back().first != node) layouts.push_back({node, node});
  if (cluster.nvlink_domain > node) layouts.push_back({cluster.nvlink_domain, node});
  if (cluster.inter.bandwidth > BytesPerSecond(0)) {
    const std::int64_t domain_nodes = std::max<std::int64_t>(1, cluster.nvlink_domain / node);
    if (node > 1) layouts.push_back({8 * domain_nodes, 1});
    for (const std::int64_t domains : {2, 8, 64}) layouts.push_back({domains * domain_nodes * node, node});
  }
  if (node > 1) pairs.push_back({2, 2});
  if (cluster.inter.bandwidth > BytesPerSecond(0)) pairs.push_back({2, 1});
  Table table({kLeft, kRight, kLeft, kRight, kRight, kRight, kRight, kRight});
  table.add({"collective", "ranks", "layout", "64 KiB", "1 MiB", "16 MiB", "256 MiB", "4 GiB"});
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kSendReceive})
    for (const auto& [ranks, per_node] : kind == CollectiveKind::kSendReceive ? pairs : layouts) {
      const PlacedGroup placed = placed_alone(ranks, per_node, cluster);
      std::vector<std::string> cells = {std::string(name(kind)), with_commas(ranks),
                                        layout_text(ranks, per_node)};
      for (const double bytes : kSizes) {
        const CollectiveCost cost =
            collective_cost(kind, Bytes(bytes), placed, link_rates(placed, cluster), cluster);
        cells.push_back(fmt::format("{:.3g} {}", bus_factor(kind, ranks) * bytes / cost.seconds.value / 1e9,
                                    cost.algorithm == Algorithm::kNvls || cost.algorithm == Algorithm::kDirect
                                        ? std::string(name(cost.algorithm))
                                        : fmt::format("{}/{}", name(cost.algorithm), name(cost.protocol))));
      }
      table.add(std::move(cells));
    }
  return table.text();
}

std::string collective_fit_text(const CollectiveFitReport& report) {
  std::string out =
      fmt::format("collective samples of {} from {}: {} read, {} used\n", printable(report.cluster),
                  printable(report.samples_name), count_text(report.read), count_text(report.used));
  if (!report.rejections.empty()) out += "\nrejected\n" + rejections_text(report.rejections);
  if (!report.fitted.empty())
    out +=
        "\nfitted; error: mean absolute, on samples a layout's fit has not seen; layout: nodes x ranks a "
        "node\n" +
        fitted_collectives_text(report.fitted);
  for (const FittedCollective& f : report.fitted)
    for (const FittedLayout& layout : f.layouts)
      if (layout.error > kDoubtful)
        out += fmt::format(
            "\nwarning: {} {} is off by {}: its samples contradict each other, or the cluster's figures\n",
            name(f.kind), layout_text(layout.ranks, layout.ranks_per_node), percent(layout.error));
  if (!report.study.empty()) out += "\n" + study_text(report.study);
  if (!report.written.empty()) out += fmt::format("\nwritten: {}/cluster.yaml\n", printable(report.written));
  return out;
}

std::string collective_fit_json(const CollectiveFitReport& report) {
  JsonWriter w;
  w.begin_answer().key("cluster").value(report.cluster).key("samples").value(report.samples_name);
  w.key("read").value(report.read).key("used").value(report.used).key("rejections").begin_array();
  for (const CollectiveRejection& r : report.rejections) {
    w.begin_object().key("layout").value(r.layout).key("source").value(r.source);
    w.key("reason").value(r.reason).key("count").value(r.count).key("of").value(r.group).end_object();
  }
  w.end_array().key("layouts").begin_array();
  for (const FittedCollective& f : report.fitted)
    for (const FittedLayout& layout : f.layouts) add_layout(w, f, layout);
  w.end_array();
  if (!report.study.empty()) {
    const StudyMeans means = means_of(report.study);
    w.key("study").begin_object();
    add_error(w, "random", means.random.value());
    add_error(w, "random_merged", means.merged.value());
    add_error(w, "unseen_layout", means.unseen.value());
    add_error(w, "larger", means.larger.value());
    w.end_object();
  }
  return w.end_object().text();
}

}  // namespace foretrain
