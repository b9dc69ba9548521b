#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "formats/write_launch.h"
#include "job/launch_run.h"
#include "report/figure_text.h"
#include "report/search_curve.h"
#include "report/search_report.h"
#include "report/table.h"
#include "report/text_parts.h"
#include "report/training.h"
#include "spec/documents_text.h"
#include "spec/plan_text.h"

namespace foretrain {

double gpu_hours_per_billion(const RankedPlan& plan) {
  const double tokens = static_cast<double>(plan.run.global_batch) * static_cast<double>(plan.run.seq);
  return plan.scored.step * static_cast<double>(plan.scored.gpus) / 3600 * 1e9 / tokens;
}

std::optional<double> usd_per_billion(const RankedPlan& plan) {
  if (!plan.run.cluster.price_per_gpu_hour) return std::nullopt;
  return gpu_hours_per_billion(plan) * *plan.run.cluster.price_per_gpu_hour;
}

double percent_more(const SearchAnswer& a, const ScoredPlan& plan, const ScoredPlan& best) {
  return 100 * (key_of(a.options.objective, plan) / key_of(a.options.objective, best) - 1);
}

std::string variant_figures(const SearchAnswer& a, const ListFamily& family, const FamilyVariant& variant) {
  constexpr double kTold = 0.05;  // GiB
  const ScoredPlan& best = family.best.scored;
  std::string out = signed_text(percent_more(a, variant.scored, best), 1) + " %";
  const double more = (variant.scored.peak - best.peak) / gib(1).value;
  if (std::abs(more) >= kTold) out += fmt::format(", {:+.1f} GiB", more);
  return out;
}

bool some_plan_fits(const SearchAnswer& a) {
  return a.smallest && a.smallest->prediction.needed <= a.options.limits.memory;
}

namespace {

constexpr std::size_t kFrontShown = 12;

std::string gibs(double bytes) { return fmt::format("{:.1f}", bytes / gib(1).value); }

std::string count_of(std::uint64_t n) { return with_commas(static_cast<std::int64_t>(n)); }

std::string counts_text(const std::vector<std::int64_t>& gpus) {
  if (gpus.size() <= 6) return fmt::format("{}", fmt::join(gpus, ", "));
  return fmt::format("{} to {} ({} counts)", gpus.front(), gpus.back(), gpus.size());
}

std::string words_text(const std::vector<std::string>& words) {
  if (words.size() <= 6) return join(words, ", ");
  return fmt::format("{} to {} ({})", words.front(), words.back(), words.size());
}

// "64 x 8192 tokens", or of several searches what each has one of.
std::string batch_text(const SearchAnswer& a, const BatchPoints* over) {
  if (over == nullptr) return fmt::format("{} x {} tokens", a.problem.global_batch, a.problem.seq);
  return fmt::format("batches of {} x {} tokens", words_text(over->batches), words_text(over->seqs));
}

std::ptrdiff_t searches(const BatchPoints& over) {
  return std::count_if(over.points.begin(), over.points.end(),
                       [](const BatchPoint& point) { return point.refused.empty(); });
}

}  // namespace

std::string search_head_text(const SearchAnswer& a, const BatchPoints* over) {
  const Problem& p = a.problem;
  const SearchCounts& c = a.result.counts;
  std::string out = fmt::format(
      "{} ({} parameters) on {}: {} x {}, stack {}, profile {}\n", printable(p.model.name),
      human_count(static_cast<double>(parameters(p.model))), printable(p.cluster.name), counts_text(p.gpus),
      printable(p.cluster.gpu.name), printable(p.stack.name), printable(a.profile));
  const std::string documents =
      p.documents.stated() ? fmt::format(" in documents of {}", to_text(p.documents)) : "";
  out += fmt::format("{}{} a step; {}best by {}{}; up to {} a GPU\n", batch_text(a, over), documents,
                     over != nullptr ? "each searched by itself, " : "",
                     kObjectiveNames[static_cast<std::size_t>(a.options.objective)],
                     a.options.objective == Objective::kEnergy ? " (analytic: no meter was read)" : "",
                     human_bytes(a.options.limits.memory));
  if (const std::string given = to_text(p.given); !given.empty())
    out += fmt::format("every plan has {}{}\n", given,
                       p.given.lora > 0 ? ": adapters are trained, the model's own weights are frozen" : "");
  if (!a.constraints.empty()) out += fmt::format("under {}\n", join(a.constraints, ", "));
  for (const LeftOut& left : a.left_out)
    out += fmt::format("not searched: {} ({})\n", left.values, printable(left.reason));
  out += fmt::format("{}{} plans{}: {} evaluated, {} do not fit, {} cannot be better\n",
                     a.result.counted ? "" : "more than ", count_of(c.candidates),
                     over != nullptr ? fmt::format(" in {} searches", searches(*over)) : "",
                     count_of(c.evaluated), count_of(c.pruned_memory), count_of(c.pruned_bound));
  const std::uint64_t left = c.candidates - c.evaluated - c.pruned_memory - c.pruned_bound;
  if (!a.result.counted)
    out +=
        fmt::format("interrupted: more plans were not counted; {}\n",
                    a.best.empty() ? "no plan was found before" : "the best of some from all over the space");
  else if (a.result.interrupted)
    out += left > 0
               ? fmt::format("interrupted: {} plans were not looked at; {}\n", count_of(left),
                             a.best.empty()     ? "no plan was found before"
                             : c.evaluated == 0 ? "the best of plain ones from all over the space"
                                                : "the best of the others")
               : std::string("interrupted after the search: the questions beside it are not all answered\n");
  const bool open = left > 0 || !a.result.counted;
  if (const auto gap = a.gap(); gap && open)
    out += *gap > 0 ? fmt::format("no plan is better than the first by more than {:.1f} %\n", 100 * *gap)
                    : std::string("none of those is better than the first\n");
  else if (open && !a.best.empty() && over == nullptr)
    out += "how much better another plan can be is not known\n";
  return out;
}

namespace {

std::string interval(const Prediction& p) {
  const TimeUnit unit = unit_of(p.step.value);
  return fmt::format("{} to {} {}", unit.tell(Seconds(p.step.low())), unit.tell(Seconds(p.step.high())),
                     unit.name);
}

// What only some tables need.
struct Columns {
  bool gpus = false, price = false, energy = false, training = false;
};

Columns columns_of(const SearchAnswer& a) {
  return {a.problem.gpus.size() > 1, a.problem.cluster.price_per_gpu_hour.has_value(),
          a.options.objective == Objective::kEnergy, a.tokens.has_value()};
}

std::vector<std::string> head(const Columns& c) {
  std::vector<std::string> cells = {
      "", "step", "80 % interval", "memory", "fits", "MFU", c.price ? "USD/Btok" : "GPU-h/Btok"};
  if (c.training) cells.emplace_back("training");
  if (c.energy) cells.emplace_back("kJ a step");
  if (c.gpus) cells.emplace_back("GPUs");
  cells.emplace_back("plan");
  return cells;
}

std::vector<std::string> cells(const SearchAnswer& a, const Columns& c, const RankedPlan& plan,
                               std::string name) {
  const double hours = gpu_hours_per_billion(plan);
  std::vector<std::string> out = {
      std::move(name),
      human_seconds(Seconds(plan.scored.step)),
      interval(plan.prediction),
      human_bytes(Bytes(plan.scored.peak)),
      chance(plan.prediction.fit_probability),
      fmt::format("{:.1f} %", 100 * plan.prediction.mfu),
      fmt::format("{:.1f}", c.price ? hours * *a.problem.cluster.price_per_gpu_hour : hours)};
  if (c.training) out.push_back(human_seconds(training(plan.run, plan.prediction, *a.tokens).duration));
  if (c.energy) {
    const double kilojoules = plan.scored.joules / 1000;
    out.push_back(kilojoules < 10 ? fmt::format("{:.3g}", kilojoules) : fmt::format("{:.1f}", kilojoules));
  }
  if (c.gpus) out.push_back(fmt::format("{}", plan.scored.gpus));
  out.push_back(to_text(plan.run.plan));
  return out;
}

std::vector<Align> aligned(const Columns& c) {
  std::vector<Align> columns(head(c).size(), Align::kRight);
  columns.back() = Align::kLeft;
  return columns;
}

// What cannot be told from the first, and what would tell: of the last of them.
std::string ties_text(std::size_t rank, const Tie& tie) {
  return fmt::format(
             "  = cannot be told from 1: plan {} differs by {}, with an 80 % interval of {} either way\n",
             rank + 1, human_seconds(Seconds(std::abs(tie.difference.value))),
             human_seconds(tie.sigma * kZ80)) +
         fmt::format("    what would settle most between 1 and {}: {}\n", rank + 1, tie.settles);
}

// "run by megatron, nemo", of a plan that any framework may run.
std::string launched(const RankedPlan& plan) {
  if (!plan.launched_by) return "";
  return fmt::format("         run by {}\n", plan.launched_by->empty() ? "no framework that is described"
                                                                       : join(*plan.launched_by, ", "));
}

std::string flat_table(const SearchAnswer& a) {
  const Columns c = columns_of(a);
  Table table(aligned(c));
  table.add(head(c));
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    const bool tied =
        std::any_of(a.ties.begin(), a.ties.end(), [i](const TiedPlan& t) { return t.rank == i; });
    table.add(cells(a, c, a.best[i], fmt::format("{}{}", tied ? "= " : "", i + 1)));
  }
  const std::string rows = table.text();
  const std::vector<std::string_view> lines = split(rows, '\n');
  std::string out = fmt::format("\n{}\n", lines.front());
  for (std::size_t i = 0; i < a.best.size(); ++i)
    out += fmt::format("{}\n", lines[i + 1]) + launched(a.best[i]);
  return out + (a.ties.empty() ? "" : ties_text(a.ties.back().rank, a.ties.back().tie));
}

// What the other plans of a family change: "41 plans, the last +2.3 %: = sp=0 +0.6 %, +4.4 GiB; ...".
std::string folded(const SearchAnswer& a, const ListFamily& family) {
  if (family.plans < 2) return "";
  std::vector<std::string> parts;
  for (const FamilyVariant& v : family.variants)
    parts.push_back(fmt::format("{}{} {}", v.tie.tied ? "= " : "", v.change, variant_figures(a, family, v)));
  return fmt::format("         {} plans, the last {} %: {}\n", count_of(family.plans),
                     signed_text(percent_more(a, family.last, family.best.scored), 1), join(parts, "; "));
}

std::string family_table(const SearchAnswer& a) {
  const Columns c = columns_of(a);
  Table table(aligned(c));
  table.add(head(c));
  std::size_t last_tied = 0;
  for (std::size_t i = 0; i < a.families.size(); ++i) {
    const ListFamily& family = a.families[i];
    const bool tied = family.tie && family.tie->tied;
    if (tied) last_tied = i;
    table.add(cells(a, c, family.best, fmt::format("{}{}", tied ? "= " : "", i + 1)));
  }
  const std::string rows = table.text();
  const std::vector<std::string_view> lines = split(rows, '\n');
  std::string out = fmt::format("\n{}\n", lines.front());
  for (std::size_t i = 0; i < a.families.size(); ++i)
    out += fmt::format("{}\n", lines[i + 1]) + launched(a.families[i].best) + folded(a, a.families[i]);
  if (!a.list_note.empty()) out += fmt::format("  {}\n", a.list_note);
  return last_tied == 0 ? out : out + ties_text(last_tied, *a.families[last_tied].tie);
}

std::string limits(const SearchAnswer& a) {
  const RankedPlan& best = a.best.front();
  const Prediction& p = best.prediction;
  return fmt::format("\nwhat limits the best{}\n",
                     p.stages.size() > 1
                         ? fmt::format(" (its busiest stage, {} of {})", p.busiest_stage + 1, p.stages.size())
                         : "") +
         share_table(shares_of(p.breakdown, kStepCauseNames, p.step.value), p.step.value);
}

// The fastest of each GPU count; then, for the best plan's count, what less memory costs.
std::string front_tables(const SearchAnswer& a) {
  std::string out;
  if (const auto curve = search_curve(a)) out += "\nthe fastest by GPUs\n" + search_curve_text(*curve);
  std::vector<const RankedPlan*> front;
  for (const RankedPlan& plan : a.pareto)
    if (plan.scored.gpus == a.best.front().scored.gpus) front.push_back(&plan);
  const std::size_t all = front.size(), shown = std::min(all, kFrontShown);
  if (all < 2) return out;
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"step", "GiB", "GiB free", "plan"});
  for (std::size_t i = 0; i < shown; ++i) {
    const RankedPlan& plan = *front[i * (all - 1) / (shown - 1)];  // the ends among them
    table.add({human_seconds(Seconds(plan.scored.step)), gibs(plan.scored.peak),
               gibs(a.problem.cluster.gpu.usable.value - plan.scored.peak), to_text(plan.run.plan)});
  }
  return out +
         fmt::format("\nPareto front: less memory costs time{} ({}{} plans)\n",
                     a.problem.gpus.size() > 1 ? fmt::format(", on {} GPUs", front.front()->scored.gpus) : "",
                     all > shown ? fmt::format("{} of ", shown) : "", all) +
         table.text();
}

