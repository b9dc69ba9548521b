#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "formats/write_launch.h"
#include "job/launch_run.h"
#include "report/figure_text.h"
#include "report/html.h"
#include "report/search_curve.h"
#include "report/search_report.h"
#include "report/text_parts.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr std::string_view kStyle = R"(
p.run { max-width: none; } .grid { stroke: var(--line); } .dots { stroke: var(--soft); stroke-width: 3; stroke-linecap: round; fill: none; opacity: 0.35; }
.kept { stroke: var(--dot); stroke-width: 4; stroke-linecap: round; fill: none; opacity: 0.6; }
.front { stroke: var(--mark); stroke-width: 1.5; fill: none; } .corner { fill: var(--mark); } .best { fill: none; stroke: var(--mark); stroke-width: 2; }
.limit { stroke: var(--mark); stroke-dasharray: 5 4; } .plan { font-family: ui-monospace, monospace; font-size: 0.8rem; white-space: normal; min-width: 22rem; }
details summary { cursor: pointer; color: var(--soft); font-family: system-ui, sans-serif; } td details td { border: 0; padding: 0 0.75rem 0 0; } td { vertical-align: top; }
pre { font-size: 0.8rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; padding: 0.75rem 1rem; }
)";

constexpr double kWidth = 1180, kHeight = 520, kLeft = 76, kRight = 24, kTop = 16, kBottom = 52;

// Round steps of an axis: 1, 2 or 5 times a power of ten, about `count` of them.
double tick_step(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

struct Axes {
  double x_low, x_high, y_low, y_high;
  double x(double v) const {
    return kLeft + (kWidth - kLeft - kRight) * std::clamp((v - x_low) / (x_high - x_low), 0.0, 1.0);
  }
  double y(double v) const {
    return kTop + (kHeight - kTop - kBottom) * (1 - std::clamp((v - y_low) / (y_high - y_low), 0.0, 1.0));
  }
};

double in_gib(double bytes) { return bytes / gib(1).value; }

std::string dots(const Axes& axes, std::span<const ScoredPlan> plans, std::string_view style) {
  std::string path;
  for (const ScoredPlan& p : plans)
    if (p.step <= axes.x_high)
      path += fmt::format("M{:.1f} {:.1f}h0", axes.x(p.step), axes.y(in_gib(p.peak)));
  return fmt::format("<path class=\"{}\" d=\"{}\"/>", style, path);
}

// Of several GPU counts a line each.
std::string front_lines(const Axes& axes, const std::vector<RankedPlan>& front) {
  std::string out, path;
  std::int64_t gpus = 0;
  double y = 0;
  const auto end = [&] {
    if (!path.empty()) out += "<path class=\"front\" d=\"" + path + "\"/>";
    path.clear();
  };
  std::string corners;
  for (const RankedPlan& plan : front) {
    if (plan.scored.step > axes.x_high) continue;
    const double x = axes.x(plan.scored.step);
    if (plan.scored.gpus != gpus) {
      end();
      if (front.front().scored.gpus != front.back().scored.gpus)
        corners += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{} GPUs</text>", x + 8,
                               axes.y(in_gib(plan.scored.peak)) - 6, plan.scored.gpus);
    }
    if (!path.empty()) path += fmt::format("L{:.1f} {:.1f}", x, y);
    y = axes.y(in_gib(plan.scored.peak));
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    gpus = plan.scored.gpus;
    corners += fmt::format(
        "<circle class=\"corner\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}, {}{}: {}</title></circle>",
        x, y, human_seconds(Seconds(plan.scored.step)), human_bytes(Bytes(plan.scored.peak)),
        fmt::format(", {} GPUs", gpus), html_escaped(to_text(plan.run.plan)));
  }
  end();
  return out + corners;
}

