#include "ask/list.h"

#include <fmt/format.h>

#include <utility>

#include "ask/guard.h"
#include "base/did_you_mean.h"
#include "base/text.h"
#include "spec/schedule_kind.h"

namespace foretrain {
namespace {

Result<ListEntry> model_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Model model, catalog.model(name));
  const auto count = static_cast<double>(parameters(model));
  const auto active = static_cast<double>(active_parameters(model));
  const std::string of_them = active < count ? " (" + human_count(active) + " active)" : "";
  return ListEntry{name,
                   {{"parameters", count},
                    {"active_parameters", active},
                    {"layers", static_cast<double>(model.layers())},
                    {"hidden", static_cast<double>(model.hidden)}},
                   fmt::format("{} parameters{}, {} layers, hidden {}", human_count(count), of_them,
                               model.layers(), model.hidden)};
}

Result<ListEntry> gpu_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Gpu gpu, catalog.gpu(name));
  const double tflops = gpu.rate(Dtype::kBf16).value / 1e12;
  return ListEntry{name,
                   {{"bf16_tflops", tflops},
                    {"hbm_gbytes", gpu.hbm.value / 1e9},
                    {"memory_bytes", gpu.memory.value},
                    {"usable_bytes", gpu.usable.value}},
                   fmt::format("{:g} TFLOP/s bf16, {} at {:g} GB/s", tflops, human_bytes(gpu.memory),
                               gpu.hbm.value / 1e9)};
}

Result<ListEntry> cluster_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Cluster cluster, catalog.cluster(name));
  const double intra = cluster.intra.bandwidth.value / 1e9, inter = cluster.inter.bandwidth.value / 1e9;
  ListEntry entry{name,
                  {{"gpu", cluster.gpu.name},
                   {"gpus_per_node", static_cast<double>(cluster.gpus_per_node)},
                   {"nvlink_domain", static_cast<double>(cluster.nvlink_domain)},
                   {"intra_gbytes", intra},
                   {"inter_gbytes", inter}},
                  fmt::format("{} x {} a node, {:g} GB/s a GPU inside", cluster.gpus_per_node,
                              printable(cluster.gpu.name), intra)};
  if (cluster.nvlink_domain > cluster.gpus_per_node)
    entry.line += fmt::format(" (NVLink over {})", cluster.nvlink_domain);
  entry.line += inter > 0 ? fmt::format(", {:g} GB/s a node between", inter) : ", one node";
  if (cluster.price_per_gpu_hour) {
    entry.facts.emplace_back("price_per_gpu_hour", *cluster.price_per_gpu_hour);
    entry.line += fmt::format(", {:g} USD a GPU-hour", *cluster.price_per_gpu_hour);
  }
  return entry;
}

Result<ListEntry> stack_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Stack stack, catalog.stack(name));
  return ListEntry{name, {{"source", stack.source}}, printable(stack.source)};
}

Result<ListEntry> recipe_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Recipe recipe, catalog.recipe(name));
  const RecipeFormats& f = recipe.formats;
  const auto word = [](Dtype dtype) { return std::string(foretrain::name(dtype)); };
  ListEntry entry{name,
                  {{"family", word(recipe.family)},
                   {"forward", word(f.forward)},
                   {"input", word(f.input)},
                   {"weight", word(f.weight)},
                   {"scaling", std::string(kScalingNames[static_cast<std::size_t>(f.scaling)])},
                   {"source", recipe.source}},
                  {}};
  if (!f.is_narrow()) {
    entry.line = "everything in " + word(f.passes);
    return entry;
  }
  entry.line = fmt::format("products in {}{}, scales {}", word(f.forward),
                           f.weight == f.forward ? "" : ", to weights in " + word(f.weight),
                           kScalingNames[static_cast<std::size_t>(f.scaling)]);
  if (!recipe.source.empty()) entry.line += ": " + printable(recipe.source);
  return entry;
}

ListEntry described(std::string name, std::string text) {
  return {std::move(name), {{"description", text}}, text};
}

Result<ListEntry> profile_entry(const ProfileStore& store, const std::string& name) {
  TRY_ASSIGN(const LoadedProfile profile, store.load(name));
  const auto& models = profile.models.models();
  std::int64_t samples = 0;
  for (const OperatorModelView& model : models) samples += model.facts.samples;
  ListEntry entry{name,
                  {{"gpu", profile.info.gpu},
                   {"models", static_cast<double>(models.size())},
                   {"samples", static_cast<double>(samples)},
                   {"derive_from", profile.info.derive_from},
                   {"source", profile.info.source}},
                  {}};
  if (!models.empty())
    entry.line = fmt::format("{} models of {} samples, ", models.size(), with_commas(samples));
  entry.line += "for " + printable(profile.info.gpu);
  if (!profile.info.derive_from.empty())
    entry.line += (models.empty() ? ", derived from " : ", the rest derived from ") +
                  printable(profile.info.derive_from);
  if (!profile.info.source.empty()) entry.line += ": " + printable(profile.info.source);
  return entry;
}

Result<std::vector<ListEntry>> profile_entries(const ProfileStore& store) {
  std::vector<ListEntry> entries = {described(
      std::string(kAnalyticProfile), "datasheets and formulas only, for every GPU; nothing measured")};
  for (const std::string& name : store.names()) {
    TRY_ASSIGN(ListEntry entry, profile_entry(store, name));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<ListEntry> schedule_entries() {
  std::vector<ListEntry> entries;
  for (int i = 0; i < kScheduleCount; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    entries.push_back(described(std::string(name(kind)), std::string(description(kind))));
  }
  return entries;
}

Result<std::vector<ListEntry>> entries_of(const Session& session, const std::string& kind) {
  if (kind == "schedules") return schedule_entries();
  if (kind == "profiles") return profile_entries(session.profiles());
  using Reader = Result<ListEntry> (*)(const Catalog&, const std::string&);
  const std::pair<std::string_view, Reader> readers[] = {{"models", model_entry},
                                                         {"gpus", gpu_entry},
                                                         {"clusters", cluster_entry},
                                                         {"stacks", stack_entry},
                                                         {"recipes", recipe_entry}};
  for (const auto& [known, read] : readers) {
    if (kind != known) continue;
    std::vector<ListEntry> entries;
    for (const std::string& name : session.catalog().names(kind)) {
      TRY_ASSIGN(ListEntry entry, read(session.catalog(), name));
      entries.push_back(std::move(entry));
    }
    return entries;
  }
  const std::string kinds[] = {"models", "gpus", "clusters", "stacks", "recipes", "schedules", "profiles"};
  return fail_field("kind", (kind.empty() ? "what to list is not given" : "unknown word " + quoted(kind)) +
                                suggestion(kind, kinds));
}

}  // namespace

Result<ListReport> ask(Session& session, const ListRequest& request) {
  return guarded([&]() -> Result<ListReport> {
    TRY_ASSIGN(std::vector<ListEntry> entries, entries_of(session, request.kind));
    return ListReport{request.kind, std::move(entries)};
  });
}

}  // namespace foretrain
