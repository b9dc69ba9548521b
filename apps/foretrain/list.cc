// foretrain list: the names that other commands take, each with a line on what stands behind it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "report/table.h"
#include "spec/catalog.h"
#include "spec/schedule_kind.h"

namespace foretrain {
namespace {

// A name with its facts: keyed for scripts, worded for people.
struct Entry {
  std::string name;
  std::vector<std::pair<std::string, std::variant<double, std::string>>> facts;
  std::string line;
};

Result<Entry> model_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Model model, catalog.model(name));
  const auto count = static_cast<double>(parameters(model));
  return Entry{
      name,
      {{"parameters", count},
       {"layers", static_cast<double>(model.layers())},
       {"hidden", static_cast<double>(model.hidden)}},
      fmt::format("{} parameters, {} layers, hidden {}", human_count(count), model.layers(), model.hidden)};
}

Result<Entry> gpu_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Gpu gpu, catalog.gpu(name));
  const double tflops = gpu.rate(Dtype::kBf16).value / 1e12;
  return Entry{name,
               {{"bf16_tflops", tflops},
                {"hbm_gbytes", gpu.hbm.value / 1e9},
                {"memory_bytes", gpu.memory.value},
                {"usable_bytes", gpu.usable.value}},
               fmt::format("{:g} TFLOP/s bf16, {} at {:g} GB/s", tflops, human_bytes(gpu.memory),
                           gpu.hbm.value / 1e9)};
}

Result<Entry> cluster_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Cluster cluster, catalog.cluster(name));
  const double intra = cluster.intra.bandwidth.value / 1e9, inter = cluster.inter.bandwidth.value / 1e9;
  Entry entry{name,
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

Result<Entry> stack_entry(const Catalog& catalog, const std::string& name) {
  TRY_ASSIGN(const Stack stack, catalog.stack(name));
  return Entry{name, {{"source", stack.source}}, printable(stack.source)};
}

Entry described(std::string name, std::string text) {
  return {std::move(name), {{"description", text}}, text};
}

Result<Entry> profile_entry(const ProfileStore& store, const std::string& name) {
  TRY_ASSIGN(const LoadedProfile profile, store.load(name));
  const auto& models = profile.models.models();
  std::int64_t samples = 0;
  for (const OperatorModelView& model : models) samples += model.facts.samples;
  Entry entry{name,
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

Result<std::vector<Entry>> profile_entries(const ProfileStore& store) {
  std::vector<Entry> entries = {described(std::string(kAnalyticProfile),
                                          "datasheets and formulas only, for every GPU; nothing measured")};
  for (const std::string& name : store.names()) {
    TRY_ASSIGN(Entry entry, profile_entry(store, name));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<Entry>> entries_of(const std::string& what, const std::string& presets_folder) {
  const Catalog catalog(disk(), presets_folder);
  if (what == "schedules") {
    std::vector<Entry> entries;
    for (int i = 0; i < kScheduleCount; ++i) {
      const auto kind = static_cast<ScheduleKind>(i);
      entries.push_back(described(std::string(name(kind)), std::string(description(kind))));
    }
    return entries;
  }
  if (what == "profiles") return profile_entries(ProfileStore(disk(), presets_folder));
  using Reader = Result<Entry> (*)(const Catalog&, const std::string&);
  const std::pair<std::string_view, Reader> readers[] = {
      {"models", model_entry}, {"gpus", gpu_entry}, {"clusters", cluster_entry}, {"stacks", stack_entry}};
  for (const auto& [kind, read] : readers) {
    if (what != kind) continue;
    std::vector<Entry> entries;
    for (const std::string& name : catalog.names(what)) {
      TRY_ASSIGN(Entry entry, read(catalog, name));
      entries.push_back(std::move(entry));
    }
    return entries;
  }
  const std::string known[] = {"models", "gpus", "clusters", "stacks", "schedules", "profiles"};
  return fail(fmt::format("list: {}{}",
                          what.empty() ? "what to list is not given" : "unknown word " + quoted(what),
                          suggestion(what, known)));
}

std::string list_text(const std::vector<Entry>& entries) {
  Table table({Align::kLeft, Align::kLeft});
  for (const Entry& entry : entries) table.add({printable(entry.name), entry.line});
  return table.text("");
}

std::string list_json(const std::string& what, const std::vector<Entry>& entries) {
  JsonWriter w;
  w.begin_object().key(what).begin_array();
  for (const Entry& entry : entries) {
    w.begin_object().key("name").value(entry.name);
    for (const auto& [key, fact] : entry.facts) {
      w.key(key);
      std::visit([&w](const auto& value) { w.value(value); }, fact);
    }
    w.end_object();
  }
  w.end_array().end_object();
  return w.text();
}

}  // namespace

int run_list(const ListOptions& options, const std::string& presets_folder) {
  const auto entries = entries_of(options.what, presets_folder);
  if (!entries) return refuse(entries.error());
  return answer(options.json ? list_json(options.what, *entries) : list_text(*entries));
}

}  // namespace foretrain