std::string scatter(const SearchAnswer& a, std::span<const ScoredPlan> others) {
  // Plans many times slower than the best would press the others into a corner.
  double low = HUGE_VAL, high = 0, top = in_gib(a.options.limits.memory.value);
  for (const ScoredPlan& p : a.result.best) low = std::min(low, p.step), high = std::max(high, p.step);
  for (const ScoredPlan& p : a.result.pareto)
    low = std::min(low, p.step), high = std::max(high, std::min(p.step, 3 * low));
  double bottom = top;
  for (const ScoredPlan& p : a.result.best) bottom = std::min(bottom, in_gib(p.peak));
  for (const RankedPlan& p : a.pareto)
    if (p.scored.step <= high) bottom = std::min(bottom, in_gib(p.scored.peak));
  const double margin = std::max(0.04 * (high - low), 1e-3 * high);
  const Axes axes{low - margin, high + margin, std::max(0.0, bottom - 0.05 * (top - bottom) - 1e-3 * top),
                  top * 1.02};
  std::string out;
  const TimeUnit unit = unit_of(high);
  const double dx = tick_step(axes.x_low / unit.size, axes.x_high / unit.size, 10);
  for (double v = std::ceil(axes.x_low / unit.size / dx) * dx; v <= axes.x_high / unit.size; v += dx)
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/><text text-anchor=\"middle\" x=\"{0:.1f}\" "
        "y=\"{3}\">{4:g}</text>",
        axes.x(v * unit.size), kTop, kHeight - kBottom, kHeight - kBottom + 16, v);
  const double dy = tick_step(axes.y_low, axes.y_high, 8);
  for (double v = std::ceil(axes.y_low / dy) * dy; v <= axes.y_high; v += dy)
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text text-anchor=\"end\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5:g}</text>",
        kLeft, axes.y(v), kWidth - kRight, kLeft - 6, axes.y(v) + 4, v);
  out += fmt::format("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">step ({})</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 12, unit.name);
  out += fmt::format(
      "<text text-anchor=\"middle\" transform=\"translate(16 {:.1f}) rotate(-90)\">memory of the worst GPU "
      "(GiB)</text>",
      (kTop + kHeight - kBottom) / 2);
  out += fmt::format("<path class=\"limit\" d=\"M{} {:.1f}H{}\"/>", kLeft, axes.y(top), kWidth - kRight);
  out += dots(axes, others, "dots") + dots(axes, a.result.best, "kept") + front_lines(axes, a.pareto);
  const ScoredPlan& best = a.result.best.front();
  out += fmt::format("<circle class=\"best\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\"/>", axes.x(best.step),
                     axes.y(in_gib(best.peak)));
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>plans by step and "
      "memory, "
      "with the Pareto front</title>{2}</svg>\n",
      kWidth, kHeight, out);
}

std::string head(bool ranks) {
  return std::string("<div class=\"wide\"><table><tr>") + (ranks ? "<th></th>" : "") +
         "<th class=\"n\">step</th><th class=\"n\">80 % interval</th><th class=\"n\">memory</th><th "
         "class=\"n\">fits</th><th class=\"n\">MFU</th><th class=\"n\">GPU-h / 10<sup>9</sup> tokens</th>"
         "<th class=\"n\">GPUs</th><th>plan</th></tr>\n";
}

// `below` goes under the plan.
std::string row(const RankedPlan& plan, std::string_view rank, std::string_view below = "") {
  return fmt::format(
      "<tr>{}<td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td><td class=\"n\">{:.1f} %</td><td class=\"n\">{:.1f}</td><td class=\"n\">{}</td>"
      "<td class=\"plan\">{}{}</td></tr>\n",
      rank, human_seconds(Seconds(plan.scored.step)), human_seconds(Seconds(plan.prediction.step.low())),
      human_seconds(Seconds(plan.prediction.step.high())), human_bytes(Bytes(plan.scored.peak)),
      html_escaped(chance(plan.prediction.fit_probability)), 100 * plan.prediction.mfu,
      gpu_hours_per_billion(plan), plan.scored.gpus, html_plan(to_text(plan.run.plan)), below);
}

