#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/search_curve.h"
#include "report/search_report.h"
#include "report/sweep_report.h"
#include "report/table.h"
#include "report/text_parts.h"

namespace foretrain {
namespace {

OverFigures figures_of(const SearchAnswer& a, const RankedPlan& plan) {
  std::optional<Training> whole;
  if (a.tokens) whole = training(plan.run, plan.prediction, *a.tokens);
  return foretrain::figures_of(plan.run, plan.prediction, whole);
}

}  // namespace

std::vector<SweepRow> sweep_rows(const SweepAnswer& a) {
  std::vector<SweepRow> rows;
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const SweepPoint& point = a.points[i];
    if (!point.refused.empty()) {
      rows.push_back({.point = i, .refused = point.refused});
      continue;
    }
    const auto curve = search_curve(point.answer);
    if (!curve) {
      rows.push_back({.point = i,
                      .refused = "",
                      .figures = figures_of(point.answer, point.answer.best.front()),
                      .gap = point.answer.gap()});
      continue;
    }
    for (const OverPoint& count : curve->points)
      if (count.runs())
        rows.push_back({.point = i, .refused = "", .figures = count.figures, .gap = point.answer.gap()});
    rows.back().unlike = others_text(*curve);
  }
  return rows;
}

OverAnswer sweep_curve(const SweepAnswer& a) {
  OverAnswer curve;
  curve.base = a.any().best.empty() ? Run{} : a.any().best.front().run;
  if (a.over.seqs.size() > 1) curve.axes.push_back({"seq", a.over.seqs, true});
  const bool numbers = std::all_of(a.over.batches.begin(), a.over.batches.end(),
                                   [](const std::string& word) { return parse_number(word).has_value(); });
  if (a.over.batches.size() > 1) curve.axes.push_back({"global_batch", a.over.batches, numbers});
  for (const SweepPoint& point : a.points) {
    OverPoint& out = curve.points.emplace_back();
    out.refused = point.refused;
    if (out.runs()) out.figures = figures_of(point.answer, point.answer.best.front());
  }
  return curve;
}

namespace {

struct Columns {
  bool seq = false, gpus = false, training = false, gap = false;
};

std::vector<std::string> head(const Columns& c) {
  std::vector<std::string> cells;
  if (c.seq) cells.emplace_back("seq");
  cells.emplace_back("batch");
  if (c.gpus) cells.emplace_back("GPUs");
  for (const char* name : {"step", "80 % interval", "memory", "fits", "MFU", "tokens/s/GPU", "of the most"})
    cells.emplace_back(name);
  if (c.training) cells.emplace_back("training");
  if (c.gap) cells.emplace_back("gap");
  cells.emplace_back("most of it");
  cells.emplace_back("plan");
  return cells;
}

std::vector<std::string> cells(const SweepAnswer& a, const Columns& c, const SweepRow& row, double most) {
  const BatchPoint& at = a.points[row.point].at;
  std::vector<std::string> out;
  if (c.seq) out.push_back(fmt::format("{}", at.seq));
  out.push_back(at.global_batch > 0 ? fmt::format("{}", at.global_batch)
                                    : a.over.batches[row.point % a.over.batches.size()]);
  if (!row.refused.empty()) {
    out.resize(head(c).size() - 1, "-");
    out.push_back("none: " + printable(row.refused));
    return out;
  }
  const OverFigures& f = row.figures;
  const TimeUnit unit = unit_of(f.step.value);
  if (c.gpus) out.push_back(fmt::format("{}", f.gpus));
  out.insert(out.end(), {human_seconds(Seconds(f.step.value)),
                         fmt::format("{} to {} {}", unit.tell(Seconds(f.step.low())),
                                     unit.tell(Seconds(f.step.high())), unit.name),
                         human_bytes(f.needed), chance(f.fit_probability),
                         fmt::format("{:.1f} %", 100 * f.mfu), human_count(f.tokens_per_s_per_gpu),
                         fmt::format("{:.0f} %", 100 * f.tokens_per_s_per_gpu / most)});
  if (c.training) out.push_back(human_seconds(f.whole->duration));
  if (c.gap) out.push_back(row.gap ? fmt::format("{:.1f} %", 100 * *row.gap) : "-");
  out.push_back(causes_text(f));
  out.push_back(f.plan);
  return out;
}

std::string table(const SweepAnswer& a) {
  const std::vector<SweepRow> rows = sweep_rows(a);
  const bool stopped = std::any_of(rows.begin(), rows.end(), [](const SweepRow& row) { return row.gap; });
  const Columns c{a.over.seqs.size() > 1, a.any().problem.gpus.size() > 1, a.any().tokens.has_value(),
                  stopped};
  std::vector<Align> columns(head(c).size(), Align::kRight);
  columns[columns.size() - 2] = columns.back() = Align::kLeft;
  Table out(columns);
  out.add(head(c));
  for (const SweepRow& row : rows) out.add(cells(a, c, row, a.best_per_gpu()));
  std::string text = "\n" + out.text();
  for (const SweepRow& row : rows)
    if (!row.unlike.empty())
      text += fmt::format("  seq {}, batch {}: {}\n", a.points[row.point].at.seq,
                          a.points[row.point].at.global_batch, row.unlike);
  if (stopped) text += "  gap: no plan of that batch and length is better than the one told by more\n";
  return text;
}

}  // namespace

std::string sweep_text(const SweepAnswer& a) {
  SearchAnswer common = a.any();
  common.left_out = a.left_out;
  common.result.counts = a.counts;
  common.result.interrupted = a.interrupted;
  common.result.counted = a.counted;
  common.result.open = std::nullopt;
  std::string out = search_head_text(common, &a.over) + table(a);
  if (!a.assumed.empty()) out += "\nassumed\n";
  for (const std::string& line : a.assumed) out += "  " + printable(line) + "\n";
  return out;
}

}  // namespace foretrain
