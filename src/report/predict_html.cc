#include "report/predict_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/calibration_report.h"
#include "report/gantt_svg.h"
#include "report/html.h"
#include "report/memory_report.h"
#include "report/path_report.h"
#include "report/text_parts.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr std::string_view kStyle = R"(
p.run { max-width: none; } .cards { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: 1rem; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: 0.6rem 1rem; min-width: 9rem; }
.card b { display: block; font-size: 1.25rem; } .card span { color: var(--soft); font-size: 0.8rem; display: block; }
.bad b { color: var(--mark); } .two { display: flex; flex-wrap: wrap; gap: 0 2.5rem; }
.bars td { padding-right: 0.9rem; } .bars td:last-child { width: 9rem; padding: 0; } .bars i { display: block; height: 0.7rem; border-radius: 2px; background: var(--dot); }
.m0 { fill: #3b82f6; } .m1 { fill: #0f9f6e; } .m2 { fill: #ef4444; } .m3 { fill: #f59e0b; } .m4 { fill: #8b5cf6; } .m5 { fill: #94a3b8; } .m6 { fill: #14b8a6; }
.m7 { fill: #d946ef; } .m8 { fill: #64748b; } .m9 { fill: #a16207; } .track { fill: none; stroke: var(--dot); stroke-width: 1.5; }
.limit { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 5 4; }
)";

std::string card(std::string_view name, std::string_view value, std::string_view more, bool bad = false) {
  return fmt::format("<div class=\"card{}\"><span>{}</span><b>{}</b><span>{}</span></div>", bad ? " bad" : "",
                     name, html_escaped(value), html_escaped(more));
}

std::string cards(const Run& run, const Prediction& p, const Training* whole) {
  std::string out = "<div class=\"cards\">";
  out += card("step", human_seconds(Seconds(p.step.value)),
              fmt::format("80 % interval {} to {}", human_seconds(Seconds(p.step.low())),
                          human_seconds(Seconds(p.step.high()))));
  if (p.jitter)
    out += card("typical step", human_seconds(p.typical),
                fmt::format("with this cluster's jitter; one in ten over {}", human_seconds(p.jitter->p90)));
  out += card("throughput", human_count(p.tokens_per_s_per_gpu) + " tokens/s/GPU",
              human_count(p.tokens_per_s_per_gpu * static_cast<double>(run.gpus)) + " tokens/s in all");
  out += card("MFU", fmt::format("{:.1f} %", 100 * p.mfu), "without recomputation");
  out += card("memory needed", human_bytes(p.needed),
              fmt::format("of {}: {}", human_bytes(p.usable), fit_words(p)), !p.fits);
  if (p.stages.size() > 1)
    out += card("bubble", fmt::format("{:.1f} %", 100 * bubble_fraction(p)), "of the pipeline's time");
  if (whole != nullptr)
    out += card(
        "training", human_seconds(whole->duration),
        fmt::format("{} to {}; {} tokens, {} GPU-hours{}", human_seconds(whole->low),
                    human_seconds(whole->high), human_count(whole->tokens), human_count(whole->gpu_hours),
                    whole->usd ? ", " + human_count(*whole->usd) + " USD" : ""));
  return out + "</div>\n";
}

std::string bars(std::string_view title, const std::vector<Share>& shares, double step) {
  const TimeUnit unit = unit_of(step);
  const Seconds longest = shares.empty() ? Seconds(1) : shares.front().seconds;
  std::string out = fmt::format(
      "<div><h2>{}</h2><table class=\"bars\"><tr><th></th><th class=\"n\">{}</th><th "
      "class=\"n\">%</th><th></th></tr>\n",
      title, unit.name);
  for (const Share& share : shares) {
    const double part = percent(share.seconds.value, step);
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f}</td><td><i "
        "style=\"width:{:.1f}%\"></i></td></tr>\n",
        html_escaped(share.name), unit.tell(share.seconds), part,
        std::clamp(share.seconds / longest * 100, 0.0, 100.0));
  }
  return out + "</table></div>\n";
}

std::string table(std::vector<std::string> head, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class=\"wide\"><table><tr><th>stage</th>";
  for (const std::string& cell : head) out += "<th class=\"n\">" + html_escaped(cell) + "</th>";
  out += "</tr>\n";
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end] == rows[first]) ++end;
    out += end - first == 1 ? fmt::format("<tr><td>{}</td>", end)
                            : fmt::format("<tr><td>{} to {}</td>", first + 1, end);
    for (const std::string& cell : rows[first]) out += "<td class=\"n\">" + html_escaped(cell) + "</td>";
    out += "</tr>\n";
    first = end;
  }
  return out + "</table></div>\n";
}

bool same(const std::vector<MemoryPart>& a, const std::vector<MemoryPart>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const MemoryPart& x, const MemoryPart& y) {
    return x.name == y.name && x.bytes == y.bytes;
  });
}

