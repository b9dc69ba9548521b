#include "report/validate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "predict/uncertainty.h"
#include "report/drift_report.h"
#include "report/figure_text.h"
#include "report/peers.h"
#include "report/table.h"

namespace foretrain {

namespace {

constexpr double kGib = gib(1).value;

// The first column flush left, the others right.
Table table_of(std::size_t columns) {
  std::vector<Align> aligns(columns, Align::kRight);
  aligns.front() = Align::kLeft;
  return Table(std::move(aligns));
}

std::vector<std::string> summary_cells(std::string_view name, const Summary& summary) {
  return {printable(name),
          fmt::format("{}", summary.count),
          percent_text(summary.mape),
          percent_text(summary.median_ape),
          percent_text(summary.p90_ape),
          signed_percent_text(summary.bias),
          percent_text(summary.coverage80),
          fmt::format("{}", summary.memory.count),
          percent_text(summary.memory.mape),
          signed_percent_text(summary.memory.bias)};
}

// Rows, groups or sources, each once.
std::vector<std::string> mean_cells(std::string name, const GroupSummary& groups) {
  return {std::move(name),
          fmt::format("{}", groups.count),
          percent_text(groups.mape),
          percent_text(groups.median_ape),
          percent_text(groups.p90_ape),
          signed_percent_text(groups.bias),
          percent_text(groups.coverage80),
          fmt::format("{}", groups.memory.count),
          percent_text(groups.memory.mape),
          signed_percent_text(groups.memory.bias)};
}

// Where rows share groups a last line counts each group once, and so do two more columns, unless the lines
// themselves are groups. Below a line of which rows are set apart, one of the healthy; last, each source once.
std::string group_table(const std::vector<RowScore>& rows, GroupBy by, const Summary& all) {
  const bool repeats = all.by_group.count < all.count;
  const bool in_columns = repeats && by != GroupBy::kGroup;
  Table table = table_of(in_columns ? 12 : 10);
  const auto add = [&](std::vector<std::string> cells, std::string groups, std::string mape) {
    if (in_columns) {
      cells.push_back(std::move(groups));
      cells.push_back(std::move(mape));
    }
    table.add(std::move(cells));
  };
  const auto add_summary = [&](std::string_view name, const Summary& summary) {
    add(summary_cells(name, summary), fmt::format("{}", summary.by_group.count),
        percent_text(summary.by_group.mape));
  };
  add({std::string(kGroupByNames[static_cast<std::size_t>(by)]), "rows", "MAPE", "median", "p90", "bias",
       "in 80 %", "memory rows", "MAPE", "bias"},
      "groups", "MAPE");
  const auto add_with_healthy = [&](const std::string& name, const Summary& summary) {
    add_summary(name, summary);
    if (summary.set_apart > 0) add(mean_cells(printable(name) + ", healthy", summary.healthy), "", "");
  };
  for (const auto& [name, summary] : summarise_by(rows, by)) add_with_healthy(name, summary);
  add_with_healthy("all", all);
  if (repeats) add(mean_cells("mean of groups", all.by_group), "", "");
  if (all.by_source.count > 1) add(mean_cells("mean of sources", all.by_source), "", "");
  return table.text("");
}

std::string skipped_table(const Summary& summary) {
  if (summary.skipped == 0) return {};
  std::vector<std::pair<std::string, std::size_t>> reasons(summary.skipped_reasons.begin(),
                                                           summary.skipped_reasons.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table = table_of(2);
  table.add({"left out", "rows"});
  for (const auto& [reason, count] : reasons) table.add({printable(reason), fmt::format("{}", count)});
  table.add({"all", fmt::format("{}", summary.skipped)});
  return "\n" + table.text("");
}

// Where rows are plans for one model, GPUs and batch.
std::string ranking_line(const RankingSummary& ranking) {
  if (ranking.sweeps == 0) return {};
  return fmt::format(
      "ranking: {} of {} plans; the plan predicted fastest is within 10 % of the fastest in {} of "
      "them, "
      "{} slower in the mean; rank correlation {:.2f} in the median\n",
      ranking.sweeps == 1 ? "1 sweep" : fmt::format("{} sweeps", ranking.sweeps), ranking.rows,
      std::llround(ranking.within_10 * static_cast<double>(ranking.sweeps)), percent_text(ranking.regret),
      ranking.correlation);
}

std::string fits_lines(const FitSummary& fits, const RankingSummary& ranking) {
  std::string out = "\n";
  if (fits.oom_rows > 0)
    out += fmt::format("out of memory: of {} failed runs {} predicted not to fit, {} perhaps not\n",
                       fits.oom_rows, fits.oom_caught, fits.oom_doubted - fits.oom_caught);
  out += fmt::format("false alarms: of {} measured runs {} predicted not to fit, {} perhaps not\n",
                     fits.measured_rows, fits.false_oom, fits.false_doubt - fits.false_oom);
  out += ranking_line(ranking);
  if (fits.oom_rows == 0) return out;
  Table table = table_of(4);
  table.add({"said to fit with", "rows", "failed", "share"});
  for (std::size_t i = fits.reliability.size(); i-- > 0;) {
    const auto& bin = fits.reliability[i];
    const double rows = static_cast<double>(bin.rows);
    table.add({fmt::format("{} to {} %", i * 100 / kFitBins, (i + 1) * 100 / kFitBins),
               fmt::format("{}", bin.rows), fmt::format("{}", bin.failed),
               percent_text(bin.rows > 0 ? static_cast<double>(bin.failed) / rows : kNoFigure)});
  }
  return out + "\n" + table.text("");
}

std::string seconds(double value) { return fmt::format("{:.4g}", value); }

std::vector<const RowScore*> worst_first(const std::vector<RowScore>& rows) {
  std::vector<const RowScore*> scored;
  for (const RowScore& row : rows)
    if (row.error()) scored.push_back(&row);
  std::stable_sort(scored.begin(), scored.end(), [](const RowScore* a, const RowScore* b) {
    return std::abs(*a->error()) > std::abs(*b->error());
  });
  return scored;
}

std::string row_table(const std::vector<RowScore>& rows) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft});
  table.add({"row", "measured s", "predicted s", "low", "high", "error", "assumed"});
  for (const RowScore* row : worst_first(rows))
    table.add({printable(row->id), seconds(row->measured->value), seconds(row->predicted.value),
               seconds(row->predicted.low()), seconds(row->predicted.high()),
               signed_percent_text(*row->error()), printable(join(row->assumed, "; "))});
  return "\n" + table.text("");
}

