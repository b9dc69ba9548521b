#include "report/path_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/text_parts.h"

namespace foretrain {
namespace {

constexpr std::size_t kLinksShown = 8;  // at each end

std::string link_text(const StepView& view, const PathLink& link) {
  return link.event < 0 ? "wait" : label(view.event(link.event));
}

}  // namespace

std::vector<std::string> path_names(const StepView& view, std::size_t shown) {
  const auto& links = view.path.links;
  std::vector<std::string> parts;
  std::int64_t rank = -1;
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (k == shown && links.size() > 2 * shown + 1) {
      k = links.size() - shown;
      parts.push_back(fmt::format("... {} more ...", k - shown));
      rank = -1;
    }
    std::string text = link_text(view, links[k]);
    if (links[k].rank != rank && view.times.size() > 1) text += fmt::format(" on {}", links[k].rank + 1);
    rank = links[k].rank;
    parts.push_back(std::move(text));
  }
  return parts;
}

StageCells stage_cells(const StepView& view, const Prediction& prediction) {
  const TimeUnit unit = unit_of(view.trace.step.value);
  struct Column {
    const char* head;
    Seconds RankTime::*part;
  };
  constexpr Column kColumns[] = {{"passes", &RankTime::passes},
                                 {"messages", &RankTime::messages},
                                 {"wait act.", &RankTime::wait_activation},
                                 {"wait grad.", &RankTime::wait_gradient},
                                 {"reduce", &RankTime::reduce},
                                 {"exchange", &RankTime::exchange},
                                 {"wait stages", &RankTime::wait_stages},
                                 {"optimizer", &RankTime::optimizer},
                                 {"gather", &RankTime::gather}};
  StageCells out;
  auto& [head, rows] = out;
  rows.resize(view.times.size());
  for (const Column& column : kColumns) {
    Seconds most;
    for (const RankTime& time : view.times) most = std::max(most, time.*column.part);
    if (most.value <= 1e-5 * view.trace.step.value) continue;  // as in other tables, what takes no time
    head.emplace_back(column.head);
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(unit.tell(view.times[r].*column.part));
  }
  head.insert(head.end(), {"on the path", "in flight", "peak GiB"});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r].push_back(unit.tell(view.path.by_rank[r]));
    rows[r].push_back(fmt::format("{}", prediction.stages[r].in_flight));
    rows[r].push_back(fmt::format("{:.2f}", prediction.stages[r].memory.total / gib(1)));
  }
  return out;
}

std::string path_text(const StepView& view, const Prediction& prediction) {
  const double step = view.trace.step.value;
  std::string out = "\ncritical path (what the step waits for, from its beginning to its end)\n" +
                    share_table(shares_of(view.path.by_cause, kStepCauseNames, step), step);
  out += wrapped(path_names(view, kLinksShown), "  ");
  if (view.times.size() > 1)
    out += fmt::format("bubble {:.1f} %: how much of the time stages wait while the pipeline runs\n",
                       100 * bubble_fraction(prediction));
  StageCells cells = stage_cells(view, prediction);
  out += fmt::format("\nwhat each stage does ({}; up to the gather these sum to the step)\n",
                     unit_of(step).name);
  return out + stage_table(std::move(cells.head), cells.rows);
}

}  // namespace foretrain
