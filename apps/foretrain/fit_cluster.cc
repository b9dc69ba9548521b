// foretrain fit --cluster: samples of a fabric's collectives become a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml_text.h"
#include "commands.h"
#include "fit/collective_fit.h"
#include "network/network.h"
#include "report/collective_report.h"
#include "spec/catalog.h"
#include "spec/cluster_text.h"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFittedNote = "# Fitted by foretrain fit --cluster; ";

std::string without_slashes(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder);
}

Result<void> check_options(const FitCommandOptions& options) {
  if (options.samples.empty()) return fail("fit: found no samples, expected a file or a folder of them");
  if (!options.gpu.empty())
    return fail(
        "--cluster: found --gpu beside it, expected one of them: a cluster's collectives or a GPU's "
        "operators");
  for (const auto& [given, option] :
       {std::pair(!options.html.empty(), "--html"), std::pair(options.learning_curve, "--learning-curve"),
        std::pair(!options.derive_from.empty(), "--derive-from")})
    if (given) return fail(fmt::format("{}: found beside --cluster, expected with --gpu only", option));
  if (options.out.empty() && !options.study)
    return fail("-o: found no folder, expected where the cluster goes");
  if (options.out.empty()) return {};
  const std::string out = without_slashes(options.out);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(out, ignored))) return {};
  if (!is_folder(out)) return fail("-o: " + foretrain::quoted(out) + " is not a folder");
  if (!options.force)
    return fail("-o: " + foretrain::quoted(out) + " exists; give --force to replace its cluster.yaml");
  return {};
}

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
Result<std::string> file_text(const Catalog& catalog, const FitCommandOptions& options, Cluster cluster,
                              const std::vector<FittedCollective>& fitted) {
  cluster.collectives = fitted;
  cluster.name =
      options.name.empty() ? fs::path(without_slashes(options.out)).filename().string() : options.name;
  const std::string note =
      std::string(kFittedNote) +
      (options.source.empty() ? "samples in " + printable(options.samples) : printable(options.source)) +
      "\n";
  TRY_ASSIGN(const std::string text, catalog.text("clusters", options.cluster));
  const auto reads_back = [&](const std::string& content) {
    const auto node = parse_yaml(content, options.out + "/cluster.yaml");
    if (!node) return false;
    const auto back = catalog.cluster(*node);
    return back && *back == cluster;
  };
  std::string content = without_fitted(text, cluster.name) + note + to_yaml(fitted);
  if (!reads_back(content)) content = note + to_yaml(cluster);
  if (!reads_back(content))
    return fail("--cluster: the fitted cluster cannot be written so that it reads back",
                Position{options.cluster});
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

Result<CollectiveFitReport> fitted(const FitCommandOptions& options, const std::string& presets_folder) {
  TRY(check_options(options));
  const Catalog catalog(disk(), presets_folder);
  const auto cluster = catalog.cluster(options.cluster);
  if (!cluster) return at_option("--cluster", cluster.error());
  TRY_ASSIGN(std::vector<CollectiveSample> samples, read_collective_samples(disk(), options.samples));
  TRY(check_samples(samples, *cluster));

  CollectiveFitReport report;
  report.cluster = cluster->name;
  report.samples_name = options.samples;
  report.read = samples.size();
  CollectiveCleanResult cleaned = clean(std::move(samples), bounds_of(*cluster));
  report.used = cleaned.kept.size();
  report.rejections = std::move(cleaned.rejections);
  report.fitted = fit_collectives(cleaned.kept, *cluster);
  if (report.fitted.empty())
    return fail(
        fmt::format("no layout has {} usable samples or more{}", kFewestCollectiveSamples,
                    report.rejections.empty() ? "" : "; rejected:\n" + rejections_text(report.rejections)),
        Position{options.samples});
  if (options.study)
    for (const CollectiveStudyRow& row : study_collectives(cleaned.kept, *cluster))
      report.study.push_back({row.kind, row.ranks, row.ranks_per_node, row.source, row.samples, row.random,
                              row.unseen_layout, row.larger});
  if (!options.out.empty()) {
    report.written = without_slashes(options.out);
    TRY_ASSIGN(const std::string text, file_text(catalog, options, *cluster, report.fitted));
    TRY(write_folder(report.written, {{"cluster.yaml", text}}));
  }
  return report;
}

}  // namespace

int run_fit_cluster(const FitCommandOptions& options, const std::string& presets_folder) {
  const auto report = fitted(options, presets_folder);
  if (!report) return refuse(report.error());
  return answer(options.json ? collective_fit_json(*report) : collective_fit_text(*report));
}

}  // namespace foretrain
