#include "calibrate/calibration.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrate/calibration_text.h"
#include "calibrate/testing.h"
#include "predict/evaluator.h"
#include "predict/uncertainty.h"

using namespace foretrain;

namespace {

constexpr ClusterFactors kTruth = {0.10, 0.15, 0.30, 0.10, 0.20, 0, 0};

Calibration taught() {
  auto learned = learn(measured_with(varied_runs(), kTruth));
  REQUIRE(learned);
  learned->calibration.name = "mine";
  learned->calibration.origin = {"twelve runs"};
  return learned->calibration;
}

Prediction with(const Calibration& calibration, const Run& run, Standing& standing) {
  const auto costs = std::make_shared<const AnalyticCost>(run.cluster);
  const CalibratedRun there = calibrated(calibration, run, costs);
  Prediction prediction = predict(there.run, there.costs);
  standing = stand(calibration, run, costs, prediction);
  return prediction;
}

}  // namespace

TEST_CASE("a calibrated run is near its truth, and surer; one of another kind is less sure than that") {
  const Calibration calibration = taught();
  const Run run = run_on_dgx("llama-3-8b", 16, 64, "tp=4,zero=1");
  const auto costs = std::make_shared<const AnalyticCost>(run.cluster);
  Standing standing;
  const Prediction prediction = with(calibration, run, standing);
  const double truth = predict_with(run, costs, kTruth).step.value;
  CHECK(std::abs(std::log(truth / prediction.step.value)) <
        0.3 * std::abs(std::log(truth / standing.uncalibrated_s)));
  CHECK(prediction.step.spread < standing.uncalibrated_spread);
  CHECK(standing.differs.empty());
  CHECK(standing.likeness == 1);
  const Run other = run_on_dgx("llama-2-70b", 32, 64, "tp=8,pp=4,precision=fp8-delayed");
  Standing far;
  with(calibration, other, far);
  CHECK(far.settled < standing.settled);
  CHECK(far.differs.size() == 2);
}

TEST_CASE("a calibration is of its cluster alone") {
  const Calibration calibration = taught();
  Cluster cluster = run_on_dgx("gpt2", 8, 8, "").cluster;
  CHECK(check_applies(calibration, cluster, calibration.profile));
  cluster.price_per_gpu_hour = 1;  // no step follows it
  CHECK(check_applies(calibration, cluster, calibration.profile));
  Cluster slower = cluster;
  slower.inter.bandwidth = slower.inter.bandwidth / 2;
  const auto other = check_applies(calibration, slower, calibration.profile);
  REQUIRE(!other);
  CHECK(other.error().message.find("inter_gbytes") != std::string::npos);
  CHECK(!check_applies(calibration, cluster, "another"));
  cluster.gpu.name = "a100-80gb-sxm";
  CHECK(!check_applies(calibration, cluster, calibration.profile));
}

TEST_CASE("a run that was itself measured is what was measured, and as sure as a measurement") {
  const Run run = run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1");
  const Run like = run_on_dgx("llama-3-8b", 8, 32, "tp=4,zero=1");
  Measured one = measured_with(run, {}, "one");
  one.figures.front().seconds *= 1.2;
  const auto learned = learn({one});
  REQUIRE(learned);
  const double truth = one.figures.front().seconds;
  Standing standing, other;
  const Prediction prediction = with(learned->calibration, run, standing);
  CHECK(standing.measured);
  CHECK(prediction.step.value == doctest::Approx(truth).epsilon(0.01));
  CHECK(prediction.step.spread < 0.02);
  Prediction held_up = prediction;  // by an allocator that gives memory back, say
  held_up.step.above = 0.5;
  stand(learned->calibration, run, one.costs, held_up);
  CHECK(held_up.step.high() < 1.05 * truth);
  // One of its kind shares what the kind has, and no more.
  const Prediction near = with(learned->calibration, like, other);
  CHECK(!other.measured);
  CHECK(near.step.spread > 2 * prediction.step.spread);
  CHECK(near.step.value > other.uncalibrated_s);
  CHECK(near.step.value < 1.2 * other.uncalibrated_s);
}