std::string launched(const RankedPlan& plan) {
  if (!plan.launched_by) return "";
  return fmt::format("<br><small>run by {}</small>", plan.launched_by->empty()
                                                         ? "no framework that is described"
                                                         : html_escaped(join(*plan.launched_by, ", ")));
}

std::string rank_cell(std::size_t i, bool tied) {
  return fmt::format("<td class=\"n\">{}{}</td>", tied ? "= " : "", i + 1);
}

std::string flat_table(const SearchAnswer& a) {
  std::string out = head(true);
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    const bool tied =
        std::any_of(a.ties.begin(), a.ties.end(), [i](const TiedPlan& t) { return t.rank == i; });
    out += row(a.best[i], rank_cell(i, tied), launched(a.best[i]));
  }
  out += "</table></div>\n";
  if (a.ties.empty()) return out;
  return out + fmt::format("<p>= cannot be told from the first; what would settle most: {}.</p>\n",
                           html_escaped(a.ties.back().tie.settles));
}

// What a family's other plans change, to be opened.
std::string folded(const SearchAnswer& a, const ListFamily& family) {
  if (family.plans < 2) return "";
  std::string out = fmt::format("<details><summary>{} plans, the last {} %</summary><table>", family.plans,
                                signed_text(percent_more(a, family.last, family.best.scored), 1));
  for (const FamilyVariant& v : family.variants)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", v.tie.tied ? "=" : "",
                       html_escaped(v.change), html_escaped(variant_figures(a, family, v)));
  return out + "</table></details>";
}

std::string family_table(const SearchAnswer& a) {
  std::string out = head(true), settles;
  for (std::size_t i = 0; i < a.families.size(); ++i) {
    const ListFamily& family = a.families[i];
    const bool tied = family.tie && family.tie->tied;
    if (tied) settles = family.tie->settles;
    out += row(family.best, rank_cell(i, tied), launched(family.best) + folded(a, family));
  }
  out += "</table></div>\n";
  if (!a.list_note.empty()) out += "<p>" + html_escaped(a.list_note) + "</p>\n";
  if (!settles.empty())
    out += fmt::format(
        "<p>= cannot be told from the first (of its own family, where it is folded); what would settle "
        "most: {}.</p>\n",
        html_escaped(settles));
  return out;
}

// A long one is to be opened.
std::string front_table(const SearchAnswer& a) {
  constexpr std::size_t kFew = 12;
  std::string out = head(false);
  for (const RankedPlan& plan : a.pareto) out += row(plan, "");
  out += "</table></div>\n";
  if (a.pareto.size() <= kFew) return out;
  return fmt::format(
             "<details><summary>{} plans, each with less memory or fewer GPUs than all that are as "
             "fast</summary>\n",
             a.pareto.size()) +
         out + "</details>\n";
}

// What takes the best plan's time.
std::string limits(const Prediction& p) {
  const TimeUnit unit = unit_of(p.step.value);
  std::string out = fmt::format(
      "<h2>What limits the best{}</h2>\n<table><tr><th></th><th class=\"n\">{}</th><th class=\"n\">of the "
      "step</th></tr>\n",
      p.stages.size() > 1
          ? fmt::format(" (its busiest stage, {} of {})", p.busiest_stage + 1, p.stages.size())
          : "",
      unit.name);
  for (const Share& share : shares_of(p.breakdown, kStepCauseNames, p.step.value))
    out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f} %</td></tr>\n",
                       html_escaped(share.name), unit.tell(share.seconds),
                       percent(share.seconds.value, p.step.value));
  return out + "</table>\n";
}

