#include "report/compare_report.h"
#include "predict/uncertainty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/calibration_report.h"
#include "report/table.h"
#include "report/text_parts.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

using Runs = std::span<const PredictedRun>;

std::string letter(std::size_t i) { return std::string(1, static_cast<char>('A' + i)); }

double tokens_of(const Run& run) { return static_cast<double>(run.global_batch * run.seq); }
double tokens_per_s(const PredictedRun& r) { return tokens_of(r.run) / r.prediction.step.value; }

std::string subject(const PredictedRun& r) {
  return fmt::format("{} ({} parameters) on {}: {} x {}, stack {}, profile {}", printable(r.run.model.name),
                     human_count(static_cast<double>(r.prediction.params)), printable(r.run.cluster.name),
                     r.run.gpus, printable(r.run.cluster.gpu.name), printable(r.run.stack.name),
                     printable(r.run.profile));
}
std::string batch(const PredictedRun& r) {
  return fmt::format("{} x {} tokens a step", r.run.global_batch, r.run.seq);
}

template <class Tell>
bool all_alike(Runs runs, Tell tell) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const PredictedRun& r) { return tell(r) == tell(runs.front()); });
}

// What all share first, then a line a run.
std::string header(Runs runs) {
  const bool one_subject = all_alike(runs, subject), one_batch = all_alike(runs, batch);
  std::string out;
  if (one_subject) out += subject(runs.front()) + "\n";
  if (one_batch) out += batch(runs.front()) + "\n";
  std::vector<Align> columns(3, Align::kLeft);
  columns.resize(columns.size() + !one_subject + !one_batch, Align::kLeft);
  Table table(columns);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> cells = {letter(i), printable(runs[i].name)};
    if (!one_subject) cells.push_back(subject(runs[i]));
    if (!one_batch) cells.push_back(batch(runs[i]));
    cells.push_back(to_text(runs[i].run.plan));
    table.add(std::move(cells));
  }
  return out + table.text();
}

std::string summary(Runs runs) {
  std::vector<Align> columns(runs.size() + 1, Align::kLeft);
  Table table(columns);
  const auto add = [&](std::string name, auto tell) {
    std::vector<std::string> row = {std::move(name)};
    for (const PredictedRun& r : runs) row.push_back(tell(r));
    table.add(std::move(row));
  };
  std::vector<std::string> head = {""};
  for (std::size_t i = 0; i < runs.size(); ++i) head.push_back(letter(i));
  table.add(std::move(head));
  add("step", [](const PredictedRun& r) { return human_seconds(Seconds(r.prediction.step.value)); });
  add("80 % interval", [](const PredictedRun& r) {
    return fmt::format("{} to {}", human_seconds(Seconds(r.prediction.step.low())),
                       human_seconds(Seconds(r.prediction.step.high())));
  });
  if (std::any_of(runs.begin(), runs.end(), [](const PredictedRun& r) { return r.prediction.jitter; }))
    add("typical step", [](const PredictedRun& r) { return human_seconds(r.prediction.typical); });
  add("tokens/s", [](const PredictedRun& r) { return human_count(tokens_per_s(r)); });
  add("tokens/s/GPU", [](const PredictedRun& r) { return human_count(r.prediction.tokens_per_s_per_gpu); });
  add("MFU", [](const PredictedRun& r) { return fmt::format("{:.1f} %", 100 * r.prediction.mfu); });
  add("bubble",
      [](const PredictedRun& r) { return fmt::format("{:.1f} %", 100 * bubble_fraction(r.prediction)); });
  add("memory", [](const PredictedRun& r) {
    return fmt::format("{} of {}", human_bytes(r.prediction.peak), human_bytes(r.prediction.usable));
  });
  add("fits", [](const PredictedRun& r) {
    const Prediction& p = r.prediction;
    if (verdict_of(p.fit_probability) == Verdict::kMayNotFit)
      return fmt::format("perhaps ({:.0f} %)", 100 * p.fit_probability);
    return fmt::format("{} ({})", p.fits ? "yes" : "no",
                       sure(p.fits ? p.fit_probability : 1 - p.fit_probability));
  });
  if (runs.front().whole) {
    add("training", [](const PredictedRun& r) { return human_seconds(r.whole->duration); });
    add("GPU-hours", [](const PredictedRun& r) { return human_count(r.whole->gpu_hours); });
    if (std::any_of(runs.begin(), runs.end(), [](const PredictedRun& r) { return r.whole->usd.has_value(); }))
      add("USD", [](const PredictedRun& r) { return r.whole->usd ? human_count(*r.whole->usd) : "-"; });
  }
  return "\n" + table.text();
}

// A cause's seconds for as many tokens as the first run's step has.
Seconds for_first(Runs runs, std::size_t i, std::size_t cause) {
  return runs[i].prediction.breakdown[cause] * (tokens_of(runs.front().run) / tokens_of(runs[i].run));
}

