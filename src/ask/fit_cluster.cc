// Samples of a fabric's collectives become a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ask/fit.h"
#include "ask/guard.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "base/yaml_text.h"
#include "fit/collective_fit.h"
#include "network/network.h"
#include "spec/cluster_text.h"
#include "spec/fitted_collective_text.h"

namespace foretrain {
namespace {

constexpr std::string_view kFittedNote = "# Fitted by foretrain fit";  // and what it was fitted from

// What is written above its fitted part stays as it stands, comments and so the origin of figures included;
// but the name is new.
std::string without_fitted(std::string_view text, const std::string& name) {
  std::string out = fmt::format("name: {}\n", yaml_quoted(name));
  bool inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '-')
      inside = line.starts_with("collectives:");
    if (!inside && !line.starts_with(kFittedNote) && !line.starts_with("name:"))
      out += std::string(line) + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

// The user's file with the fitted part at its end; or, where that does not make a cluster file (flow style, a
// GPU given by a relative path), the cluster as the program writes it, without comments.
Result<std::string> file_text(const Catalog& catalog, const FitClusterRequest& request, Cluster cluster,
                              const std::vector<FittedCollective>& fitted) {
  cluster.collectives = fitted;
  cluster.name = request.name;
  const std::string note =
      std::string(kFittedNote) + "; " +
      (request.source.empty() ? "samples in " + printable(request.samples.name) : printable(request.source)) +
      "\n";
  TRY_ASSIGN(const std::string text, catalog.text("clusters", request.cluster));
  const auto reads_back = [&](const std::string& content) {
    const auto node = parse_yaml(content, request.folder + "/cluster.yaml");
    if (!node) return false;
    const auto back = catalog.cluster(*node);
    return back && *back == cluster;
  };
  std::string content = without_fitted(text, cluster.name) + note + to_yaml(fitted);
  if (!reads_back(content)) content = note + to_yaml(cluster);
  if (!reads_back(content))
    return fail(marked("cluster") + ": the fitted cluster cannot be written so that it reads back",
                Position{request.cluster});
  return content;
}

LinkBounds bounds_of(const Cluster& cluster) {
  return {.of_rank = cluster.intra.bandwidth,
          .of_node = cluster.inter.bandwidth,
          .domain_nodes = std::max<std::int64_t>(1, cluster.nvlink_domain / cluster.gpus_per_node)};
}

// Whether the cluster can have run them.
Result<void> check_samples(const std::vector<CollectiveSample>& samples, const Cluster& cluster) {
  std::set<std::tuple<CollectiveKind, std::int64_t, std::int64_t>> layouts;
  for (const CollectiveSample& sample : samples) {
    if (sample.ranks_per_node > cluster.gpus_per_node)
      return fail(fmt::format("found {} ranks a node, expected at most {}, the GPUs a node of {}",
                              sample.ranks_per_node, cluster.gpus_per_node, printable(cluster.name)),
                  Position{sample.source});
    if (cluster.inter.bandwidth <= BytesPerSecond(0) &&
        placed_alone(sample.ranks, sample.ranks_per_node, cluster).crosses_nodes())
      return fail(fmt::format("found samples of {} nodes, but {} has no inter links", sample.nodes(),
                              printable(cluster.name)),
                  Position{sample.source});
    layouts.emplace(sample.kind, sample.ranks, sample.ranks_per_node);
    if (layouts.size() > kMaxFittedLayouts)
      return fail(fmt::format("found more than {} layouts, expected fewer", kMaxFittedLayouts),
                  Position{sample.source});
  }
  return {};
}

Result<FitClusterAnswer> fitted(Session& session, FitClusterRequest& request) {
  if (request.samples.files.empty())
    return fail_field("samples", "found no samples, expected a file or a folder of them");
  const Catalog& catalog = session.catalog();
  TRY_ASSIGN(const Cluster cluster, of_field("cluster", catalog.cluster(request.cluster)));
  Sources tables{request.samples.name, request.samples.folder, std::move(request.samples.files)};
  TRY_ASSIGN(std::vector<CollectiveSample> samples, parse_collective_samples(std::move(tables)));
  TRY(check_samples(samples, cluster));

  FitClusterAnswer answer;
  CollectiveFitReport& report = answer.report;
  report.cluster = cluster.name;
  report.samples_name = request.samples.name;
  report.read = samples.size();
  CollectiveCleanResult cleaned = clean(std::move(samples), bounds_of(cluster));
  report.used = cleaned.kept.size();
  report.rejections = std::move(cleaned.rejections);
  report.fitted = fit_collectives(cleaned.kept, cluster);
  if (report.fitted.empty())
    return fail(
        fmt::format("no layout has {} usable samples or more{}", kFewestCollectiveSamples,
                    report.rejections.empty() ? "" : "; rejected:\n" + rejections_text(report.rejections)),
        Position{request.samples.name});
  if (request.study) report.study = study_collectives(cleaned.kept, cluster);
  if (!request.folder.empty()) {
    TRY_ASSIGN(std::string text, file_text(catalog, request, cluster, report.fitted));
    answer.files.push_back({"cluster.yaml", std::move(text)});
  }
  return answer;
}

}  // namespace

Result<FitClusterAnswer> ask(Session& session, FitClusterRequest request) {
  return guarded([&] { return fitted(session, request); });
}

}  // namespace foretrain