std::string near_table(const SearchAnswer& a, const std::vector<NearPlan>& near, std::string_view title) {
  if (near.empty()) return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const NearPlan& n : near)
    table.add({n.change, human_seconds(Seconds(n.plan.scored.step)), human_bytes(Bytes(n.plan.scored.peak)),
               (n.plan.run.gpus != a.problem.gpus.back() ? fmt::format("{} GPUs: ", n.plan.run.gpus) : "") +
                   to_text(n.plan.run.plan)});
  return fmt::format("{}\n", title) + table.text();
}

std::string nothing(const SearchAnswer& a) {
  if (a.result.counts.candidates == 0)
    return "\nthere is no legal plan: no choice of tp, pp, cp, dp, ep and micro_batch divides GPUs, model "
           "and "
           "batch" +
           std::string(a.constraints.empty() ? "\n" : ", or the constraints leave none\n");
  std::string out = "\nno plan ";
  const bool fits = some_plan_fits(a);
  out += fits ? "meets the deadline or the budget" : "fits";
  if (a.smallest && !fits)
    out += fmt::format(": the smallest needs {} on its worst GPU, {} may be used\n  {}\n",
                       human_bytes(a.smallest->prediction.needed), human_bytes(a.options.limits.memory),
                       to_text(a.smallest->run.plan));
  else
    out += "\n";
  if (a.would_fit.empty()) return out + "no single change that was tried makes one fit\n";
  return out + near_table(a, a.would_fit, "what would do");
}