std::string by_cause(Runs runs) {
  double longest = 0;
  for (const PredictedRun& r : runs)
    longest = std::max(longest, r.prediction.step.value * tokens_of(runs.front().run) / tokens_of(r.run));
  const TimeUnit unit = unit_of(longest);
  std::vector<Align> columns(2 * runs.size(), Align::kRight);
  columns.front() = Align::kLeft;
  Table table(std::move(columns));
  std::vector<std::string> head = {""};
  for (std::size_t i = 0; i < runs.size(); ++i) head.push_back(letter(i));
  for (std::size_t i = 1; i < runs.size(); ++i) head.push_back(letter(i) + " - A");
  table.add(std::move(head));
  const auto add = [&](std::string_view name, auto seconds) {
    std::vector<std::string> row = {std::string(name)};
    for (std::size_t i = 0; i < runs.size(); ++i) row.push_back(unit.tell(seconds(i)));
    for (std::size_t i = 1; i < runs.size(); ++i) row.push_back(unit.tell_change(seconds(i) - seconds(0)));
    table.add(std::move(row));
  };
  for (std::size_t c = 0; c < kStepCauseCount; ++c) {
    Seconds most;
    for (std::size_t i = 0; i < runs.size(); ++i) most = std::max(most, for_first(runs, i, c));
    if (most.value <= 1e-5 * longest) continue;
    add(kStepCauseNames[c], [&](std::size_t i) { return for_first(runs, i, c); });
  }
  add("step", [&](std::size_t i) {
    return Seconds(runs[i].prediction.step.value * tokens_of(runs.front().run) / tokens_of(runs[i].run));
  });
  const std::string tokens =
      all_alike(runs, [](const PredictedRun& r) { return tokens_of(r.run); })
          ? ""
          : fmt::format(", for {} tokens as in A's step", human_count(tokens_of(runs.front().run)));
  return fmt::format("\nwhere the time goes ({}, the busiest stage of each{})\n", unit.name, tokens) +
         table.text();
}

// The causes that make up most of the difference between two runs, at most three: "less recompute (-2.36 s),
// but more bubble (+400 ms)".
std::string reasons(Runs runs, std::size_t fast, std::size_t slow) {
  struct Difference {
    std::size_t cause;
    double seconds;
  };
  std::vector<Difference> found;
  double total = 0;
  for (std::size_t c = 0; c < kStepCauseCount; ++c) {
    const double seconds = (for_first(runs, fast, c) - for_first(runs, slow, c)).value;
    total += seconds;
    found.push_back({c, seconds});
  }
  std::stable_sort(found.begin(), found.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  while (!found.empty() && (found.size() > 3 || std::abs(found.back().seconds) < 0.1 * std::abs(total)))
    found.pop_back();
  const auto told = [&](bool less) {
    std::vector<std::string> parts;
    for (const Difference& d : found)
      if ((d.seconds < 0) == less)
        parts.push_back(fmt::format("{} ({}{})", kStepCauseNames[d.cause], less ? "-" : "+",
                                    human_seconds(Seconds(std::abs(d.seconds)))));
    if (parts.empty()) return std::string();
    const std::string last = parts.back();
    parts.pop_back();
    return (less ? "less " : "more ") + (parts.empty() ? last : join(parts, ", ") + " and " + last);
  };
  const std::string less = told(true), more = told(false);
  return less + (less.empty() || more.empty() ? "" : ", but ") + more;
}

std::string verdict(Runs runs) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < runs.size(); ++i) order.push_back(i);
  // What fits comes first.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (runs[a].prediction.fits != runs[b].prediction.fits) return runs[a].prediction.fits;
    return tokens_per_s(runs[a]) > tokens_per_s(runs[b]);
  });
  const std::size_t best = order[0], other = order[1];
  const PredictedRun &a = runs[best], &b = runs[other];
  std::string out = "\n";
  if (!a.prediction.fits) {
    out += "none fits; with memory enough, ";
  } else if (!b.prediction.fits) {
    const bool alone = runs.size() == 2;
    out += alone ? fmt::format("{} does not fit; ", letter(other)) : "the others do not fit; ";
  }
  const double ratio = tokens_per_s(a) / tokens_per_s(b);
  if (std::abs(ratio - 1) < 5e-4)
    return out + fmt::format("{} and {} are equally fast\n", letter(best), letter(other));
  if (ratio < 1)  // only where the other does not fit
    return out + fmt::format("{} is slower than {} would be, {:.2f} times its tokens a second\n",
                             letter(best), letter(other), ratio);
  out += fmt::format("{} is {}: {} against {} of {}, {:.2f} times its tokens a second", letter(best),
                     runs.size() == 2 ? "faster" : "the fastest",
                     human_seconds(Seconds(a.prediction.step.value)),
                     human_seconds(Seconds(b.prediction.step.value)), letter(other), ratio);
  if (const std::string why = reasons(runs, best, other); !why.empty()) out += ", by " + why;
  const double scale = tokens_of(a.run) / tokens_of(b.run);
  if (a.prediction.step.high() > b.prediction.step.low() * scale) out += "; their 80 % intervals overlap";
  return out + "\n";
}

}  // namespace

std::string compare_text(std::span<const PredictedRun> runs) {
  std::string out = header(runs) + summary(runs) + by_cause(runs) + verdict(runs);
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].standing)
      out += fmt::format("{}{} stands on calibration {}\n", i == 0 ? "\n" : "", letter(i),
                         standing_words(*runs[i].standing));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].prediction.assumed.empty()) continue;
    out += fmt::format("assumed in {}\n", letter(i));
    for (const std::string& line : runs[i].prediction.assumed) out += "  " + printable(line) + "\n";
  }
  return out;
}

}  // namespace foretrain
