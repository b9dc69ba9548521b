#include "report/accuracy_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "report/figure_text.h"
#include "report/table.h"

namespace foretrain {
namespace {

constexpr std::array<std::string_view, kAlikeByNames.size()> kPrefixes = {"", "GPU ", "stack ", ""};

Table figure_table(std::string_view title) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add({std::string(title), "rows", "MAPE", "median", "p90", "bias", "in 80 %", "memory rows", "MAPE",
             "bias"});
  return table;
}

void add(Table& table, std::string name, const GroupSummary& figures) {
  table.add({printable(name), fmt::format("{}", figures.count), percent_text(figures.mape),
             percent_text(figures.median_ape), percent_text(figures.p90_ape),
             signed_percent_text(figures.bias), percent_text(figures.coverage80),
             fmt::format("{}", figures.memory.count), percent_text(figures.memory.mape),
             signed_percent_text(figures.memory.bias)});
}

std::string label(const Alike& alike) {
  return std::string(kPrefixes[static_cast<std::size_t>(alike.by)]) + alike.name;
}

std::string verdict(const AccuracyReport& report) {
  const Alike* found = nearest(report);
  if (found == nullptr)
    return "no published run shares anything with this one: nothing says how far off it is but its "
           "interval\n";
  const GroupSummary& f = found->figures;
  const std::string what =
      found->by == AlikeBy::kAll
          ? fmt::format("{} published run{} like this one", f.count, f.count == 1 ? "" : "s")
          : fmt::format("no published run is like this one; {} share{} its {}", f.count,
                        f.count == 1 ? "s" : "", label(*found));
  return fmt::format("{}: predicted {} off in the mean, {} of them in the 80 % interval\n", what,
                     percent_text(f.mape), percent_text(f.coverage80));
}

template <class Figures>
std::string whole_table(std::string_view title, const std::map<std::string, Figures>& groups) {
  Table table = figure_table(title);
  for (const auto& [name, figures] : groups) {
    if constexpr (std::is_same_v<Figures, SourceFigures>)
      add(table, name, figures.healthy);
    else
      add(table, name, figures);
  }
  return "\n" + table.text("");
}

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

}  // namespace

const Alike* nearest(const AccuracyReport& report) {
  for (const Alike& alike : report.alike)
    if (alike.figures.count > 0) return &alike;
  return nullptr;
}

std::string accuracy_text(const AccuracyReport& report, bool all) {
  std::string out = "run         " + printable(report.run.model.name) + " on " +
                    printable(report.run.cluster.name) + ": " + printable(alike_name(report.run)) + "\n\n" +
                    verdict(report) + "\n";
  Table table = figure_table("published runs with its");
  for (const Alike& alike : report.alike)
    add(table, alike.by == AlikeBy::kAll ? "GPU, stack and kind" : label(alike), alike.figures);
  add(table, "all published runs", report.figures.all);
  add(table, "mean of their sources", report.figures.by_source);
  out += table.text("");
  if (!all) return out;
  out += whole_table("source", report.figures.sources);
  for (const AlikeBy by : {AlikeBy::kGpu, AlikeBy::kStack, AlikeBy::kFeature}) {
    const auto place = static_cast<std::size_t>(by);
    out += whole_table(kAlikeByNames[place], report.figures.alike[place]);
  }
  return out;
}

std::string accuracy_json(const AccuracyReport& report) {
  JsonWriter w;
  w.begin_answer();
  w.key("run").begin_object();
  w.key("model").value(std::string_view(report.run.model.name));
  w.key("cluster").value(std::string_view(report.run.cluster.name));
  w.key("gpu").value(std::string_view(report.run.cluster.gpu.name));
  w.key("stack").value(std::string_view(report.run.stack.name));
  w.key("features").begin_array();
  for (const std::string& name : alike_names(report.run, AlikeBy::kFeature)) w.value(std::string_view(name));
  w.end_array().end_object();
  w.key("like").begin_array();
  for (const Alike& alike : report.alike) {
    w.begin_object().key("by").value(kAlikeByNames[static_cast<std::size_t>(alike.by)]);
    w.key("name").value(std::string_view(alike.name)).key("figures");
    write(w, alike.figures);
    w.end_object();
  }
  w.end_array();
  w.key("all");
  write(w, report.figures.all);
  w.key("by_source");
  write(w, report.figures.by_source);
  w.key("groups").begin_object().key("source").begin_object();
  for (const auto& [name, figures] : report.figures.sources) {
    w.key(name);
    write(w, figures.healthy);
  }
  w.end_object();
  for (std::size_t by = 0; by < kAlikeByNames.size(); ++by) {
    w.key(kAlikeByNames[by]).begin_object();
    for (const auto& [name, figures] : report.figures.alike[by]) {
      w.key(name);
      write(w, figures);
    }
    w.end_object();
  }
  w.end_object().end_object();
  return w.text();
}

}  // namespace foretrain