std::string difference_table(const Prediction& best, const Prediction& other) {
  const TimeUnit unit = unit_of(std::max(best.step.value, other.step.value));
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"", "best", "asked", fmt::format("more ({})", unit.name)});
  const auto add = [&](std::string_view name, Seconds a, Seconds b) {
    const Seconds more = b - a;
    table.add({std::string(name), unit.tell(a), unit.tell(b), unit.tell_change(more)});
  };
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < kStepCauseCount; ++c)
    if (std::max(best.breakdown[c], other.breakdown[c]).value > 1e-4 * best.step.value) order.push_back(c);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs((other.breakdown[a] - best.breakdown[a]).value) >
           std::abs((other.breakdown[b] - best.breakdown[b]).value);
  });
  for (const std::size_t c : order) add(kStepCauseNames[c], best.breakdown[c], other.breakdown[c]);
  add("step", Seconds(best.step.value), Seconds(other.step.value));
  return table.text();
}

std::string why_text(const SearchAnswer& a, const Why& why) {
  std::string out = fmt::format("\nwhy not {}\n", printable(why.asked));
  if (!why.rejected.empty()) out += fmt::format("  rejected: {}\n", printable(why.rejected));
  if (why.plan) {
    out += fmt::format("  {} {}: {}, {}\n", why.rejected.empty() ? "at its best" : "its smallest or best",
                       to_text(why.plan->run.plan), human_seconds(Seconds(why.plan->scored.step)),
                       human_bytes(Bytes(why.plan->scored.peak)));
  }
  if (why.rejected.empty() && why.plan) {
    if (why.better == 0)
      out += "  it is the best\n";
    else
      out += fmt::format("  {}{} plans are better by {}{}\n", why.beyond ? "more than " : "",
                         count_of(why.better), kObjectiveNames[static_cast<std::size_t>(a.options.objective)],
                         why.tie && why.tie->tied ? ", but it cannot be told from the best" : "");
  }
  if (why.plan && !a.best.empty() && why.better > 0)
    out += difference_table(a.best.front().prediction, why.plan->prediction);
  if (!why.near.empty()) out += near_table(a, why.near, "  nearest plans that are not rejected");
  return out;
}

