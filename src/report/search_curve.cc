#include "report/search_curve.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/table.h"
#include "report/text_parts.h"

namespace foretrain {

std::optional<OverAnswer> search_curve(const SearchAnswer& a) {
  if (a.problem.gpus.size() < 2 || a.pareto.empty()) return std::nullopt;
  OverAnswer curve;
  curve.axes.push_back({"gpus", {}, true});
  curve.base = a.pareto.front().run;
  std::optional<double> shortest;  // on fewer GPUs
  for (const std::int64_t gpus : a.problem.gpus) {
    curve.axes.front().words.push_back(fmt::format("{}", gpus));
    OverPoint& point = curve.points.emplace_back();
    const auto fastest = std::find_if(a.pareto.begin(), a.pareto.end(), [gpus](const RankedPlan& plan) {
      return plan.scored.gpus == gpus;  // by GPUs, then step
    });
    if (fastest == a.pareto.end() || (shortest && fastest->scored.step >= *shortest)) {
      point.refused = shortest ? "no plan is faster than one on fewer GPUs" : "no plan fits";
      continue;
    }
    shortest = fastest->scored.step;
    std::optional<Training> whole;
    if (a.tokens) whole = training(fastest->run, fastest->prediction, *a.tokens);
    point.figures = figures_of(fastest->run, fastest->prediction, whole);
  }
  return curve;
}

OverAnswer only_running(const OverAnswer& curve) {
  OverAnswer out = curve;
  out.axes.front().words.clear();
  out.points.clear();
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    if (!curve.points[i].runs()) continue;
    out.axes.front().words.push_back(curve.axes.front().words[i]);
    out.points.push_back(curve.points[i]);
  }
  return out;
}

std::string others_text(const OverAnswer& curve) {
  constexpr std::size_t kNamed = 12;
  std::vector<std::string> reasons;
  for (const OverPoint& point : curve.points)
    if (!point.runs() && std::find(reasons.begin(), reasons.end(), point.refused) == reasons.end())
      reasons.push_back(point.refused);
  std::vector<std::string> parts;
  for (const std::string& reason : reasons) {
    std::vector<std::string> counts;
    for (std::size_t i = 0; i < curve.points.size(); ++i)
      if (curve.points[i].refused == reason) counts.push_back(curve.axes.front().words[i]);
    parts.push_back(counts.size() <= kNamed ? fmt::format("{}: {}", reason, join(counts, ", "))
                                            : fmt::format("{}: {} counts from {} to {}", reason,
                                                          counts.size(), counts.front(), counts.back()));
  }
  return join(parts, "; ");
}

double best_per_gpu(const OverAnswer& curve) {
  double best = 0;
  for (const OverPoint& point : curve.points)
    if (point.runs()) best = std::max(best, point.figures.tokens_per_s_per_gpu);
  return best;
}

std::string search_curve_text(const OverAnswer& curve) {
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft, Align::kLeft});
  table.add({"GPUs", "step", "80 % interval", "tokens/s", "a GPU", "memory", "most of it", "plan"});
  const double best = best_per_gpu(curve);
  for (const OverPoint& point : curve.points) {
    if (!point.runs()) continue;
    const OverFigures& f = point.figures;
    const TimeUnit unit = unit_of(f.step.value);
    table.add({fmt::format("{}", f.gpus), human_seconds(Seconds(f.step.value)),
               fmt::format("{} to {} {}", unit.tell(Seconds(f.step.low())), unit.tell(Seconds(f.step.high())),
                           unit.name),
               human_count(f.tokens_per_s_per_gpu * static_cast<double>(f.gpus)),
               fmt::format("{:.0f} %", 100 * f.tokens_per_s_per_gpu / best), human_bytes(f.needed),
               causes_text(f), f.plan});
  }
  const std::string others = others_text(curve);
  return table.text() + (others.empty() ? others : "  " + others + "\n");
}

}  // namespace foretrain
