#include "ask/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ask/guard.h"
#include "base/did_you_mean.h"
#include "base/text.h"
#include "formats/foreign_model.h"
#include "report/collective_report.h"
#include "report/model_report.h"
#include "report/profile_report.h"
#include "spec/model_text.h"

namespace foretrain {
namespace {

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

Result<void> check(const ShowRequest& request) {
  const std::string kinds[] = {"model", "gpu", "cluster", "stack", "recipe", "profile"};
  if (std::find(std::begin(kinds), std::end(kinds), request.kind) == std::end(kinds))
    return fail_field("kind", (request.kind.empty() ? "what to show is not given"
                                                    : "unknown word " + quoted(request.kind)) +
                                  suggestion(request.kind, kinds));
  if (request.name.empty())
    return fail_field("name", fmt::format("no name given; 'foretrain list {}s' tells them", request.kind));
  return {};
}

std::string ended(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string parameters_footer(const Model& model) {
  const std::int64_t all = parameters(model), active = active_parameters(model);
  std::string text = fmt::format("# {} parameters by foretrain's count", with_commas(all));
  if (active < all) text += fmt::format(", {} of them active", with_commas(active));
  if (model.mtp_layers > 0)
    text += fmt::format("; {} more of multi-token prediction", with_commas(mtp_parameters(model)));
  return text + "\n";
}

std::string assumed_footer(const Model& model) {
  std::string text;
  for (const std::string& words : model.assumed) text += "# assumed: " + printable(words) + "\n";
  return text;
}

// The YAML of a model, or, where it is in another format, what was understood.
Result<std::string> shown_model(const Catalog& catalog, const ShowRequest& request) {
  TRY_ASSIGN(Model model, catalog.model(request.name));
  TRY_ASSIGN(const Source source, catalog.source("models", request.name));
  TRY_ASSIGN(const std::optional<HfModel> foreign, read_foreign_model(source.text, source.name));
  if (request.json) return model_json(model, foreign ? foreign->ffn : 0);
  const std::string footer = parameters_footer(model);
  if (!foreign) return ended(source.text) + footer;
  const std::string assumed = assumed_footer(model);
  model.assumed.clear();
  return fmt::format("# {}: read as {} of Hugging Face\n", printable(source.name), foreign->family) +
         to_yaml(model) + footer + assumed;
}

Result<std::string> shown_profile(const ProfileStore& store, const ShowRequest& request) {
  if (request.name == kAnalyticProfile)
    return request.json ? analytic_profile_json() : analytic_profile_text();
  TRY_ASSIGN(const LoadedProfile profile, store.load(request.name));
  return request.json ? profile_json(profile) : profile_text(profile);
}

// Read as well as shown, so that what is shown is known to be good.
Result<std::string> shown(const Session& session, const ShowRequest& request) {
  TRY(check(request));
  if (request.kind == "profile") return shown_profile(session.profiles(), request);
  const Catalog& catalog = session.catalog();
  std::string footer;
  if (request.kind == "model") return shown_model(catalog, request);
  if (request.kind == "gpu") {
    TRY(catalog.gpu(request.name));
  } else if (request.kind == "cluster") {
    TRY_ASSIGN(const Cluster cluster, catalog.cluster(request.name));
    footer = cluster_footer(cluster);
  } else if (request.kind == "recipe") {
    TRY(catalog.recipe(request.name));
  } else {
    TRY(catalog.stack(request.name));
  }
  TRY_ASSIGN(std::string text, catalog.text(request.kind + "s", request.name));
  if (request.json) return parse_yaml(text, request.name).map(node_json);
  return ended(std::move(text)) + footer;
}

}  // namespace

Result<std::string> ask(Session& session, const ShowRequest& request) {
  return guarded([&] { return shown(session, request); });
}

}  // namespace foretrain
