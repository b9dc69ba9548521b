#include "validate/diagnosis.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "predict/testing.h"
#include "validate/logged_memory.h"

using namespace foretrain;

namespace {

struct Lab {
  Run run = run_of("llama-2-7b", "dgx-h100", 16, "megatron", "tp=2,zero=1,recompute=selective", 64);
  Evaluator evaluator = evaluator_of(run);
  Prediction prediction = predict(run, evaluator);

  Lab() { prediction.step.spread = 0.05, prediction.step.above = 0; }  // as sure as of a GPU that was sampled

  // A run that takes so many times what is predicted.
  MeasuredRun measured(double times) const {
    MeasuredRun out{"x.log", "megatron log"};
    out.step = prediction.typical * times;
    out.lines = 50;
    return out;
  }
  Diagnosis of(MeasuredRun run_measured, const NotModelled& flags = {}) {
    return diagnose(std::move(run_measured), run, prediction, evaluator, flags);
  }
};

const Finding* found(const Diagnosis& d, std::string_view kind) {
  const auto it = std::find_if(d.findings.begin(), d.findings.end(),
                               [&](const Finding& finding) { return finding.kind == kind; });
  return it == d.findings.end() ? nullptr : &*it;
}

}  // namespace

TEST_CASE("the verdict follows the 80 % interval") {
  Lab lab;
  const Estimate& step = lab.prediction.step;
  CHECK(lab.of(lab.measured(1)).verdict == SpeedVerdict::kAsExpected);
  CHECK(lab.of(lab.measured(1)).findings.empty());
  CHECK(lab.of(lab.measured(1)).percentile == doctest::Approx(0.5));
  const Diagnosis high = lab.of(lab.measured(step.high() / step.value * 1.001));
  CHECK(high.verdict == SpeedVerdict::kSlower);
  CHECK(high.percentile == doctest::Approx(0.9).epsilon(0.01));
  const Diagnosis low = lab.of(lab.measured(step.low() / step.value * 0.999));
  CHECK(low.verdict == SpeedVerdict::kFaster);
  CHECK(low.percentile == doctest::Approx(0.1).epsilon(0.01));
}

TEST_CASE("stalls make a run slow however fast its steady steps are") {
  Lab lab;
  MeasuredRun measured = lab.measured(0.7);
  CHECK(lab.of(measured).verdict == SpeedVerdict::kFaster);
  measured.with_stalls = measured.with_pauses = 2.5;  // 1.75 times what is predicted, in the mean
  const Diagnosis d = lab.of(measured);
  CHECK(d.verdict == SpeedVerdict::kSlower);
  CHECK(d.is_stalled);
}

TEST_CASE("steady steps as expected with stalls between them are slower than expected") {
  Lab lab;
  MeasuredRun measured = lab.measured(1);
  measured.with_stalls = measured.with_pauses = 1.3;
  measured.stalls = 5;
  const Diagnosis d = lab.of(measured);
  CHECK(d.verdict == SpeedVerdict::kSlower);
  CHECK(d.is_stalled);
  REQUIRE(found(d, "stalls") != nullptr);
  CHECK(found(d, "stalls")->share == doctest::Approx(0.3 / 1.3));
  CHECK(found(d, "pauses") == nullptr);
  CHECK(d.explanations.empty());
}

TEST_CASE("what the log shows is told, and nothing where it shows nothing") {
  Lab lab;
  MeasuredRun measured = lab.measured(1.5);
  CHECK(lab.of(measured).findings.size() == 1);
  CHECK(found(lab.of(measured), "unseen") != nullptr);
  measured.spread = 0.12;
  measured.drift = 0.1;
  const Diagnosis d = lab.of(measured, {{"deterministic-mode", "time"}, {"x", "memory"}});
  CHECK(found(d, "unseen") == nullptr);
  CHECK(found(d, "spread") != nullptr);
  CHECK(found(d, "slowing") != nullptr);
  CHECK(found(d, "not_modelled") != nullptr);
  CHECK(d.findings.size() == 3);
  const Diagnosis off = lab.of(measured, {{"gradient-accumulation-fusion turned off", "time"}});
  REQUIRE(found(off, "not_modelled") != nullptr);
  CHECK(found(off, "not_modelled")->advice.find("turn it on") == 0);
  measured = lab.measured(1);
  measured.drift = -0.2;
  measured.global_batch = 32;
  CHECK(found(lab.of(measured), "warm_up") != nullptr);
  CHECK(found(lab.of(measured), "batch_differs") != nullptr);
}

TEST_CASE("memory near the limit and memory that was not predicted are told") {
  Lab lab;
  MeasuredRun measured = lab.measured(1);
  measured.memory_counter = "max reserved";
  measured.memory = logged_memory(lab.prediction, lab.run.stack, StatedCounter::kReserved);
  CHECK(lab.of(measured).findings.empty());
  measured.memory = measured.memory * 1.2;
  CHECK(found(lab.of(measured), "memory_more") != nullptr);
  CHECK(found(lab.of(measured), "memory_full") == nullptr);
  measured.memory = measured.memory * 0.5;
  CHECK(found(lab.of(measured), "memory_less") != nullptr);
  measured.memory = lab.run.cluster.gpu.usable * 0.96;
  CHECK(found(lab.of(measured), "memory_full") != nullptr);
}

TEST_CASE("a run that is not as described is explained by the choice that differs") {
  Lab lab;
  Run really = lab.run;
  really.plan.recompute = Recompute::kFull;
  const Prediction slow = lab.evaluator.predict(really.plan, really.global_batch);
  MeasuredRun measured = lab.measured(slow.step.value / lab.prediction.step.value);
  measured.memory_counter = "max reserved";
  measured.memory = logged_memory(slow, lab.run.stack, StatedCounter::kReserved);
  const Diagnosis d = lab.of(measured);
  REQUIRE(d.verdict == SpeedVerdict::kSlower);
  REQUIRE_FALSE(d.explanations.empty());
  CHECK(std::any_of(d.explanations.begin(), d.explanations.end(),
                    [](const Explanation& e) { return e.plan.recompute == Recompute::kFull; }));
}

TEST_CASE("figures of a trace stand beside those of the prediction") {
  Lab lab;
  MeasuredRun measured = lab.measured(1.4);
  measured.profiled.emplace();
  measured.profiled->steps = 3;
  const Diagnosis plain = lab.of(measured);
  REQUIRE(plain.beside.size() > 3);
  ProfiledStep& seen = *measured.profiled;
  for (const Beside& row : plain.beside) {
    if (row.name == "GPU busy") seen.busy = row.predicted;
    if (row.name == "exposed communication") seen.exposed = row.predicted;
    for (std::size_t i = 0; i < kKernelFamilyNames.size(); ++i)
      if (row.name == kKernelFamilyNames[i]) seen.families[i] = row.predicted;
  }
  seen.idle = measured.step - seen.busy;  // all that is too much is idle
  seen.gaps = 100;
  const Diagnosis d = lab.of(measured);
  REQUIRE(found(d, "gaps") != nullptr);
  CHECK(found(d, "gaps")->share == doctest::Approx(0.4 / 1.4).epsilon(0.05));
  CHECK(found(d, "kernels") == nullptr);
  CHECK(found(d, "exchange") == nullptr);
  CHECK(found(d, "between_steps") == nullptr);
}
