#include "report/scoreboard_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "predict/uncertainty.h"
#include "report/drift_report.h"
#include "report/figure_text.h"
#include "report/html.h"
#include "report/peers.h"
#include "report/validate_report.h"

namespace foretrain {
namespace {

constexpr std::string_view kStyle = R"(
p { max-width: 85ch; } nav { margin: 0.75rem 0 0; } nav a { margin-right: 1rem; white-space: nowrap; } a:hover { text-decoration: underline; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.75rem, 1fr)); gap: 0.75rem; margin: 1.25rem 0 0; }
.tile { border: 1px solid var(--line); border-radius: 10px; padding: 0.7rem 0.9rem; }
.tile b { display: block; font-size: 1.35rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 0.8rem; line-height: 1.35; display: block; margin-top: 0.2rem; }
.wide td:first-child, .wide th:first-child { position: sticky; left: 0; background: var(--paper); min-width: 10rem; max-width: 17rem; white-space: normal; overflow-wrap: anywhere; }
.scores td:first-child { min-width: 12.5rem; }
.scores th, .scores td { padding-right: 0.8rem; } .kinds th { border: 0; padding-bottom: 0; text-align: center; font-weight: 400; } .scores th.n { vertical-align: bottom; white-space: normal; }
tr.sum td { font-weight: 600; border-top: 2px solid var(--line); } td.far { color: var(--mark); }
.bar { display: inline-block; width: 3.5rem; height: 0.6rem; background: var(--line); border-radius: 3px; overflow: hidden; vertical-align: middle; }
.bar i { display: block; height: 100%; background: var(--dot); }
p.bad { color: var(--mark); font-weight: 600; } .reason { white-space: normal; min-width: 16rem; max-width: 34rem; color: var(--soft); }
svg.scatter { min-width: 34rem; } svg.scatter text { font-size: 12px; } .grid { stroke: var(--line); fill: none; } .band { fill: var(--soft); opacity: 0.16; }
.same { stroke: var(--soft); stroke-dasharray: 4 4; fill: none; } .in { fill: var(--dot); opacity: 0.55; } .out { fill: var(--mark); opacity: 0.7; } .apart { fill: none; stroke: var(--soft); opacity: 0.6; }
.key { margin-right: 1.1rem; color: var(--soft); } .key svg { width: 0.75em; height: 0.75em; margin-right: 0.35em; }
details summary { cursor: pointer; color: var(--dot); margin: 0.25rem 0; } footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 0.75rem; }
@media (max-width: 600px) { body { margin: 1rem auto; padding: 0 0.9rem; } .tiles { grid-template-columns: 1fr 1fr; } .tile b { font-size: 1.25rem; } .wide td:first-child, .wide th:first-child { max-width: 8rem; min-width: 7rem; } .bar { width: 3rem; } }
)";

struct Section {
  GroupBy by;
  std::string_view id, title, words;
};
constexpr Section kSections[] = {
    {GroupBy::kSource, "source", "By source",
     "Who measured it. Sources differ in hardware, framework and cleanliness, and some repeat one "
     "configuration many "
     "times: the last line weighs each of them the same, with like rows counted once."},
    {GroupBy::kFeature, "feature", "By feature",
     "What a row is about, by its own columns; one with several counts in each."},
    {GroupBy::kGpu, "gpu", "By GPU",
     "Those without samples of their own are priced from data sheets or from their kin."},
    {GroupBy::kStack, "stack", "By framework",
     "As rows name it; what it is predicted as is among the assumptions of a row."},
    {GroupBy::kCluster, "cluster", "By cluster",
     "Two clusters of the same GPUs may differ by more than two GPUs do."},
};

std::string cell(std::string_view text) { return fmt::format("<td class=\"n\">{}</td>", html_escaped(text)); }

// "" rather than "-" where a whole group of columns has nothing to tell.
std::string some(std::size_t count, const std::string& text) { return count == 0 ? std::string() : text; }

std::string named(const std::string& name) { return name.empty() ? "(not stated)" : name; }

std::string count_cell(std::size_t count) { return cell(some(count, fmt::format("{}", count))); }

// A bar from 0 to half of the measured step, beyond which all are the same.
std::string bar(double mape) {
  constexpr double kFull = 0.5;
  if (!std::isfinite(mape)) return "<td></td>";
  return fmt::format("<td><span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span></td>",
                     100 * std::min(1.0, mape / kFull));
}

