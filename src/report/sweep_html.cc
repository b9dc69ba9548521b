#include <fmt/format.h>

#include "base/text.h"
#include "report/html.h"
#include "report/search_report.h"
#include "report/sweep_report.h"
#include "report/text_parts.h"

namespace foretrain {
namespace {

constexpr std::string_view kStyle = R"(
.plan { font-family: ui-monospace, monospace; font-size: 0.8rem; white-space: normal; min-width: 18rem; } td { vertical-align: top; }
td.why { white-space: normal; min-width: 9rem; }
)";

std::string row(const SweepAnswer& a, const SweepRow& r, bool stopped, double most) {
  const BatchPoint& at = a.points[r.point].at;
  std::string out =
      fmt::format("<tr><td class=\"n\">{}</td><td class=\"n\">{}</td>", at.seq,
                  at.global_batch > 0 ? fmt::format("{}", at.global_batch)
                                      : html_escaped(a.over.batches[r.point % a.over.batches.size()]));
  if (!r.refused.empty())
    return out + fmt::format("<td class=\"reason\" colspan=\"{}\">{}</td></tr>\n", stopped ? 11 : 10,
                             html_escaped(r.refused));
  const OverFigures& f = r.figures;
  out += fmt::format(
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td><td class=\"n\">{:.1f} %</td><td class=\"n\">{}</td><td class=\"n\">{:.0f} %</td>",
      f.gpus, human_seconds(Seconds(f.step.value)), human_seconds(Seconds(f.step.low())),
      human_seconds(Seconds(f.step.high())), human_bytes(f.needed), html_escaped(chance(f.fit_probability)),
      100 * f.mfu, human_count(f.tokens_per_s_per_gpu), 100 * f.tokens_per_s_per_gpu / most);
  if (stopped)
    out += fmt::format("<td class=\"n\">{}</td>", r.gap ? fmt::format("{:.1f} %", 100 * *r.gap) : "");
  return out + fmt::format("<td class=\"why\">{}</td><td class=\"plan\">{}</td></tr>\n",
                           html_escaped(causes_text(f)), html_plan(f.plan));
}

std::string table(const SweepAnswer& a) {
  const std::vector<SweepRow> rows = sweep_rows(a);
  bool stopped = false;
  for (const SweepRow& r : rows) stopped = stopped || r.gap;
  std::string out =
      "<div class=\"wide\"><table><tr><th class=\"n\">seq</th><th class=\"n\">batch</th><th "
      "class=\"n\">GPUs</th><th class=\"n\">step</th><th class=\"n\">80 % interval</th><th "
      "class=\"n\">memory</th><th class=\"n\">fits</th><th class=\"n\">MFU</th><th "
      "class=\"n\">tokens/s/GPU</th><th class=\"n\">of the most</th>" +
      std::string(stopped ? "<th class=\"n\">gap</th>" : "") + "<th>most of it</th><th>plan</th></tr>\n";
  std::string others;
  for (const SweepRow& r : rows) {
    out += row(a, r, stopped, a.best_per_gpu());
    if (!r.unlike.empty())
      others += fmt::format("<p>seq {}, batch {}: {}</p>\n", a.points[r.point].at.seq,
                            a.points[r.point].at.global_batch, html_escaped(r.unlike));
  }
  out += "</table></div>\n" + others;
  if (stopped) out += "<p>gap: no plan of that batch and length is better than the one told by more.</p>\n";
  return out;
}

std::string pictures(const SweepAnswer& a) {
  const OverAnswer curve = sweep_curve(a);
  if (a.best_per_gpu() <= 0) return "";
  if (curve.axes.size() == 2)
    return "<h2>Tokens a second and GPU</h2>\n<p class=\"run\">The best plan of each point: the more colour, "
           "the more "
           "tokens a second and GPU; hover for the rest.</p>\n" +
           over_heat(curve);
  return "<h2>Tokens a second and GPU</h2>\n<p class=\"run\">The best plan of each point; the band is the 80 "
         "% "
         "interval, a cross has no plan; hover for the rest.</p>\n" +
         over_pictures(curve, CurveOf::kRate);
}

}  // namespace

std::string sweep_html(const SweepAnswer& a) {
  SearchAnswer common = a.any();
  common.left_out = a.left_out;
  common.result.counts = a.counts;
  common.result.interrupted = a.interrupted;
  common.result.counted = a.counted;
  common.result.open = std::nullopt;
  std::string body = html_lines(search_head_text(common, &a.over)) + pictures(a);
  body +=
      "<h2>The best of each batch and length</h2>\n<p class=\"run\">Steps of different batches and lengths "
      "are different "
      "amounts of work: hold tokens a second and GPU against each other.</p>\n" +
      table(a);
  if (!a.assumed.empty()) body += "<h2>Assumed</h2>\n";
  for (const std::string& line : a.assumed) body += "<p>" + html_escaped(line) + "</p>\n";
  return html_page(fmt::format("{} on {}: the best plans by batch and length", common.problem.model.name,
                               common.problem.cluster.name),
                   std::string(kOverStyle) + std::string(kStyle), body);
}

}  // namespace foretrain