// A bar a stage; neighbours that hold the same share one.
std::string memory_svg(const Prediction& p) {
  constexpr double kWidth = 1280, kLeft = 74, kRight = 130, kBar = 22, kTop = 6;
  std::vector<std::string_view> names;
  const auto class_of = [&](std::string_view part) {
    const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), part) - names.begin());
    if (place == names.size()) names.push_back(part);
    return place;
  };
  Bytes most = p.usable;
  for (const StagePrediction& stage : p.stages) most = std::max(most, stage.memory.total);
  const auto x = [&](Bytes b) { return kLeft + (kWidth - kLeft - kRight) * (b / most); };
  std::string rows;
  double y = kTop;
  for (std::size_t first = 0; first < p.stages.size();) {
    const auto parts = memory_parts(p.stages[first]);
    std::size_t end = first + 1;
    while (end < p.stages.size() && same(memory_parts(p.stages[end]), parts)) ++end;
    const std::string who =
        end - first == 1 ? fmt::format("stage {}", end) : fmt::format("{} to {}", first + 1, end);
    rows += fmt::format("<text text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>", kLeft - 6, y + 14, who);
    Bytes sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double from = x(sum), to = x(sum + parts[i].bytes);
      sum += parts[i].bytes;
      if (to > from)
        rows += fmt::format(
            "<rect class=\"m{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"><title>{}: {} "
            "{}</title></rect>",
            class_of(parts[i].name), from, y, to - from, kBar - 4, who, parts[i].name,
            human_bytes(parts[i].bytes));
    }
    rows += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(sum) + 6, y + 14, human_bytes(sum));
    y += kBar;
    first = end;
  }
  std::string legend;
  for (std::size_t i = 0; i < names.size(); ++i)
    legend += fmt::format("<svg class=\"key\"><rect class=\"m{}\" width=\"100%\" height=\"100%\"/></svg>{}",
                          i, names[i]);
  return fmt::format(
      "<p class=\"run\">{0}<br>The dashed line is what the GPU has.</p>\n<svg viewBox=\"0 0 {1} {2:.0f}\" "
      "width=\"{1}\" "
      "height=\"{2:.0f}\" role=\"img\"><title>memory by stage</title>{3}<path class=\"limit\" d=\"M{4:.1f} "
      "0V{5:.0f}\"/></svg>\n",
      legend, kWidth, y + 4, rows, x(p.usable), y + 4);
}

}  // namespace

std::string predict_html(const Run& run, const Prediction& p, const StepView& view, const Training* whole,
                         const Standing* standing) {
  const double step = p.step.value;
  std::string body = fmt::format(
      "<p class=\"run\">{} parameters, {} x {}, stack {}, profile {}<br>plan {}<br>{} x {} tokens a step, {} "
      "micro-batches</p>\n",
      human_count(static_cast<double>(p.params)), run.gpus, html_escaped(run.cluster.gpu.name),
      html_escaped(run.stack.name), html_escaped(run.profile), html_escaped(to_text(run.plan)),
      run.global_batch, run.seq, run.micro_batches());
  body += cards(run, p, whole);
  if (standing != nullptr)
    body += fmt::format("<p class=\"run\">Calibration {}. Without it the step would be {}.</p>\n",
                        html_escaped(standing_words(*standing)),
                        human_seconds(Seconds(standing->uncalibrated_s)));
  body += "<h2>The step in time</h2>\n<p class=\"run\">" + gantt_legend(view) +
          (p.stages.size() > 1 ? "<br>The line is the critical path." : "") + "</p>\n<div class=\"wide\">" +
          gantt_svg(view) + "</div>\n";
  const std::string where =
      p.stages.size() > 1 ? fmt::format("Where the time goes: the busiest stage, {}", p.busiest_stage + 1)
                          : "Where the time goes";
  body += "<div class=\"two\">" + bars(where, shares_of(p.breakdown, kStepCauseNames, step), step) +
          bars("The critical path", shares_of(view.path.by_cause, kStepCauseNames, step), step) +
          bars("By operator, same stage", shares_of(p.operators, kOperatorKindNames, step), step) +
          "</div>\n";
  body +=
      "<p class=\"run\">On the critical path: " + html_escaped(join(path_names(view, 12), ", ")) + "</p>\n";
  StageCells cells = stage_cells(view, p);
  body += fmt::format("<h2>What each stage does ({})</h2>\n", unit_of(step).name) +
          table(std::move(cells.head), cells.rows);
  body += "<h2>Memory of a GPU by stage</h2>\n" + memory_svg(p);
  body += fmt::format(
              "<h2>Memory over the step: stage {}, which needs the most</h2>\n<p class=\"run\">Allocated as "
              "torch "
              "counts. The dashed line is what the GPU has.</p>\n",
              p.worst_stage + 1) +
          memory_track_svg(view, p, p.worst_stage);
  if (!p.would_fit.empty()) {
    body +=
        "<h2>What would fit</h2>\n<table><tr><th>change</th><th class=\"n\">step</th><th "
        "class=\"n\">needs</th></tr>\n";
    for (const FittingPlan& plan : p.would_fit)
      body += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                          html_escaped(changes(run.plan, plan.plan)), human_seconds(plan.score.step),
                          human_bytes(plan.score.needed));
    body += "</table>\n";
  }
  if (!p.assumed.empty()) {
    body += "<h2>Assumed</h2>\n";
    for (const std::string& line : p.assumed) body += "<p>" + html_escaped(line) + "</p>\n";
  }
  return html_page(run.model.name + " on " + run.cluster.name, std::string(kGanttStyle) + std::string(kStyle),
                   body);
}

}  // namespace foretrain