// Of rows scored on time; nothing where there is none.
std::string error_cells(const GroupSummary& f, std::size_t set_apart) {
  std::string out = cell(fmt::format("{}", f.count)) + count_cell(set_apart) + bar(f.mape);
  for (const std::string& text : {percent_text(f.mape), percent_text(f.median_ape), percent_text(f.p90_ape),
                                  signed_percent_text(f.bias), percent_text(f.coverage80)})
    out += cell(some(f.count, text));
  return out + count_cell(f.memory.count) + cell(some(f.memory.count, percent_text(f.memory.mape))) +
         cell(some(f.memory.count, signed_percent_text(f.memory.bias)));
}

std::string verdict_cells(const FitSummary& fits, const RankingSummary& ranking) {
  return cell(some(fits.oom_rows, fmt::format("{} of {}", fits.oom_doubted, fits.oom_rows))) +
         cell(some(fits.measured_rows, fmt::format("{} of {}", fits.false_doubt, fits.measured_rows))) +
         cell(some(
             ranking.sweeps,
             fmt::format("{} of {}", std::llround(ranking.within_10 * static_cast<double>(ranking.sweeps)),
                         ranking.sweeps))) +
         cell(some(ranking.sweeps, percent_text(ranking.regret)));
}

std::string table_head(std::string_view name) {
  std::string out = fmt::format(
      "<div class=\"wide\"><table class=\"scores\"><tr "
      "class=\"kinds\"><th></th><th></th><th></th><th></th><th "
      "colspan=\"5\">time of the step</th><th colspan=\"3\">memory</th><th colspan=\"2\">verdicts</th><th "
      "colspan=\"2\">sweeps</th></tr>\n<tr><th>{}</th>",
      name);
  for (const std::string_view word :
       {"rows", "apart", "", "mean error", "median", "p90", "bias", "in 80&nbsp;%", "rows", "mean error",
        "bias", "failures foreseen", "false alarms", "best within 10&nbsp;%", "regret"})
    out += fmt::format("<th class=\"n\">{}</th>", word);
  return out + "</tr>\n";
}

std::string group_row(std::string_view name, const Summary& s) {
  return fmt::format("<tr><td>{}</td>", html_escaped(name)) + error_cells(s.healthy, s.set_apart) +
         verdict_cells(s.fits, s.ranking) + "</tr>\n";
}

// By name, as people look for their own.
std::string group_section(const std::vector<RowScore>& rows, const Section& section, const Summary& all) {
  std::string out =
      fmt::format("<h2 id=\"{}\">{}</h2>\n<p>{}</p>\n", section.id, section.title, section.words) +
      table_head(kGroupByNames[static_cast<std::size_t>(section.by)]);
  for (const auto& [name, summary] : summarise_by(rows, section.by)) out += group_row(named(name), summary);
  if (section.by == GroupBy::kSource)
    out += "<tr class=\"sum\"><td>all rows</td>" + error_cells(all.healthy, all.set_apart) +
           verdict_cells(all.fits, all.ranking) + "</tr>\n";
  if (section.by == GroupBy::kSource && all.by_source.count > 1)
    out += "<tr class=\"sum\"><td>mean of sources</td>" + error_cells(all.by_source, 0) +
           "<td colspan=\"4\"></td></tr>\n";
  return out + "</table></div>\n";
}

std::string tile(std::string_view figure, std::string_view words) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", html_escaped(figure),
                     html_escaped(words));
}

