#include "report/calibration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/estimate.h"
#include "base/text.h"
#include "report/figure_text.h"
#include "report/table.h"

namespace foretrain {
namespace {

std::string interval(double log, double deviation) {
  return fmt::format("{:.3f} to {:.3f}", std::exp(log - kZ80 * deviation), std::exp(log + kZ80 * deviation));
}

std::string signed_percent(double log) { return signed_text(100 * std::expm1(log), 1) + " %"; }

std::string lessons_table(const Posterior& posterior) {
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight});
  table.add({"measurement", "of it", "measured", "predicted", "off", "left", "counts"});
  for (std::size_t i = 0; i < posterior.lessons().size(); ++i) {
    const Lesson& l = posterior.lessons()[i];
    table.add({printable(l.name), std::string(name(l.part)), human_seconds(Seconds(l.measured)),
               human_seconds(Seconds(l.predicted)), signed_percent(std::log(l.measured / l.predicted)),
               signed_percent(posterior.residual(i)),
               fmt::format("{:.0f} %", 100 * std::min(1.0, l.weight))});
  }
  return table.text();
}

std::string factors_table(const Posterior& posterior) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"factor", "takes times", "80 % interval", "before"});
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    const auto factor = static_cast<ClusterFactor>(k);
    const double log = posterior.factors()[k];
    table.add({std::string(name(factor)), fmt::format("{:.3f}", std::exp(log)),
               interval(log, posterior.deviation(factor)), interval(0, posterior.prior_deviation(factor))});
  }
  return table.text();
}

// What runs of each kind that was measured have besides.
std::string kinds_table(const Posterior& posterior) {
  Table table({Align::kLeft, Align::kRight});
  table.add({"kind of run", "besides"});
  std::vector<RunKind> told;
  for (const Lesson& l : posterior.lessons()) {
    bool known = false;
    for (const RunKind& kind : told) known = known || kind == l.kind;
    if (known) continue;
    told.push_back(l.kind);
    table.add({fmt::format("{}; {}, {}, seq {}", l.kind.model, printable(l.kind.stack), l.kind.precision,
                           l.kind.seq),
               signed_percent(posterior.shift(l.kind))});
  }
  return table.text();
}

constexpr std::size_t kMostProposals = 5;  // that are told

std::string words_of(const Proposal& proposal) {
  std::vector<std::string> words;
  for (const Probe& probe : proposal.probes) words.push_back(printable(probe.what));
  return join(words, ", and ");
}

std::string next_text(const NextMeasurement& next) {
  std::string out =
      fmt::format("\nthe second run takes {} of the first, 80 % interval {}: {}\n",
                  fmt::format("{:.3f}", std::exp(next.difference)), interval(next.difference, next.deviation),
                  next.told_apart ? "they are told apart" : "they cannot be told apart");
  if (next.told_apart) return out;
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"tells them apart", "interval then", "GPU-minutes", "measure"});
  for (std::size_t i = 0; i < std::min(kMostProposals, next.proposals.size()); ++i) {
    const Proposal& p = next.proposals[i];
    table.add({fmt::format("{:.0f} %", 100 * p.chance), fmt::format("+-{:.1f} %", 100 * kZ80 * p.deviation),
               fmt::format("{:.0f}", p.gpu_minutes), words_of(p)});
  }
  return out + "what to measure next, the best first\n" + table.text();
}

void put_next(JsonWriter& w, const NextMeasurement& next) {
  w.key("next").begin_object();
  w.key("ratio").value(std::exp(next.difference)).key("deviation").value(next.deviation);
  w.key("told_apart").value(next.told_apart).key("proposals").begin_array();
  for (std::size_t i = 0; i < std::min(kMostProposals, next.proposals.size()); ++i) {
    const Proposal& p = next.proposals[i];
    w.begin_object().key("measure").begin_array();
    for (const Probe& probe : p.probes)
      w.begin_object().key("what").value(probe.what).key("how").value(probe.how).end_object();
    w.end_array().key("gpu_minutes").value(p.gpu_minutes).key("deviation").value(p.deviation);
    w.key("chance").value(p.chance).end_object();
  }
  w.end_array().end_object();
}

}  // namespace

