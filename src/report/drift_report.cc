#include "report/drift_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "report/figure_text.h"
#include "report/html.h"
#include "report/table.h"

namespace foretrain {
namespace {

// What is judged, with its word in texts and its key in JSON.
struct Judged {
  std::string_view word, key;
  Change SourceDrift::*change;
};
constexpr std::array<Judged, 4> kJudged = {{{"time", "time", &SourceDrift::time},
                                            {"memory", "memory", &SourceDrift::memory},
                                            {"failures missed", "missed", &SourceDrift::missed},
                                            {"false alarms", "doubted", &SourceDrift::doubted}}};

std::string moved(const SourceDrift& drift, bool (Change::*which)() const) {
  std::vector<std::string> parts;
  for (const Judged& judged : kJudged)
    if (const Change& change = drift.*judged.change; (change.*which)())
      parts.push_back(fmt::format("{} {}", judged.word, points_text(change.by())));
  return join(parts, ", ");
}

// By a tenth of a point, which the figures show; or it came, went, or has other rows.
bool changed(const SourceDrift& drift) {
  constexpr double kShown = 0.0005;
  if (!drift.same_rows()) return true;
  for (const Judged& judged : kJudged)
    if (std::abs((drift.*judged.change).by()) >= kShown) return true;
  return false;
}

std::string rows_text(const SourceDrift& drift) {
  if (!drift.before) return fmt::format("{} (new)", drift.now->healthy.count);
  if (!drift.now) return fmt::format("{} (gone)", drift.before->healthy.count);
  if (drift.before->healthy.count == drift.now->healthy.count)
    return fmt::format("{}", drift.now->healthy.count);
  return fmt::format("{} (were {})", drift.now->healthy.count, drift.before->healthy.count);
}

// Of a source that is there before and now; else what is there of it.
std::vector<std::string> cells_of(const SourceDrift& drift) {
  const SourceFigures none;
  const GroupSummary& before = (drift.before ? *drift.before : none).healthy;
  const GroupSummary& now = (drift.now ? *drift.now : none).healthy;
  return {printable(drift.source),
          rows_text(drift),
          percent_text(before.mape),
          percent_text(now.mape),
          points_text(now.mape - before.mape),
          percent_text(before.memory.mape),
          percent_text(now.memory.mape),
          points_text(now.memory.mape - before.memory.mape),
          percent_text(before.coverage80),
          percent_text(now.coverage80)};
}

struct Lists {
  std::vector<std::string> worse, better;  // "theirs (time +1.2)"
  std::vector<const SourceDrift*> changed;
  std::size_t unchanged = 0;
};

Lists lists_of(const Drift& drift) {
  Lists out;
  for (const SourceDrift& source : drift.sources) {
    if (source.worse())
      out.worse.push_back(fmt::format("{} ({})", printable(source.source), worse_text(source)));
    if (source.better())
      out.better.push_back(fmt::format("{} ({})", printable(source.source), better_text(source)));
    if (changed(source))
      out.changed.push_back(&source);
    else
      ++out.unchanged;
  }
  return out;
}

const std::array<std::string, 10> kHead = {
    "against the baseline", "rows", "MAPE was", "now",         "change",
    "memory was",           "now",  "change",   "in 80 % was", "now"};

std::vector<std::string> mean_cells(const Drift& drift) {
  const Change& mean = drift.mean_of_sources;
  return {"mean of sources",
          "",
          percent_text(mean.before),
          percent_text(mean.now),
          points_text(mean.by()),
          "",
          "",
          "",
          "",
          ""};
}

std::string unchanged_text(const Lists& lists) {
  if (lists.unchanged == 0) return {};
  return fmt::format("{}{} {} as {}\n", lists.unchanged, lists.changed.empty() ? "" : " other",
                     lists.unchanged == 1 ? "source is" : "sources are",
                     lists.unchanged == 1 ? "it was" : "they were");
}

std::string verdict_line(std::string_view word, const std::vector<std::string>& list) {
  return list.empty() ? std::string()
                      : fmt::format("{} by more than half a point: {}\n", word, join(list, "; "));
}

void put(JsonWriter& w, std::string_view key, const Change& change) {
  w.key(key).begin_object();
  w.key("before").value(change.before);
  w.key("now").value(change.now);
  w.key("change").value(change.by());
  w.end_object();
}

}  // namespace

std::string worse_text(const SourceDrift& drift) { return moved(drift, &Change::worse); }
std::string better_text(const SourceDrift& drift) { return moved(drift, &Change::better); }

std::string drift_text(const Drift& drift) {
  const Lists lists = lists_of(drift);
  std::vector<Align> aligns(kHead.size(), Align::kRight);
  aligns.front() = Align::kLeft;
  Table table(aligns);
  table.add({kHead.begin(), kHead.end()});
  for (const SourceDrift* source : lists.changed) table.add(cells_of(*source));
  table.add(mean_cells(drift));
  return "\n" + table.text("") + unchanged_text(lists) + verdict_line("better", lists.better) +
         (lists.worse.empty() ? "no source is worse by more than half a point\n"
                              : verdict_line("WORSE", lists.worse));
}

void put_drift(JsonWriter& w, const Drift& drift) {
  w.begin_object();
  put(w, "mean_of_sources", drift.mean_of_sources);
  for (const auto& [key, which] :
       {std::pair{"worse", &SourceDrift::worse}, std::pair{"better", &SourceDrift::better}}) {
    w.key(key).begin_array();
    for (const SourceDrift& source : drift.sources)
      if ((source.*which)()) w.value(source.source);
    w.end_array();
  }
  w.key("sources").begin_object();
  for (const SourceDrift& source : drift.sources) {
    w.key(source.source).begin_object();
    w.key("rows_before").value(source.before ? source.before->healthy.count : 0);
    w.key("rows").value(source.now ? source.now->healthy.count : 0);
    for (const Judged& judged : kJudged) put(w, judged.key, source.*judged.change);
    w.end_object();
  }
  w.end_object().end_object();
}

std::string drift_html(const Drift& drift) {
  const Lists lists = lists_of(drift);
  std::string out = "<h2 id=\"baseline\">Since the baseline</h2>\n";
  out += lists.worse.empty() ? "<p>No source is worse by more than half a point.</p>\n"
                             : fmt::format("<p class=\"bad\">Worse by more than half a point: {}</p>\n",
                                           html_escaped(join(lists.worse, "; ")));
  if (!lists.better.empty())
    out +=
        fmt::format("<p>Better by more than half a point: {}</p>\n", html_escaped(join(lists.better, "; ")));
  out += "<div class=\"wide\"><table><tr>";
  for (std::size_t i = 0; i < kHead.size(); ++i)
    out += fmt::format("<th{}>{}</th>", i == 0 ? "" : " class=\"n\"", i == 0 ? "source" : kHead[i]);
  out += "</tr>\n";
  const auto add = [&](const std::vector<std::string>& cells, std::string_view style) {
    out += fmt::format("<tr{}>", style);
    for (std::size_t i = 0; i < cells.size(); ++i)
      out += fmt::format("<td{}>{}</td>", i == 0 ? "" : " class=\"n\"", html_escaped(cells[i]));
    out += "</tr>\n";
  };
  for (const SourceDrift* source : lists.changed) add(cells_of(*source), "");
  add(mean_cells(drift), " class=\"sum\"");
  out += "</table></div>\n";
  if (lists.unchanged > 0) out += "<p>" + html_escaped(trim(unchanged_text(lists))) + ".</p>\n";
  return out;
}

}  // namespace foretrain