std::string tiles(const Summary& all) {
  const GroupSummary& h = all.healthy;
  std::string out = "<div class=\"tiles\">\n";
  out += tile(percent_text(all.by_source.mape),
              fmt::format("mean error of the step, {} {} weighed alike", all.by_source.count,
                          all.by_source.count == 1 ? "source" : "sources"));
  out += tile(percent_text(h.median_ape),
              fmt::format("median error of the step over {} rows; nine in ten are under {}", h.count,
                          percent_text(h.p90_ape)));
  out += tile(percent_text(h.coverage80), "of the measured steps lie in the 80 % interval");
  if (h.memory.count > 0)
    out += tile(percent_text(all.by_source.memory.mape),
                fmt::format("mean error of memory, {} sources weighed alike ({} rows)",
                            all.by_source.memory.count, h.memory.count));
  if (all.fits.oom_rows > 0)
    out += tile(
        fmt::format("{} of {}", all.fits.oom_doubted, all.fits.oom_rows),
        fmt::format("runs that failed for memory were foreseen, {} of them for sure", all.fits.oom_caught));
  if (all.fits.measured_rows > 0)
    out += tile(fmt::format("{} of {}", all.fits.false_doubt, all.fits.measured_rows),
                fmt::format("runs that worked were doubted, {} said not to fit", all.fits.false_oom));
  if (all.ranking.sweeps > 0)
    out += tile(
        fmt::format("{} of {}", std::llround(all.ranking.within_10 * static_cast<double>(all.ranking.sweeps)),
                    all.ranking.sweeps),
        fmt::format(
            "sweeps: the plan predicted fastest is within 10 % of the fastest ({} slower in the mean)",
            percent_text(all.ranking.regret)));
  return out + "</div>\n";
}

std::string legend(bool set_apart) {
  const auto key = [](std::string_view kind, std::string_view words) {
    return fmt::format(
        "<span class=\"key\"><svg viewBox=\"0 0 8 8\"><circle class=\"{}\" cx=\"4\" cy=\"4\" "
        "r=\"3.2\"/></svg>{}</span> ",
        kind, words);
  };
  return "<p>" + key("in", "within its 80 % interval") + key("out", "outside") +
         (set_apart ? key("apart", "set apart: measured in a broken state of its cluster") : "") + "</p>\n";
}

