// foretrain show: a preset as its file stands, comments and so the origin of each figure included; of a
// profile, its models. After a model its exact size, after a cluster what its links come to.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "report/collective_report.h"
#include "report/fit_report.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

Result<std::string> profile_text(const ProfileStore& store, const std::string& name) {
  if (name == kAnalyticProfile)
    return "name     analytic\nsource   datasheets and formulas (docs/theory.md); nothing measured, for "
           "every GPU\n";
  TRY_ASSIGN(const LoadedProfile profile, store.load(name));
  const ProfileInfo& info = profile.info;
  const auto& models = profile.models.models();
  std::int64_t samples = 0;
  for (const OperatorModelView& model : models) samples += model.facts.samples;
  std::string text = fmt::format("name     {}\ngpu      {}\n", printable(info.name), printable(info.gpu));
  if (!info.source.empty()) text += "source   " + printable(info.source) + "\n";
  if (!info.derive_from.empty())
    text +=
        fmt::format("derives  from {}: operators that have no model here, by the ratio of the GPUs' rates\n",
                    printable(info.derive_from));
  text += fmt::format("models   {}, of {} samples\n", models.size(), with_commas(samples));
  if (info.power)
    text += "power    " + power_text(*info.power) + "\n";
  else if (!models.empty())
    text += "power    not known: no clock is applied, times stand for the load they were sampled under\n";
  if (models.empty()) return text;
  return text +
         "\nerror: mean absolute, on shapes a model has not seen; outside: beyond the sampled sizes\n" +
         models_text(models);
}

std::string commented(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    out += line.empty() ? "#\n" : "# " + std::string(line) + "\n";
  while (out.ends_with("#\n#\n")) out.resize(out.size() - 2);
  return out;
}

// What the figures come to, as comments: the whole stays a cluster file.
std::string cluster_footer(const Cluster& cluster) {
  std::string text;
  if (!cluster.collectives.empty())
    text +=
        "\nfitted from samples; error: mean absolute, on samples a layout's fit has not seen; layout: nodes "
        "x "
        "ranks a node\n" +
        fitted_collectives_text(cluster.collectives);
  if (cluster.gpus_per_node > 1 || cluster.inter.bandwidth > BytesPerSecond(0))
    text +=
        "\nbus bandwidth in GB/s, as nccl-tests counts it, of a group alone on its nodes, and what runs\n" +
        bus_bandwidth_text(cluster);
  return text.empty() ? text : commented(text);
}

// Read as well as shown, so that what is shown is known to be good.
Result<std::string> shown(const ShowOptions& options, const std::string& presets_folder) {
  const std::string kinds[] = {"model", "gpu", "cluster", "stack", "profile"};
  if (std::find(std::begin(kinds), std::end(kinds), options.kind) == std::end(kinds))
    return fail(fmt::format(
        "show: {}{}",
        options.kind.empty() ? "what to show is not given" : "unknown word " + quoted(options.kind),
        suggestion(options.kind, kinds)));
  if (options.name.empty())
    return fail(fmt::format("show {0}: no name given; 'foretrain list {0}s' tells them", options.kind));

  if (options.kind == "profile") return profile_text(ProfileStore(disk(), presets_folder), options.name);
  const Catalog catalog(disk(), presets_folder);
  std::string footer;
  if (options.kind == "model") {
    TRY_ASSIGN(const Model model, catalog.model(options.name));
    footer = fmt::format("# {} parameters by foretrain's count\n", with_commas(parameters(model)));
  } else if (options.kind == "gpu") {
    TRY(catalog.gpu(options.name));
  } else if (options.kind == "cluster") {
    TRY_ASSIGN(const Cluster cluster, catalog.cluster(options.name));
    footer = cluster_footer(cluster);
  } else {
    TRY(catalog.stack(options.name));
  }
  TRY_ASSIGN(std::string text, catalog.text(options.kind + "s", options.name));
  if (!text.ends_with('\n')) text += '\n';
  return text + footer;
}

}  // namespace

int run_show(const ShowOptions& options, const std::string& presets_folder) {
  const auto text = shown(options, presets_folder);
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace foretrain