// Where the seconds of a plan that was asked for go, beside the best's.
std::string difference(const Prediction& best, const Prediction& asked) {
  const TimeUnit unit = unit_of(std::max(best.step.value, asked.step.value));
  std::string out = fmt::format(
      "<table><tr><th></th><th class=\"n\">best</th><th class=\"n\">asked</th><th class=\"n\">more "
      "({})</th></tr>\n",
      unit.name);
  const auto add = [&](std::string_view name, Seconds a, Seconds b) {
    const Seconds more = b - a;
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", name,
        unit.tell(a), unit.tell(b), unit.tell_change(more));
  };
  for (std::size_t c = 0; c < kStepCauseCount; ++c)
    if (std::max(best.breakdown[c], asked.breakdown[c]).value > 1e-4 * best.step.value)
      add(kStepCauseNames[c], best.breakdown[c], asked.breakdown[c]);
  add("step", Seconds(best.step.value), Seconds(asked.step.value));
  return out + "</table>\n";
}

std::string near_list(const std::vector<NearPlan>& near) {
  std::string out;
  for (const NearPlan& n : near)
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"plan\">{}</td></tr>\n",
        html_escaped(n.change), human_seconds(Seconds(n.plan.scored.step)),
        human_bytes(Bytes(n.plan.scored.peak)), html_plan(to_text(n.plan.run.plan)));
  return out.empty() ? out : "<div class=\"wide\"><table>" + out + "</table></div>\n";
}

std::string why_section(const SearchAnswer& a, const Why& why) {
  std::string out = fmt::format("<h2>Why not {}</h2>\n", html_escaped(why.asked));
  if (!why.rejected.empty()) out += "<p>Rejected: " + html_escaped(why.rejected) + "</p>\n";
  if (why.plan)
    out += fmt::format("<p class=\"run\">{}: {}, {}, <span class=\"plan\">{}</span></p>\n",
                       why.rejected.empty() ? "At its best" : "Its smallest or best",
                       human_seconds(Seconds(why.plan->scored.step)),
                       human_bytes(Bytes(why.plan->scored.peak)), html_plan(to_text(why.plan->run.plan)));
  if (why.plan && why.rejected.empty())
    out += why.better == 0
               ? std::string("<p>It is the best.</p>\n")
               : fmt::format("<p>{}{} plans are better{}.</p>\n", why.beyond ? "More than " : "",
                             with_commas(static_cast<std::int64_t>(why.better)),
                             why.tie && why.tie->tied ? ", but it cannot be told from the best" : "");
  if (why.plan && !a.best.empty() && why.better > 0)
    out += difference(a.best.front().prediction, why.plan->prediction);
  if (!why.near.empty()) out += "<p>The nearest plans that are not rejected:</p>\n" + near_list(why.near);
  return out;
}

std::string what_if_table(const SearchAnswer& a) {
  std::string out =
      "<h2>What if</h2>\n<div class=\"wide\"><table><tr><th></th><th class=\"n\">step</th><th class=\"n\">80 "
      "% "
      "interval</th><th class=\"n\">memory</th><th class=\"n\">MFU</th><th class=\"n\">tokens/s</th><th "
      "class=\"n\">USD / 10<sup>9</sup> tokens</th><th>best plan</th></tr>\n";
  const auto add = [&](std::string_view name, const RankedPlan& plan) {
    const auto usd = usd_per_billion(plan);
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{:.1f} %</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"plan\">{}</td></tr>\n",
        html_escaped(name), human_seconds(Seconds(plan.scored.step)),
        human_seconds(Seconds(plan.prediction.step.low())),
        human_seconds(Seconds(plan.prediction.step.high())), human_bytes(Bytes(plan.scored.peak)),
        100 * plan.prediction.mfu,
        human_count(plan.prediction.tokens_per_s_per_gpu * static_cast<double>(plan.run.gpus)),
        usd ? fmt::format("{:.1f}", *usd) : "", html_plan(to_text(plan.run.plan)));
  };
  if (!a.best.empty()) add("as it is", a.best.front());
  for (const WhatIfAnswer& what : a.what_ifs) {
    if (what.best)
      add(what.changes ? what.text : what.text + " (changes nothing)", *what.best);
    else
      out += fmt::format("<tr><td>{}</td><td colspan=\"7\">{}</td></tr>\n", html_escaped(what.text),
                         html_escaped(what.refused));
  }
  return out + "</table></div>\n";
}