bool in_parts(const Summary& summary) {
  return std::any_of(summary.parts.begin(), summary.parts.end(),
                     [](const PartSummary& part) { return part.count > 0; });
}

// Forward, backward and optimizer of the rows that were measured in parts, in the order of the rows above,
// then the mean absolute errors.
std::string part_table(const std::vector<RowScore>& rows, const Summary& all) {
  if (!in_parts(all)) return {};
  Table table = table_of(8);
  table.add({"row in parts", "forward s", "error", "backward s", "error", "optimizer s", "error", "memory"});
  for (const RowScore* row : worst_first(rows)) {
    if (!row->parts[0] && !row->parts[1] && !row->parts[2]) continue;
    std::vector<std::string> cells = {printable(row->id)};
    for (const auto& part : row->parts) {
      cells.push_back(part ? seconds(part->measured.value) : "-");
      cells.push_back(part ? signed_percent_text(part->error()) : "-");
    }
    cells.push_back(row->memory_error() ? signed_percent_text(*row->memory_error()) : "-");
    table.add(std::move(cells));
  }
  std::vector<std::string> mean = {"mean absolute error"};
  for (const PartSummary& part : all.parts) {
    mean.emplace_back();
    mean.push_back(percent_text(part.mape));
  }
  mean.push_back(percent_text(all.memory.mape));
  table.add(std::move(mean));
  return "\n" + table.text("");
}

constexpr std::array<std::string_view, 3> kPartKeys = {"fwd", "bwd", "opt"};

// The keys that rows and groups share.
template <class Figures>
void write_errors(JsonWriter& w, const Figures& figures) {
  w.key("mape").value(figures.mape);
  w.key("median_ape").value(figures.median_ape);
  w.key("p90_ape").value(figures.p90_ape);
  w.key("bias").value(figures.bias);
  w.key("coverage80").value(figures.coverage80);
  w.key("memory").begin_object();
  w.key("count").value(figures.memory.count);
  w.key("mape").value(figures.memory.mape);
  w.key("bias").value(figures.memory.bias);
  w.end_object();
}

