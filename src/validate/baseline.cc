#include "validate/baseline.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/json_node.h"
#include "base/text.h"
#include "spec/embedded.h"
#include "validate/row_feature.h"

namespace foretrain {

namespace {

// Whatever is finite: a table may hold a step of 1e-300 s, and what is written of it is read again.
constexpr double kMostError = std::numeric_limits<double>::max();
constexpr std::string_view kPublished = "tests/accuracy/baseline.json";
constexpr std::int64_t kMostRows = 1'000'000'000;

void write(JsonWriter& w, const GroupSummary& figures) {
  w.begin_object();
  w.key("count").value(figures.count);
  w.key("mape").value(figures.mape);
  w.key("median_ape").value(figures.median_ape);
  w.key("p90_ape").value(figures.p90_ape);
  w.key("bias").value(figures.bias);
  w.key("coverage80").value(figures.coverage80);
  w.key("memory").begin_object();
  w.key("count").value(figures.memory.count);
  w.key("mape").value(figures.memory.mape);
  w.key("bias").value(figures.memory.bias);
  w.end_object().end_object();
}

Result<const Node*> member(const Node& map, std::string_view key) {
  if (!map.is_map()) return fail(fmt::format("found no map, expected one with the key '{}'", key), map.at);
  const Node* found = map.find(key);
  if (found == nullptr)
    return fail(fmt::format("not the JSON of validate: the key '{}' is missing", key), map.at);
  return found;
}

Result<void> read_count(const Node& map, std::string_view key, std::size_t& out) {
  TRY_ASSIGN(const Node* node, member(map, key));
  TRY_ASSIGN(const std::int64_t count, node->integer(0, kMostRows));
  out = static_cast<std::size_t>(count);
  return {};
}

// null: there was no row.
Result<void> read_fraction(const Node& map, std::string_view key, double& out) {
  TRY_ASSIGN(const Node* node, member(map, key));
  if (node->kind == Node::Kind::kNull) return {};
  TRY_ASSIGN(out, node->number(-kMostError, kMostError));
  return {};
}

Result<GroupSummary> read_figures(const Node& node) {
  GroupSummary out;
  TRY(read_count(node, "count", out.count));
  TRY(read_fraction(node, "mape", out.mape));
  TRY(read_fraction(node, "median_ape", out.median_ape));
  TRY(read_fraction(node, "p90_ape", out.p90_ape));
  TRY(read_fraction(node, "bias", out.bias));
  TRY(read_fraction(node, "coverage80", out.coverage80));
  TRY_ASSIGN(const Node* memory, member(node, "memory"));
  TRY(read_count(*memory, "count", out.memory.count));
  TRY(read_fraction(*memory, "mape", out.memory.mape));
  TRY(read_fraction(*memory, "bias", out.memory.bias));
  return out;
}

// Keys of the verdicts, as `validate` calls them.
struct FitKey {
  std::string_view key;
  std::size_t FitSummary::*field;
};
constexpr FitKey kFitKeys[] = {
    {"oom_rows", &FitSummary::oom_rows},       {"oom_caught", &FitSummary::oom_caught},
    {"oom_doubted", &FitSummary::oom_doubted}, {"measured_rows", &FitSummary::measured_rows},
    {"false_oom", &FitSummary::false_oom},     {"false_doubt", &FitSummary::false_doubt}};

Result<SourceFigures> read_source(const Node& node) {
  SourceFigures out;
  TRY_ASSIGN(const Node* healthy, member(node, "healthy"));
  TRY_ASSIGN(out.healthy, read_figures(*healthy));
  TRY_ASSIGN(const Node* fits, member(node, "fits"));
  for (const auto& [key, field] : kFitKeys) TRY(read_count(*fits, key, out.fits.*field));
  if (out.fits.oom_doubted > out.fits.oom_rows || out.fits.false_doubt > out.fits.measured_rows)
    return fail("fits: found more verdicts than rows", fits->at);
  return out;
}

// Of files that keep them: an answer of validate, and baselines of before, do not.
Result<void> read_alike(const Node& summary, const Node& groups, Baseline& out) {
  for (std::size_t by = 0; by < out.alike.size(); ++by) {
    const Node* group = groups.find(kAlikeByNames[by]);
    if (group == nullptr || !group->is_map()) continue;
    for (const Node::Entry& entry : group->entries) {
      TRY_ASSIGN(const Node* healthy, member(entry.value, "healthy"));
      TRY_ASSIGN(const GroupSummary figures, read_figures(*healthy));
      out.alike[by].emplace(entry.key, figures);
    }
  }
  if (const Node* all = summary.find("healthy")) {
    TRY_ASSIGN(out.all, read_figures(*all));
  }
  return {};
}

double share(std::size_t part, std::size_t of) {
  return of > 0 ? static_cast<double>(part) / static_cast<double>(of) : kNoFigure;
}
double missed(const FitSummary& fits) { return share(fits.oom_rows - fits.oom_doubted, fits.oom_rows); }
double doubted(const FitSummary& fits) { return share(fits.false_doubt, fits.measured_rows); }

SourceDrift drift_of_source(std::string name, const SourceFigures* before, const SourceFigures* now) {
  SourceDrift out{.source = std::move(name)};
  if (before != nullptr) out.before = *before;
  if (now != nullptr) out.now = *now;
  if (before == nullptr || now == nullptr) return out;
  out.time = {before->healthy.mape, now->healthy.mape};
  out.memory = {before->healthy.memory.mape, now->healthy.memory.mape};
  out.missed = {missed(before->fits), missed(now->fits)};
  out.doubted = {doubted(before->fits), doubted(now->fits)};
  return out;
}

}  // namespace

std::vector<std::string> alike_names(const Run& run, AlikeBy by) {
  switch (by) {
    case AlikeBy::kAll:
      return {alike_name(run)};
    case AlikeBy::kGpu:
      return {run.cluster.gpu.name};
    case AlikeBy::kStack:
      return {run.stack.name};
    case AlikeBy::kFeature:
      break;
  }
  return features_of(run);
}

std::string alike_name(const Run& run) {
  return fmt::format("{}, {}, {}", run.cluster.gpu.name, run.stack.name, join(features_of(run), " "));
}

Baseline baseline_of(const std::vector<RowScore>& rows) {
  Baseline out;
  for (std::size_t by = 0; by < out.alike.size(); ++by) {
    std::map<std::string, std::vector<const RowScore*>> members;
    for (const RowScore& row : rows)
      if (row.run != nullptr)
        for (const std::string& name : alike_names(*row.run, static_cast<AlikeBy>(by)))
          members[name].push_back(&row);
    for (const auto& [name, group] : members)
      if (const GroupSummary healthy = summarise(group).healthy; healthy.count > 0)
        out.alike[by].emplace(name, healthy);
  }
  out.all = summarise(rows).healthy;
  for (const auto& [name, summary] : summarise_by(rows, GroupBy::kSource))
    out.sources.emplace(name, SourceFigures{summary.healthy, summary.fits});
  out.by_source = summarise(rows).by_source;
  return out;
}

std::string baseline_json(const Baseline& baseline) {
  JsonWriter w;
  w.begin_object();
  w.key("summary").begin_object();
  w.key("by_source");
  write(w, baseline.by_source);
  w.key("healthy");
  write(w, baseline.all);
  w.end_object();
  w.key("groups").begin_object();
  w.key("source").begin_object();
  for (const auto& [name, figures] : baseline.sources) {
    w.key(name).begin_object();
    w.key("healthy");
    write(w, figures.healthy);
    w.key("fits").begin_object();
    for (const auto& [key, field] : kFitKeys) w.key(key).value(figures.fits.*field);
    w.end_object().end_object();
  }
  w.end_object();
  for (std::size_t by = 0; by < baseline.alike.size(); ++by) {
    w.key(kAlikeByNames[by]).begin_object();
    for (const auto& [name, figures] : baseline.alike[by]) {
      w.key(name).begin_object().key("healthy");
      write(w, figures);
      w.end_object();
    }
    w.end_object();
  }
  w.end_object().end_object();
  return w.text();
}

Result<Baseline> read_baseline(const Source& json) {
  TRY_ASSIGN(const Node root, parse_json(json.text, json.name));
  Baseline out;
  TRY_ASSIGN(const Node* summary, member(root, "summary"));
  TRY_ASSIGN(const Node* by_source, member(*summary, "by_source"));
  TRY_ASSIGN(out.by_source, read_figures(*by_source));
  TRY_ASSIGN(const Node* groups, member(root, "groups"));
  const Node* sources = groups->is_map() ? groups->find("source") : nullptr;
  if (sources == nullptr || !sources->is_map())
    return fail(fmt::format("found groups by {}, expected by source",
                            groups->is_map() && !groups->entries.empty() ? quoted(groups->entries.front().key)
                                                                         : std::string("nothing")),
                groups->at);
  for (const Node::Entry& entry : sources->entries) {
    TRY_ASSIGN(SourceFigures figures, read_source(entry.value));
    out.sources.emplace(entry.key, figures);
  }
  TRY(read_alike(*summary, *groups, out));
  return out;
}

Result<Baseline> published_baseline() {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == kPublished) return read_baseline({std::string(kPublished), std::string(file.content)});
  return fail("the program holds no figures of published runs");
}

bool SourceDrift::same_rows() const {
  return before && now && before->healthy.count == now->healthy.count &&
         before->healthy.memory.count == now->healthy.memory.count &&
         before->fits.oom_rows == now->fits.oom_rows && before->fits.measured_rows == now->fits.measured_rows;
}

Drift drift_of(const Baseline& before, const Baseline& now) {
  std::set<std::string> names;
  for (const auto& [name, figures] : before.sources) names.insert(name);
  for (const auto& [name, figures] : now.sources) names.insert(name);
  const auto find = [](const Baseline& in, const std::string& name) {
    const auto found = in.sources.find(name);
    return found == in.sources.end() ? nullptr : &found->second;
  };
  Drift out;
  for (const std::string& name : names)
    out.sources.push_back(drift_of_source(name, find(before, name), find(now, name)));
  out.mean_of_sources = {before.by_source.mape, now.by_source.mape};
  return out;
}

}  // namespace foretrain