// The fastest plan of each GPU count, and what more GPUs make of it.
std::string curve_section(const OverAnswer& curve) {
  std::string out =
      "<h2>The fastest by GPUs</h2>\n<div class=\"wide\"><table><tr><th class=\"n\">GPUs</th><th "
      "class=\"n\">step</th><th class=\"n\">80 % interval</th><th class=\"n\">tokens/s</th><th class=\"n\">a "
      "GPU</th><th class=\"n\">memory</th><th>most of it</th><th>plan</th></tr>\n";
  const double best = best_per_gpu(curve);
  const OverAnswer running = only_running(curve);
  for (const OverPoint& point : running.points) {
    const OverFigures& f = point.figures;
    out += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{:.0f} "
        "%</td><td class=\"n\">{}</td><td>{}</td><td class=\"plan\">{}</td></tr>\n",
        f.gpus, human_seconds(Seconds(f.step.value)), human_seconds(Seconds(f.step.low())),
        human_seconds(Seconds(f.step.high())),
        human_count(f.tokens_per_s_per_gpu * static_cast<double>(f.gpus)),
        100 * f.tokens_per_s_per_gpu / best, human_bytes(f.needed), html_escaped(causes_text(f)),
        html_plan(f.plan));
  }
  out += "</table></div>\n";
  if (const std::string others = others_text(curve); !others.empty())
    out += "<p>" + html_escaped(others) + "</p>\n";
  return out + over_pictures(running);
}

std::string nothing(const SearchAnswer& a) {
  if (a.result.interrupted) return "No plan was found before the search was interrupted.";
  if (a.result.counts.candidates == 0) return "There is no legal plan.";
  return some_plan_fits(a) ? "No plan meets the deadline or the budget." : "No plan fits.";
}

}  // namespace

std::string search_html(const SearchAnswer& a, std::span<const ScoredPlan> others, SearchList list) {
  const Problem& p = a.problem;
  std::string body = html_lines(search_head_text(a));
  if (a.best.empty()) {
    body += "<p>" + nothing(a) + "</p>\n";
  } else {
    body +=
        "<h2>Plans by time and memory</h2>\n<p class=\"run\">Each dot is a plan that was evaluated, in "
        "colour the best "
        "thousand; the line is the Pareto front (hover for its plans), the circle the best plan, the dashed "
        "line the "
        "limit.</p>\n" +
        scatter(a, others);
    body += "<h2>The best plans</h2>\n" + (list == SearchList::kAll ? flat_table(a) : family_table(a));
    body += limits(a.best.front().prediction);
    if (const auto curve = search_curve(a)) body += curve_section(*curve);
  }
  if (a.best.empty() && !a.would_fit.empty()) body += "<h2>What would do</h2>\n" + near_list(a.would_fit);
  for (const Why& why : a.whys) body += why_section(a, why);
  if (!a.what_ifs.empty()) body += what_if_table(a);
  if (!a.best.empty()) {
    body += "<h2>The Pareto front</h2>\n" + front_table(a);
    const PlanFlags flags = megatron_plan_flags(launch_run_of(a.best.front().run));
    body +=
        "<h2>Megatron-LM flags of the best</h2>\n<pre>" + html_escaped(join(flags.flags, " ")) + "</pre>\n";
    for (const Unstated& left : flags.unstated)
      body += "<p>Not stated: " + html_escaped(in_words(left, "Megatron-LM")) + "</p>\n";
  }
  if (!a.assumed.empty()) body += "<h2>Assumed</h2>\n";
  for (const std::string& line : a.assumed) body += "<p>" + html_escaped(line) + "</p>\n";
  return html_page(fmt::format("{} on {}: the best plans", p.model.name, p.cluster.name),
                   std::string(kOverStyle) + std::string(kStyle), body);
}

}  // namespace foretrain
