#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "report/diagnose_report.h"
#include "report/memory_report.h"
#include "report/table.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

// "30 % longer", "2 % less"; what is within half a percent is the same.
std::string compared(double ratio, std::string_view more, std::string_view less) {
  const double percent = 100 * (ratio - 1);
  if (std::abs(percent) < 0.5) return "the same";
  if (ratio >= 3) return fmt::format("{:.1f} times that", ratio);
  return fmt::format("{:.0f} % {}", std::abs(percent), percent > 0 ? more : less);
}

std::string header(const DiagnosedRun& r) {
  const MeasuredRun& m = r.diagnosis.measured;
  const Run& run = r.run;
  std::string out = fmt::format("{}: {}, ", printable(m.file), printable(m.format));
  if (m.profiled)
    out += m.profiled->is_named
               ? fmt::format("{} step{}\n", m.profiled->steps, m.profiled->steps == 1 ? "" : "s")
               : "no steps named: all of it is taken as one\n";
  else
    out += fmt::format("{} steady line{}, spread {:.1f} %\n", with_commas(static_cast<std::int64_t>(m.lines)),
                       m.lines == 1 ? "" : "s", 100 * m.spread);
  out += fmt::format("{} ({} parameters) on {}: {} x {}, stack {}, profile {}\n", printable(run.model.name),
                     human_count(static_cast<double>(r.prediction.params)), printable(run.cluster.name),
                     run.gpus, printable(run.cluster.gpu.name), printable(run.stack.name),
                     printable(run.profile));
  out += fmt::format("plan        {}\n", to_text(run.plan));
  return out + fmt::format("batch       {} x {} tokens a step\n\n", run.global_batch, run.seq);
}

std::string verdict_words(const Diagnosis& d) {
  const auto of_hundred = [&](double share) {
    const long runs = std::lround(100 * share);
    return runs > 99 ? std::string("over 99") : fmt::format("{}", runs);
  };
  if (d.is_stalled)
    return fmt::format(
        "slower than expected: steady steps are as fast as they should be, but the mean step is {}",
        human_seconds(d.measured.step * d.measured.with_stalls));
  switch (d.verdict) {
    case SpeedVerdict::kSlower:
      return fmt::format("slower than expected: of a hundred runs as described {} are faster",
                         of_hundred(d.percentile));
    case SpeedVerdict::kFaster:
      return fmt::format(
          "faster than expected: of a hundred runs as described {} are slower, so something in the "
          "description is likely wrong",
          of_hundred(1 - d.percentile));
    case SpeedVerdict::kAsExpected:
      break;
  }
  return fmt::format("as fast as expected: inside the interval, {} of a hundred runs as described are faster",
                     of_hundred(d.percentile));
}

std::string summary(const Diagnosis& d) {
  const MeasuredRun& m = d.measured;
  std::string out =
      fmt::format("step        measured {}{}, predicted {} (80 % interval {} to {}): {}\n",
                  human_seconds(m.step), m.told_as.empty() ? "" : fmt::format(" (from {})", m.told_as),
                  human_seconds(Seconds(d.expected.value)), human_seconds(Seconds(d.expected.low())),
                  human_seconds(Seconds(d.expected.high())), compared(d.ratio, "longer", "shorter"));
  out += "verdict     " + verdict_words(d) + "\n";
  if (m.memory > Bytes(0))
    out += fmt::format("memory      measured {} ({}), predicted {}: {}\n", human_bytes(m.memory),
                       printable(m.memory_counter), human_bytes(d.expected_memory),
                       compared(m.memory / d.expected_memory, "more", "less"));
  return out;
}

std::string beside_text(const Diagnosis& d) {
  if (d.beside.empty()) return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"a step's", "measured", "predicted", ""});
  for (const Beside& row : d.beside)
    table.add({std::string(row.name), human_seconds(row.measured), human_seconds(row.predicted),
               row.predicted > Seconds(0) && row.measured > Seconds(0)
                   ? fmt::format("{:.2f} x", row.measured / row.predicted)
                   : ""});
  return "\nby what the trace shows\n" + table.text();
}

std::string findings_text(const Diagnosis& d) {
  if (d.findings.empty()) return "";
  std::string out = d.verdict == SpeedVerdict::kAsExpected ? "\nseen besides\n" : "\nlikely causes\n";
  for (const Finding& finding : d.findings)
    out += fmt::format("  {}{}\n    look at: {}\n", finding.words,
                       finding.share > 0 ? fmt::format(" ({:.0f} % of the time)", 100 * finding.share) : "",
                       finding.advice);
  return out;
}

std::string explanations_text(const DiagnosedRun& r) {
  if (r.diagnosis.explanations.empty()) return "";
  std::string out = "\nwhat would explain it, if the run were not as described\n";
  for (const Explanation& e : r.diagnosis.explanations)
    out += fmt::format("  {}: predicted {}, {}\n", changes(r.run.plan, e.plan), human_seconds(e.step),
                       human_bytes(e.memory));
  return out;
}

std::string shares_text(const DiagnosedRun& r) {
  if (r.diagnosis.shares.empty()) return "";
  std::string out = "\nwhat the predicted step spends besides the model's own work\n";
  for (const StepShare& share : r.diagnosis.shares)
    out += fmt::format("  {:<22} {:>8}  {:>4.1f} %{}{}\n", share.name, human_seconds(share.seconds),
                       100 * share.seconds.value / r.prediction.step.value, share.advice.empty() ? "" : "  ",
                       share.advice);
  return out;
}

std::string better_text(const DiagnosedRun& r) {
  const BetterPlans& better = r.better;
  std::string out;
  if (better.one_change.empty()) {
    out = "\nwhat to try first: no single change of the plan that fits gains a percent\n";
  } else {
    Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
    table.add({"change", "step", "instead of", "gain", "needs", ""});
    for (const BetterPlan& plan : better.one_change)
      table.add({changes(r.run.plan, plan.run.plan), human_seconds(Seconds(plan.prediction.step.value)),
                 human_seconds(Seconds(r.prediction.step.value)), fmt::format("{:.1f} %", 100 * plan.gain),
                 human_bytes(plan.prediction.needed), plan.tied ? "no more than may be off" : ""});
    out = "\nwhat to try first (each alone; predicted)\n" + table.text();
  }
  if (better.best)
    out += fmt::format("best found  {}\n            {} instead of {}, {:.1f} % less, needs {}\n",
                       changes(r.run.plan, better.best->run.plan),
                       human_seconds(Seconds(better.best->prediction.step.value)),
                       human_seconds(Seconds(r.prediction.step.value)), 100 * better.best->gain,
                       human_bytes(better.best->prediction.needed));
  if (better.candidates > 0)
    out += fmt::format("searched    {} plans that train the same{}\n",
                       with_commas(static_cast<std::int64_t>(better.candidates)),
                       better.is_interrupted ? ", stopped at its time: others may be better" : "");
  return out;
}

}  // namespace

std::string diagnose_text(const DiagnosedRun& r) {
  std::string out = header(r) + summary(r.diagnosis) + beside_text(r.diagnosis) + findings_text(r.diagnosis) +
                    explanations_text(r) + shares_text(r) + better_text(r);
  if (!r.prediction.assumed.empty()) out += "assumed\n";
  for (const std::string& line : r.prediction.assumed) out += "  " + printable(line) + "\n";
  return out;
}

}  // namespace foretrain
