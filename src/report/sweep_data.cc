// A search over several batches or lengths, for scripts: an object a point, a row a point and GPU count.
#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "report/search_report.h"
#include "report/sweep_report.h"

namespace foretrain {
namespace {

void put_at(JsonWriter& w, const SweepAnswer& a, std::size_t i) {
  const BatchPoint& at = a.points[i].at;
  w.key("at").begin_object();
  w.key("seq").value(at.seq);
  w.key("global_batch");
  if (at.global_batch > 0)
    w.value(at.global_batch);
  else
    w.value(a.over.batches[i % a.over.batches.size()]);
  w.end_object();
}

// A plan as the points of predict's ranges have it, and what it has of the most that any gets out of a GPU.
void put_row(JsonWriter& w, const SweepRow& row, double most) {
  put_figures(w, row.figures);
  w.key("tokens_per_s").value(row.figures.tokens_per_s_per_gpu * static_cast<double>(row.figures.gpus));
  w.key("efficiency").value(row.figures.tokens_per_s_per_gpu / most);
}

void put_point(JsonWriter& w, const SweepAnswer& a, std::size_t i, const OverFigures& best,
               const std::vector<SweepRow>& rows) {
  const SweepPoint& point = a.points[i];
  w.begin_object();
  put_at(w, a, i);
  if (point.answer.problem.seq > 0) put_search_counts(w, point.answer);
  if (!point.refused.empty()) {
    w.key("refused").value(point.refused);
    w.end_object();
    return;
  }
  w.key("best").begin_array().begin_object();
  put_row(w, {.point = i, .refused = "", .figures = best}, a.best_per_gpu());
  w.end_object().end_array();
  if (point.answer.problem.gpus.size() > 1) {
    w.key("curve").begin_array();
    for (const SweepRow& row : rows) {
      if (row.point != i) continue;
      w.begin_object();
      put_row(w, row, a.best_per_gpu());
      w.end_object();
    }
    w.end_array();
  }
  w.end_object();
}

}  // namespace

std::string sweep_json(const SweepAnswer& a) {
  SearchAnswer common = a.any();
  common.result.counts = a.counts;
  common.result.seconds = a.seconds;
  common.result.interrupted = a.interrupted;
  common.result.counted = a.counted;
  common.result.open = std::nullopt;
  common.left_out = a.left_out;
  JsonWriter w;
  w.begin_answer();
  put_search_counts(w, common);
  put_problem(w, common, &a.over);
  const std::vector<SweepRow> rows = sweep_rows(a);
  const OverAnswer curve = sweep_curve(a);
  w.key("points").begin_array();
  for (std::size_t i = 0; i < a.points.size(); ++i) put_point(w, a, i, curve.points[i].figures, rows);
  w.end_array();
  w.key("assumed").begin_array();
  for (const std::string& line : a.assumed) w.value(line);
  w.end_array();
  w.end_object();
  return w.text();
}

std::string sweep_csv(const SweepAnswer& a) {
  std::string out = "seq,global_batch,gpus,efficiency,gap," + figures_csv_head() + "\n";
  for (const SweepRow& row : sweep_rows(a)) {
    const BatchPoint& at = a.points[row.point].at;
    out += fmt::format("{},{},", at.seq,
                       at.global_batch > 0 ? fmt::format("{}", at.global_batch)
                                           : a.over.batches[row.point % a.over.batches.size()]);
    if (row.refused.empty())
      out += fmt::format("{},{},{},", row.figures.gpus, row.figures.tokens_per_s_per_gpu / a.best_per_gpu(),
                         row.gap ? fmt::format("{}", *row.gap) : "");
    else
      out += ",,,";
    out += figures_csv({row.refused, row.figures}) + "\n";
  }
  return out;
}

}  // namespace foretrain