TEST_CASE("what was held makes plans that need more unlikely to fit, and others surer") {
  Measured one = measured_with(run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1"), {}, "one");
  const Prediction before = predict(*one.run, one.costs);
  one.memory = before.peak * 1.1;
  const auto learned = learn({one, one});
  REQUIRE(learned);
  REQUIRE(learned->calibration.memory);
  CHECK(learned->calibration.memory->runs == 1);
  CHECK(learned->calibration.memory->held > 0);
  Standing standing;
  const Prediction after = with(learned->calibration, *one.run, standing);
  CHECK(after.usable < before.usable);
  CHECK(after.usable > before.usable / 1.1);
  // Half of the variance is each run's own, and stays.
  const double spread = memory_spread(one.run->stack.described);
  CHECK(memory_spread_after(learned->calibration.memory, spread) > std::sqrt(0.5) * spread);
  CHECK(memory_spread_after(learned->calibration.memory, spread) < spread);
}

TEST_CASE("a calibrated score is worked out by the same path: as many operators are asked for, once each") {
  class Counting final : public CostSource {
   public:
    Counting(std::shared_ptr<const CostSource> source, std::size_t& asked)
        : source_(std::move(source)), asked_(asked) {}
    OperatorCost cost(const Operator& op) const override { return ++asked_, source_->cost(op); }

   private:
    std::shared_ptr<const CostSource> source_;
    std::size_t& asked_;
  };
  const Calibration calibration = taught();
  const Run run = run_on_dgx("llama-3-8b", 16, 64, "tp=4,zero=1");
  std::size_t plain = 0, scaled_asks = 0;
  const auto physics = std::make_shared<const AnalyticCost>(run.cluster);
  Evaluator before(run.model, run.cluster, run.stack, run.seq, std::make_shared<Counting>(physics, plain));
  before.score(run.plan, run.global_batch);
  const auto counting = std::make_shared<Counting>(physics, scaled_asks);
  const CalibratedRun there = calibrated(calibration, run, counting);
  Evaluator after(run.model, there.run.cluster, run.stack, run.seq, there.costs);
  after.score(run.plan, run.global_batch);
  CHECK(plain == scaled_asks);
  const std::size_t cold = scaled_asks;
  after.score(run.plan, run.global_batch);
  CHECK(scaled_asks == cold);  // warm: the factors are not even looked at
}

TEST_CASE("a calibration is read back as it was written") {
  const Calibration calibration = taught();
  const std::string text = calibration_yaml(calibration);
  const auto read = parse_calibration({"calibration.yaml", text});
  REQUIRE_MESSAGE(read.has_value(), (read ? "" : read.error().text()));
  CHECK(calibration_yaml(*read) == text);
  CHECK(read->cluster == "dgx-h100");
  const RunKind kind = calibration.posterior.lessons().front().kind;
  for (std::size_t k = 0; k < kClusterFactorCount; ++k)
    CHECK(read->factors_for(kind)[k] == doctest::Approx(calibration.factors_for(kind)[k]));
}

TEST_CASE("what a file says of memory is what was held") {
  Measured one = measured_with(run_on_dgx("llama-3-8b", 8, 32, "tp=8,zero=1"), {}, "one");
  one.memory = predict(*one.run, one.costs).peak * 1.1;
  const auto learned = learn({one});
  REQUIRE(learned);
  std::string text = calibration_yaml(learned->calibration);
  REQUIRE(parse_calibration({"calibration.yaml", text}));
  const std::size_t at = text.find("memory: {times: 1.");
  REQUIRE(at != std::string::npos);
  text.replace(at, 18, "memory: {times: 2.");
  const auto read = parse_calibration({"calibration.yaml", text});
  REQUIRE(!read);
  CHECK(read.error().text().find("what was held gives") != std::string::npos);
}

TEST_CASE("a file that was edited, cut or misspelt is refused with its place") {
  const std::string text = calibration_yaml(taught());
  const auto with_instead = [&](std::string_view was, std::string_view is) {
    std::string other = text;
    const std::size_t at = other.find(was);
    REQUIRE(at != std::string::npos);
    other.replace(at, was.size(), is);
    const auto read = parse_calibration({"mine/calibration.yaml", other});
    REQUIRE(!read);
    CHECK(read.error().text().starts_with("mine/calibration.yaml:"));
    return read.error().text();
  };
  CHECK(with_instead("version: 1", "version: 2").find("version") != std::string::npos);
  CHECK(with_instead("products: {times: ", "products: {times: 9").find("the lessons give") !=
        std::string::npos);
  CHECK(with_instead("measured_s: ", "measured_s: 9").find("fingerprint") != std::string::npos);
  CHECK(with_instead("gpus_per_node: ", "gpus_per_node: [], x: ").find("calibration.yaml") !=
        std::string::npos);
  CHECK(with_instead("lessons:", "lesson:").find("lessons") != std::string::npos);
  CHECK(with_instead("part: step", "part: steps").find("step") != std::string::npos);
  CHECK(with_instead("weight: ", "weight: -").find("weight") != std::string::npos);
}