std::string reliability(const FitSummary& fits) {
  if (fits.oom_rows == 0) return {};
  std::string out =
      "<h2 id=\"verdicts\">Verdicts</h2>\n<p>How many of the runs that were said to fit with some "
      "probability failed for "
      "memory.</p>\n<div class=\"wide\"><table><tr><th>said to fit with</th><th class=\"n\">rows</th><th "
      "class=\"n\">failed</th><th class=\"n\">share</th></tr>\n";
  for (std::size_t i = kFitBins; i-- > 0;) {
    const FitBin& bin = fits.reliability[i];
    out += fmt::format("<tr><td>{} to {} %</td>", i * 100 / kFitBins, (i + 1) * 100 / kFitBins) +
           cell(fmt::format("{}", bin.rows)) + cell(fmt::format("{}", bin.failed)) +
           cell(percent_text(bin.rows > 0 ? static_cast<double>(bin.failed) / static_cast<double>(bin.rows)
                                          : kNoFigure)) +
           "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string worst(const std::vector<RowScore>& rows) {
  constexpr std::size_t kMost = 20;
  std::vector<const RowScore*> scored;
  for (const RowScore& row : rows)
    if (row.error() && !row.broken) scored.push_back(&row);
  std::stable_sort(scored.begin(), scored.end(), [](const RowScore* a, const RowScore* b) {
    return std::abs(*a->error()) > std::abs(*b->error());
  });
  if (scored.empty()) return {};
  if (scored.size() > kMost) scored.resize(kMost);
  std::string out =
      "<h2 id=\"worst\">The rows furthest off</h2>\n<div "
      "class=\"wide\"><table><tr><th>row</th><th>source</th><th "
      "class=\"n\">measured</th><th class=\"n\">predicted</th><th class=\"n\">80 % interval</th><th "
      "class=\"n\">error</th><th>assumed</th></tr>\n";
  for (const RowScore* row : scored)
    out += fmt::format("<tr><td title=\"{0}\">{0}</td><td>{1}</td>", html_escaped(row->id),
                       html_escaped(row->source)) +
           cell(human_seconds(*row->measured)) + cell(human_seconds(Seconds(row->predicted.value))) +
           cell(fmt::format("{} to {}", human_seconds(Seconds(row->predicted.low())),
                            human_seconds(Seconds(row->predicted.high())))) +
           fmt::format("<td class=\"n{}\">{}</td><td class=\"reason\">{}</td></tr>\n",
                       row->covered() ? "" : " far", signed_percent_text(*row->error()),
                       html_escaped(join(row->assumed, "; ")));
  return out + "</table></div>\n";
}

std::string left_out(const Summary& all) {
  if (all.skipped == 0) return {};
  std::vector<std::pair<std::string, std::size_t>> reasons(all.skipped_reasons.begin(),
                                                           all.skipped_reasons.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out =
      "<h2 id=\"left-out\">Left out</h2>\n<p>Rows that the program does not model, or that do not say "
      "enough. None is "
      "answered as something else.</p>\n<div class=\"wide\"><table><tr><th>reason</th><th "
      "class=\"n\">rows</th></tr>\n";
  for (const auto& [reason, count] : reasons)
    out += fmt::format("<tr><td class=\"reason\">{}</td>", html_escaped(reason)) +
           cell(fmt::format("{}", count)) + "</tr>\n";
  return out + "</table></div>\n";
}

std::string navigation(const Summary& all, bool drift) {
  std::string out = "<nav>";
  for (const Section& section : kSections)
    out += fmt::format("<a href=\"#{}\">{}</a> ", section.id, section.title);
  if (all.fits.oom_rows > 0) out += "<a href=\"#verdicts\">Verdicts</a> ";
  if (drift) out += "<a href=\"#baseline\">Since the baseline</a> ";
  return out + "<a href=\"#peers\">Other predictors</a> <a href=\"#worst\">Furthest off</a></nav>\n";
}

constexpr std::string_view kHowToRead =
    "<details><summary>How to read this</summary>\n<p>The error of a step is (predicted - measured) / "
    "measured; mean, "
    "median and p90 are of its absolute value, the bias is its mean. <em>In 80 %</em> is the share of steps "
    "that lie in "
    "the interval predicted to hold 80 % of them: less means intervals that are too narrow, more too wide. "
    "Memory is "
    "compared by the counter that the row used. <em>Failures foreseen</em> are runs that failed for memory "
    "and were said "
    "not to fit, or perhaps not; <em>false alarms</em> runs that worked, of which that was said. A sweep is "
    "five or more "
    "plans measured for one model, GPUs and batch: <em>best within 10 %</em> counts those whose plan "
    "predicted fastest is, "
    "as measured, at most a tenth slower than the fastest, <em>regret</em> is how much slower it is in the "
    "mean. Rows "
    "measured in a broken state of their cluster, told by measured figures alone, are set apart and count in "
    "none of "
    "these.</p></details>\n";

}  // namespace

std::string scoreboard_html(const std::vector<RowScore>& rows, const Drift* drift,
                            const RowsStanding* standing) {
  const Summary all = summarise(rows);
  std::string body = fmt::format(
      "<p>Predicted training steps against {} measured ones of {} sources{}{}. No figure here is entered by "
      "hand: "
      "the program made the page from tables of measured runs.</p>\n",
      with_commas(static_cast<std::int64_t>(all.count)), all.by_source.count,
      all.fits.oom_rows > 0 ? fmt::format(", and {} runs that failed for memory",
                                          with_commas(static_cast<std::int64_t>(all.fits.oom_rows)))
                            : "",
      all.set_apart > 0
          ? fmt::format("; {} rows are set apart", with_commas(static_cast<std::int64_t>(all.set_apart)))
          : "");
  if (standing != nullptr)
    body += fmt::format(
        "<p>{} of the rows stand on calibration {}, of {}; {} of them taught it, and say nothing of how good "
        "it is.</p>\n",
        with_commas(static_cast<std::int64_t>(standing->rows)), html_escaped(standing->name),
        html_escaped(standing->origin), with_commas(static_cast<std::int64_t>(standing->taught)));
  body += navigation(all, drift != nullptr) + tiles(all) + std::string(kHowToRead);
  if (drift != nullptr) body += drift_html(*drift);
  if (const std::string picture = scoreboard_scatter(rows); !picture.empty())
    body +=
        "<h2>Measured against predicted</h2>\n<p>Each dot is a row; the shade holds what is off by up to 10 "
        "%. Hover for "
        "its name.</p>\n" +
        legend(all.set_apart > 0) + picture;
  for (const Section& section : kSections) body += group_section(rows, section, all);
  body +=
      reliability(all.fits) + peers_html(summarise_by(rows, GroupBy::kSource)) + worst(rows) + left_out(all);
  body += "<footer><p>Add a row of your own: docs/contribute-a-run.md.</p></footer>\n";
  return html_page("Foretrain: predicted against measured", kStyle, body);
}

}  // namespace foretrain
