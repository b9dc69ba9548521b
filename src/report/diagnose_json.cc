#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "report/diagnose_report.h"
#include "report/memory_report.h"
#include "report/plan_json.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

void put_known(JsonWriter& w, std::string_view key, double value) {
  w.key(key);
  if (value > 0)
    w.value(value);
  else
    w.null();
}

std::string as_key(std::string_view words) {
  std::string key(words);
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

void put_measured(JsonWriter& w, const MeasuredRun& m) {
  w.key("measured").begin_object();
  w.key("step_s").value(m.step.value).key("spread").value(m.spread).key("drift").value(m.drift);
  w.key("mean_step_s").value(m.step.value * m.with_stalls);
  w.key("lines").value(m.lines).key("stalls").value(m.stalls);
  put_known(w, "memory_bytes", std::round(m.memory.value));
  w.key("memory_counter").value(m.memory_counter);
  put_known(w, "global_batch", m.global_batch);
  w.end_object();
}

void put_expected(JsonWriter& w, const Diagnosis& d) {
  w.key("predicted").begin_object();
  w.key("step_s").value(d.expected.value).key("step_low_s").value(d.expected.low());
  w.key("step_high_s").value(d.expected.high());
  w.key("memory_bytes").value(std::round(d.expected_memory.value)).end_object();
  w.key("ratio").value(d.ratio).key("percentile").value(d.percentile);
  w.key("verdict").value(kSpeedVerdictNames[static_cast<std::size_t>(d.verdict)]);
}

void put_findings(JsonWriter& w, const DiagnosedRun& r) {
  const Diagnosis& d = r.diagnosis;
  w.key("causes").begin_array();
  for (const Finding& finding : d.findings) {
    w.begin_object().key("kind").value(finding.kind).key("share").value(finding.share);
    w.key("seen").value(finding.words).key("look_at").value(finding.advice).end_object();
  }
  w.end_array().key("explanations").begin_array();
  for (const Explanation& e : d.explanations) {
    w.begin_object().key("change").value(changes(r.run.plan, e.plan)).key("step_s").value(e.step.value);
    w.key("memory_bytes").value(std::round(e.memory.value)).end_object();
  }
  w.end_array().key("shares_s").begin_object();
  for (const StepShare& share : d.shares) w.key(as_key(share.name)).value(share.seconds.value);
  w.end_object();
  if (d.beside.empty()) return;
  w.key("trace").begin_array();
  for (const Beside& row : d.beside) {
    w.begin_object().key("what").value(row.name).key("measured_s").value(row.measured.value);
    w.key("predicted_s").value(row.predicted.value).end_object();
  }
  w.end_array();
}

void put_better(JsonWriter& w, const DiagnosedRun& r, const BetterPlan& plan) {
  w.begin_object().key("change").value(changes(r.run.plan, plan.run.plan));
  w.key("plan").value(to_text(plan.run.plan));
  w.key("step_before_s").value(r.prediction.step.value).key("step_s").value(plan.prediction.step.value);
  w.key("gain").value(plan.gain).key("tied").value(plan.tied);
  w.key("needed_bytes").value(std::round(plan.prediction.needed.value)).end_object();
}

}  // namespace

std::string diagnose_json(const DiagnosedRun& r) {
  JsonWriter w;
  const MeasuredRun& m = r.diagnosis.measured;
  w.begin_answer().key("file").value(m.file).key("format").value(m.format);
  put_measured(w, m);
  put_expected(w, r.diagnosis);
  put_findings(w, r);
  w.key("try").begin_array();
  for (const BetterPlan& plan : r.better.one_change) put_better(w, r, plan);
  w.end_array().key("best");
  if (r.better.best)
    put_better(w, r, *r.better.best);
  else
    w.null();
  w.key("searched").value(r.better.candidates).key("interrupted").value(r.better.is_interrupted);
  put_run(w, r.run);
  w.key("assumed").begin_array();
  for (const std::string& line : r.prediction.assumed) w.value(line);
  w.end_array().end_object();
  return w.text();
}

}  // namespace foretrain