std::string calibration_text(const CalibrationReport& report) {
  if (report.calibration.posterior.lessons().empty())
    return report.next ? next_text(*report.next).substr(1) : "";
  const Calibration& c = report.calibration;
  const Posterior& p = c.posterior;
  std::string out = fmt::format("calibration {}: {} ({}), {} run{}, {} measurement{}\n", printable(c.name),
                                printable(c.cluster), c.gpu, c.runs(), c.runs() == 1 ? "" : "s",
                                p.lessons().size(), p.lessons().size() == 1 ? "" : "s");
  for (const Remark& remark : report.remarks)
    out += fmt::format("{} {}: {}\n", remark.left_out ? "left out" : "note    ", printable(remark.name),
                       printable(remark.words));
  out += "\n" + lessons_table(p) + "\n" + factors_table(p) + "\n" + kinds_table(p);
  if (c.memory)
    out += fmt::format("\nmemory: {} of what is predicted ({} run{})\n",
                       interval(c.memory->held, c.memory->deviation), c.memory->runs,
                       c.memory->runs == 1 ? "" : "s");
  if (report.next) out += next_text(*report.next);
  if (!report.written.empty()) out += fmt::format("\nwritten to {}\n", printable(report.written));
  return out;
}

std::string calibration_json(const CalibrationReport& report) {
  const Calibration& c = report.calibration;
  const Posterior& p = c.posterior;
  JsonWriter w;
  w.begin_answer();
  w.key("name").value(c.name).key("cluster").value(c.cluster).key("gpu").value(c.gpu);
  w.key("profile").value(c.profile).key("runs").value(c.runs());
  w.key("factors").begin_object();
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    const auto factor = static_cast<ClusterFactor>(k);
    w.key(name(factor)).begin_object();
    w.key("times").value(std::exp(p.factors()[k])).key("deviation").value(p.deviation(factor));
    w.key("prior_deviation").value(p.prior_deviation(factor)).end_object();
  }
  w.end_object();
  if (c.memory)
    w.key("memory")
        .begin_object()
        .key("times")
        .value(std::exp(c.memory->held))
        .key("deviation")
        .value(c.memory->deviation)
        .key("runs")
        .value(c.memory->runs)
        .end_object();
  if (report.next) put_next(w, *report.next);
  w.key("measurements").begin_array();
  for (std::size_t i = 0; i < p.lessons().size(); ++i) {
    const Lesson& l = p.lessons()[i];
    w.begin_object()
        .key("name")
        .value(l.name)
        .key("part")
        .value(name(l.part))
        .key("fingerprint")
        .value(l.fingerprint);
    w.key("measured_s").value(l.measured).key("predicted_s").value(l.predicted);
    w.key("left").value(p.residual(i)).key("weight").value(l.weight).end_object();
  }
  w.end_array();
  w.key("remarks").begin_array();
  for (const Remark& remark : report.remarks)
    w.begin_object()
        .key("name")
        .value(remark.name)
        .key("words")
        .value(remark.words)
        .key("left_out")
        .value(remark.left_out)
        .end_object();
  w.end_array();
  w.end_object();
  return w.text();
}

static std::string nearest_words(const Standing& s) {
  const std::string differs = s.measured          ? ", this very run"
                              : s.differs.empty() ? ", a run of this kind"
                                                  : ": " + printable(join(s.differs, ", "));
  return "nearest to " + printable(s.nearest) + differs;
}

std::string standing_words(const Standing& s) {
  return fmt::format("{}, of {}: settles {:.0f} % of the variance; {}", printable(s.name), s.origin,
                     100 * s.settled, nearest_words(s));
}

std::string standing_text(const Standing& s) {
  return fmt::format(
      "calibration {}, of {}: without it {}; it settles {:.0f} % of the variance\n            {}\n",
      printable(s.name), s.origin, human_seconds(Seconds(s.uncalibrated_s)), 100 * s.settled,
      nearest_words(s));
}

void put_standing(JsonWriter& w, const Standing& s) {
  w.begin_object().key("name").value(s.name).key("runs").value(s.runs);
  w.key("uncalibrated_s").value(s.uncalibrated_s).key("uncalibrated_spread").value(s.uncalibrated_spread);
  w.key("settled").value(s.settled).key("nearest").value(s.nearest).key("likeness").value(s.likeness);
  w.key("measured").value(s.measured);
  w.key("differs").begin_array();
  for (const std::string& words : s.differs) w.value(words);
  w.end_array();
  w.key("factors").begin_object();
  for (std::size_t k = 0; k < kClusterFactorCount; ++k)
    w.key(kClusterFactorNames[k]).value(std::exp(s.factors[k]));
  w.end_object().end_object();
}

}  // namespace foretrain