std::string what_if_text(const SearchAnswer& a, const WhatIfAnswer& what) {
  std::string out = fmt::format("\nwhat if {}\n", printable(what.text));
  if (!what.best) return out + fmt::format("  {}\n", what.refused);
  out += fmt::format(
      "  {} (80 % interval {}), {}, MFU {:.1f} %{}: {}\n", human_seconds(Seconds(what.best->scored.step)),
      interval(what.best->prediction), human_bytes(Bytes(what.best->scored.peak)),
      100 * what.best->prediction.mfu,
      what.best->run.gpus != a.problem.gpus.back() ? fmt::format(", {} GPUs", what.best->run.gpus) : "",
      to_text(what.best->run.plan));
  if (a.best.empty()) return out;
  if (!what.changes)
    return out + "  nothing changes: neither the best plan nor its step, memory or price hang on it\n";
  const double now =
      a.best.front().prediction.tokens_per_s_per_gpu * static_cast<double>(a.best.front().run.gpus);
  const double then = what.best->prediction.tokens_per_s_per_gpu * static_cast<double>(what.best->run.gpus);
  if (what.best->run.cluster.price_per_gpu_hour != a.problem.cluster.price_per_gpu_hour)
    return out + fmt::format("  {:.1f} USD/Btok{}\n", usd_per_billion(*what.best).value_or(0),
                             a.problem.cluster.price_per_gpu_hour
                                 ? fmt::format(" instead of {:.1f}", *usd_per_billion(a.best.front()))
                                 : "");
  return out + fmt::format("  {:.2f} times as many tokens a second\n", then / now);
}

