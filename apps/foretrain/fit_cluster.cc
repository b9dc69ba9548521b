// foretrain fit --cluster: samples of a fabric's collectives become a cluster.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "commands.h"
#include "fit/collective_fit.h"
#include "report/collective_report.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kClusterFile = "cluster.yaml";
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

// What is written above its fitted part stays as it stands, comments and so the origin of figures included.
std::string without_fitted(std::string_view text) {
  std::string out;
  bool inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '-')
      inside = line.starts_with("collectives:");
    if (!inside && !line.starts_with(kFittedNote)) out += std::string(line) + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

// A cluster in one line (flow style, or with its name written otherwise) has no such part to cut.
Result<std::string> file_text(const Catalog& catalog, const FitCommandOptions& options,
                              const std::vector<FittedCollective>& fitted) {
  TRY_ASSIGN(const std::string text, catalog.text("clusters", options.cluster));
  std::string out = without_fitted(text);
  const std::string source =
      options.source.empty() ? "samples in " + printable(options.samples) : printable(options.source);
  out += std::string(kFittedNote) + source + "\n" + to_yaml(fitted);
  TRY_ASSIGN(const Node node, parse_yaml(out, "cluster.yaml"));
  TRY_ASSIGN(const Cluster back, catalog.cluster(node));
  if (back.collectives != fitted)
    return fail("--cluster: cannot write the fitted part after this file, expected a map in block style");
  return out;
}

Result<void> write_cluster(const std::string& folder, const std::string& content) {
  if (is_folder(folder)) return write_file(fmt::format("{}/{}", folder, kClusterFile), content);
  const std::string partial = fmt::format("{}.partial.{}", folder, ::getpid());
  std::error_code error, ignored;
  if (!fs::create_directory(partial, error))
    return fail("cannot write: " + error.message(), Position{folder});
  auto written = write_file(fmt::format("{}/{}", partial, kClusterFile), content);
  if (written) {
    fs::rename(partial, folder, error);
    if (error) written = fail("cannot write: " + error.message(), Position{folder});
  }
  if (!written) fs::remove_all(partial, ignored);
  return written;
}

// A twentieth above the stated rate is still believed: rates are rounded, clocks drift.
LinkBounds bounds_of(const Cluster& cluster) {
  return {.of_rank = cluster.intra.bandwidth, .of_node = cluster.inter.bandwidth};
}

Result<CollectiveFitReport> fitted(const FitCommandOptions& options, const std::string& presets_folder) {
  TRY(check_options(options));
  const Catalog catalog(presets_folder);
  const auto cluster = catalog.cluster(options.cluster);
  if (!cluster) return at_option("--cluster", cluster.error());
  TRY_ASSIGN(std::vector<CollectiveSample> samples, read_collective_samples(options.samples));

  CollectiveFitReport report;
  report.cluster = cluster->name;
  report.samples_name = options.samples;
  report.read = samples.size();
  for (const CollectiveSample& sample : samples)
    if (sample.ranks_per_node > cluster->gpus_per_node)
      return fail(fmt::format("found {} ranks a node, expected at most {}, the GPUs a node of {}",
                              sample.ranks_per_node, cluster->gpus_per_node, printable(cluster->name)),
                  Position{sample.source});
  CollectiveCleanResult cleaned = clean(std::move(samples), bounds_of(*cluster));
  report.used = cleaned.kept.size();
  report.rejections = std::move(cleaned.rejections);
  report.fitted = fit_collectives(cleaned.kept, *cluster);
  if (report.fitted.empty())
    return fail(fmt::format("no layout has {} usable samples or more", kFewestCollectiveSamples),
                Position{options.samples});
  if (options.study)
    for (const CollectiveStudyRow& row : study_collectives(cleaned.kept, *cluster))
      report.study.push_back({row.kind, row.ranks, row.ranks_per_node, row.source, row.samples, row.random,
                              row.unseen_layout, row.larger});
  if (!options.out.empty()) {
    report.written = without_slashes(options.out);
    TRY_ASSIGN(const std::string text, file_text(catalog, options, report.fitted));
    TRY(write_cluster(report.written, text));
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
