// Synthetic truth: measurements made by the predictor with factors changed teach these factors back.
#include "calibrate/learn.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "calibrate/figures.h"
#include "calibrate/run_identity.h"
#include "calibrate/testing.h"

using namespace foretrain;

namespace {

// Whole steps tell a factor from what runs of a kind have besides only as far as priors allow: products and memory-bound
// operators are most of these steps, latencies and what overlaps little of them. The three that steps can tell have to come back,
// the others to stay within what is stated of them.
constexpr double kDeviations = 2;
constexpr bool tells(ClusterFactor factor) {
  using enum ClusterFactor;
  return factor == kHost || factor == kIntraBandwidth || factor == kInterBandwidth;
}

// `alone`: nothing else was changed that could take its part.
void check_recovered(const ClusterFactors& truth, bool alone = false) {
  const std::vector<Run> runs = varied_runs();
  const auto learned = learn(measured_with(runs, truth));
  REQUIRE(learned);
  const Posterior& posterior = learned->calibration.posterior;
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    const auto factor = static_cast<ClusterFactor>(k);
    INFO(name(factor), ": truth ", truth[k], ", learned ", posterior.factors()[k], " +- ",
         posterior.deviation(factor));
    CHECK(std::abs(posterior.factors()[k] - truth[k]) <= kDeviations * posterior.deviation(factor));
    if (!tells(factor) || truth[k] == 0 || !alone) continue;
    CHECK(posterior.factors()[k] > truth[k] / 2);
    CHECK(posterior.deviation(factor) < 0.8 * posterior.prior_deviation(factor));
  }
  // And runs are predicted better, those that taught and one that did not.
  std::vector<Run> asked = runs;
  asked.push_back(run_on_dgx("llama-3-8b", 16, 64, "tp=4,micro_batch=2"));
  double before = 0, after = 0;
  for (const Run& run : asked) {
    const auto costs = std::make_shared<const AnalyticCost>(run.cluster);
    const double is = predict_with(run, costs, truth).step.value;
    before += std::abs(std::log(is / predict_with(run, costs, {}).step.value));
    after += std::abs(
        std::log(is / predict_with(run, costs, learned->calibration.factors_for(kind_of(run))).step.value));
  }
  INFO("off by ", before, " before, ", after, " after");
  CHECK(after < 0.8 * before);
}

}  // namespace

TEST_CASE("each factor alone comes back within its stated uncertainty") {
  constexpr ClusterFactors kTruths = {0.10, 0.15, 0.40, 0.25, 0.40, 0.40, 0.70, 0.60};
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    INFO(kClusterFactorNames[k]);
    ClusterFactors truth{};
    truth[k] = kTruths[k];
    check_recovered(truth, true);
  }
}

TEST_CASE("three factors together come back within their stated uncertainty") {
  check_recovered({0.10, 0, 0.30, 0, 0.30, 0, 0});
  check_recovered({0, 0.10, 0, 0.15, 0, 0, 0.30});
}

TEST_CASE("what a kind has besides is taken for what it is, however much of it is believed") {
  for (const Run& run : {run_on_dgx("llama-3-8b", 32, 32, "tp=1,zero=3"), run_on_dgx("gpt2", 1, 1, ""),
                         run_on_dgx("llama-3-8b", 32, 8, "tp=16")}) {
    ClusterFactors truth{};
    truth = shifted(truth, 0.8);
    const Measured one = measured_with(run, truth, "one");
    for (const double besides : {0.0, 0.4, 0.8})
      CHECK(lessons_of(one, {{}, besides}).front().gap == doctest::Approx(0.8).epsilon(0.005));
  }
}

TEST_CASE("the same measurement counts once, another of the same run makes it unsure") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  Measured a = measured_with(run, {0.1}, "a"), b = a, c = a;
  b.name = "b", c.name = "c";
  c.figures.front().seconds *= 1.5;
  const auto learned = learn({a, b, c});
  REQUIRE(learned);
  const auto& lessons = learned->calibration.posterior.lessons();
  REQUIRE(lessons.size() == 1);
  CHECK(lessons.front().measured == doctest::Approx(a.figures.front().seconds * std::sqrt(1.5)));
  CHECK(lessons.front().spread > std::log(1.5) / 2);
  REQUIRE(learned->remarks.size() == 2);
  CHECK(learned->remarks[0].name == "b");
  CHECK(learned->remarks[0].left_out);
  CHECK(learned->remarks[1].words.find("contradict") != std::string::npos);
}