void write(JsonWriter& w, const Summary& summary) {
  w.begin_object();
  w.key("count").value(summary.count);
  w.key("skipped").value(summary.skipped);
  w.key("skipped_reasons").begin_object();
  for (const auto& [reason, count] : summary.skipped_reasons) w.key(reason).value(count);
  w.end_object();
  write_errors(w, summary);
  w.key("set_apart").value(summary.set_apart);
  const auto write_each = [&w](std::string_view key, const GroupSummary& each) {
    w.key(key).begin_object();
    w.key("count").value(each.count);
    write_errors(w, each);
    w.end_object();
  };
  write_each("by_group", summary.by_group);
  write_each("healthy", summary.healthy);
  write_each("by_source", summary.by_source);
  if (in_parts(summary)) {
    w.key("parts").begin_object();
    for (std::size_t i = 0; i < kPartKeys.size(); ++i) {
      w.key(kPartKeys[i]).begin_object();
      w.key("count").value(summary.parts[i].count);
      w.key("mape").value(summary.parts[i].mape);
      w.key("bias").value(summary.parts[i].bias);
      w.end_object();
    }
    w.end_object();
  }
  w.key("fits").begin_object();
  w.key("oom_rows").value(summary.fits.oom_rows);
  w.key("oom_caught").value(summary.fits.oom_caught);
  w.key("oom_doubted").value(summary.fits.oom_doubted);
  w.key("measured_rows").value(summary.fits.measured_rows);
  w.key("false_oom").value(summary.fits.false_oom);
  w.key("false_doubt").value(summary.fits.false_doubt);
  w.key("reliability").begin_array();
  for (const FitBin& bin : summary.fits.reliability) {
    w.begin_object();
    w.key("count").value(bin.rows);
    w.key("failed").value(bin.failed);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  w.key("ranking").begin_object();
  w.key("sweeps").value(summary.ranking.sweeps);
  w.key("count").value(summary.ranking.rows);
  w.key("within_10").value(summary.ranking.within_10);
  w.key("regret").value(summary.ranking.regret);
  w.key("correlation").value(summary.ranking.correlation);
  w.end_object();
  w.end_object();
}

void write(JsonWriter& w, const RowScore& row) {
  const auto number_or_null = [&w](std::string_view key, std::optional<double> value) {
    w.key(key);
    if (value)
      w.value(*value);
    else
      w.null();
  };
  w.begin_object();
  w.key("id").value(row.id);
  w.key("source").value(row.source);
  w.key("group").value(row.group);
  w.key("features").begin_array();
  for (const std::string& feature : row.features) w.value(feature);
  w.end_array();
  w.key("set_apart").value(row.broken);
  number_or_null("measured_s", row.measured ? std::optional(row.measured->value) : std::nullopt);
  w.key("predicted_s").value(row.predicted.value);
  w.key("low_s").value(row.predicted.low());
  w.key("high_s").value(row.predicted.high());
  number_or_null("error", row.error());
  number_or_null("measured_gib",
                 row.measured_memory ? std::optional(row.measured_memory->value / kGib) : std::nullopt);
  w.key("predicted_gib").value(row.predicted_memory.value / kGib);
  w.key("fits").value(verdict_of(row.fit_probability) == Verdict::kFits);
  w.key("verdict").value(verdict_name(row.fit_probability));
  w.key("fit_probability").value(row.fit_probability);
  w.key("needed_share").value(row.needed_share);
  w.key("params").value(row.params);
  for (std::size_t i = 0; i < row.parts.size(); ++i)
    if (const auto& part = row.parts[i]) {
      w.key(fmt::format("measured_{}_s", kPartKeys[i])).value(part->measured.value);
      w.key(fmt::format("{}_s", kPartKeys[i])).value(part->predicted.value);
      w.key(fmt::format("{}_error", kPartKeys[i])).value(part->error());
    }
  w.key("assumed").begin_array();
  for (const std::string& item : row.assumed) w.value(item);
  w.end_array();
  w.end_object();
}

}  // namespace

std::string validate_text(const std::vector<RowScore>& rows, const ValidateReport& report) {
  const Summary all = summarise(rows);
  std::string out =
      group_table(rows, report.by, all) + skipped_table(all) + fits_lines(all.fits, all.ranking);
  if (report.drift != nullptr) out += drift_text(*report.drift);
  if (report.rows) out += row_table(rows) + part_table(rows, all);
  return out;
}

std::string validate_json(const std::vector<RowScore>& rows, const ValidateReport& report) {
  JsonWriter w;
  w.begin_answer();
  w.key("summary");
  write(w, summarise(rows));
  w.key("groups").begin_object();
  w.key(kGroupByNames[static_cast<std::size_t>(report.by)]).begin_object();
  for (const auto& [name, summary] : summarise_by(rows, report.by)) {
    w.key(name);
    write(w, summary);
  }
  w.end_object().end_object();
  w.key("peers");
  put_peers(w, summarise_by(rows, GroupBy::kSource));
  if (report.drift != nullptr) {
    w.key("baseline");
    put_drift(w, *report.drift);
  }
  if (report.standing != nullptr) {
    const RowsStanding& s = *report.standing;
    w.key("calibration").begin_object().key("name").value(s.name).key("origin").value(s.origin);
    w.key("rows").value(s.rows).key("taught").value(s.taught).end_object();
  }
  if (report.rows) {
    w.key("rows").begin_array();
    for (const RowScore& row : rows)
      if (row.skipped.empty()) write(w, row);
    w.end_array();
  }
  w.end_object();
  return w.text();
}

}  // namespace foretrain