std::string flags_text(const RankedPlan& best) {
  const PlanFlags flags = megatron_plan_flags(launch_run_of(best.run));
  std::string out = "\nMegatron-LM flags of the best\n";
  std::string line = " ";
  for (const std::string& flag : flags.flags) {
    if (line.size() + flag.size() > 96) {
      out += line + " \\\n";
      line = " ";
    }
    line += " " + flag;
  }
  out += line + "\n";
  for (const Unstated& left : flags.unstated)
    out += fmt::format("  not stated: {}\n", in_words(left, "Megatron-LM"));
  return out;
}

}  // namespace

std::string search_text(const SearchAnswer& a, SearchList list) {
  std::string out = search_head_text(a);
  if (a.best.empty() && !a.result.interrupted) out += nothing(a);
  if (!a.best.empty()) {
    out += (list == SearchList::kAll ? flat_table(a) : family_table(a)) + limits(a) + front_tables(a);
    out += flags_text(a.best.front());
  }
  for (const Why& why : a.whys) out += why_text(a, why);
  for (const WhatIfAnswer& what : a.what_ifs) out += what_if_text(a, what);
  if (!a.assumed.empty()) out += "\nassumed\n";
  for (const std::string& line : a.assumed) out += "  " + printable(line) + "\n";
  return out;
}

}  // namespace foretrain