TEST_CASE("a measurement in parts that stands twice is told once") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  Measured a = measured_with(run, {}, "a");
  const Prediction plain = predict_with(run, a.costs, {});
  a.figures.clear();
  for (const MeasuredPart part : {MeasuredPart::kForward, MeasuredPart::kBackward, MeasuredPart::kOptimizer})
    a.figures.push_back({part, predicted_figure(run, plain, part).value});
  Measured b = a;
  b.name = "b";
  const auto learned = learn({a, b});
  REQUIRE(learned);
  CHECK(learned->calibration.posterior.lessons().size() == 3);
  REQUIRE(learned->remarks.size() == 1);
  CHECK(learned->remarks.front().words == "is a again: counts once");
}

TEST_CASE("runs that differ in anything that a step follows are not one run") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  std::vector<Run> others(6, run);
  others[0].cluster.gpus_per_node = 4;
  others[1].model.vocab += 1024;
  others[2].documents.mean = 512;
  others[3].task = TrainingTask::kSft;
  others[4].global_batch *= 2;
  others[5].plan.recompute = Recompute::kFull;
  for (const Run& other : others) CHECK(run_identity(other) != run_identity(run));
  Run named = run;
  named.model.name = "by another name";
  CHECK(run_identity(named) == run_identity(run));
}

TEST_CASE("one run that lies far off is said to, and not held against others that there are none of") {
  Measured one = measured_with(run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1"), {}, "one");
  one.figures.front().seconds *= 4;
  const auto learned = learn({one});
  REQUIRE(learned);
  CHECK(learned->calibration.posterior.lessons().front().weight == 1);
  REQUIRE(learned->remarks.size() == 1);
  CHECK(learned->remarks.front().words.find("nothing else was measured") != std::string::npos);
}

TEST_CASE("what cannot be is refused by name") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  Measured fast = measured_with(run, {}, "fast"), slow = fast;
  slow.name = "slow";
  fast.figures.front().seconds *= 0.01;
  slow.figures.front().seconds *= 20;
  const auto learned = learn({fast, slow});
  REQUIRE(!learned);
  CHECK(learned.error().message.find("fast: its step would be") != std::string::npos);
  const auto rest = learn({fast, slow, measured_with(run_on_dgx("gpt2", 8, 8, ""), {0.1}, "good")});
  REQUIRE(rest);
  CHECK(rest->calibration.posterior.lessons().size() == 1);
  CHECK(rest->remarks.size() == 2);
}

TEST_CASE("parts that a breakdown shows teach their own factors") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  Measured one = measured_with(run, {}, "a trace");
  const Prediction slower = predict_with(run, one.costs, {0, 0.2});
  const Prediction plain = predict_with(run, one.costs, {});
  REQUIRE(plain.step.value > 0);
  one.figures = {
      {MeasuredPart::kMatrixProducts, predicted_figure(run, plain, MeasuredPart::kMatrixProducts).value},
      {MeasuredPart::kStreaming, predicted_figure(run, slower, MeasuredPart::kStreaming).value}};
  const auto learned = learn({one});
  REQUIRE(learned);
  const Posterior& posterior = learned->calibration.posterior;
  CHECK(posterior.lessons().size() == 2);
  CHECK(posterior.lessons()[0].slope[0] == doctest::Approx(1).epsilon(0.01));
  CHECK(posterior.lessons()[1].slope[1] == doctest::Approx(1).epsilon(0.01));
  CHECK(posterior.factors()[1] > posterior.factors()[0]);
}

TEST_CASE("of a trace whose step is another run's the kernels teach nothing") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  Measured one = measured_with(run, {}, "a trace of something else");
  const Prediction plain = predict_with(run, one.costs, {});
  one.figures = {
      {MeasuredPart::kStep, 0.2 * plain.typical.value},
      {MeasuredPart::kMatrixProducts, predicted_figure(run, plain, MeasuredPart::kMatrixProducts).value}};
  CHECK(!learn({one}));
}

TEST_CASE("two hundred runs are learned from in seconds") {
  std::vector<Measured> many;
  for (int i = 0; i < 200; ++i)
    many.push_back(
        measured_with(run_on_dgx("gpt2", 8, 8 * (i + 1), ""), {0.1 + 0.001 * (i % 7)}, fmt::format("{}", i)));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(learn(many));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  WARN(took.count() < 10);
  MESSAGE("200 runs: " << took.count() << " s");
}
