#include "report/training.h"

#include <doctest/doctest.h>

namespace foretrain {

TEST_CASE("training takes whole steps, and money is GPU-hours times the price") {
  Run run;
  run.gpus = 100;
  run.global_batch = 10;
  run.seq = 100;  // 1,000 tokens a step
  Prediction prediction;
  prediction.typical = Seconds(36);

  // 99,001 tokens need 100 steps: an hour on 100 GPUs.
  const Training free = training(run, prediction, 99'001);
  CHECK(free.steps == 100);
  CHECK(free.duration.value == doctest::Approx(3600));
  CHECK(free.days() == doctest::Approx(1.0 / 24));
  CHECK(free.gpu_hours == doctest::Approx(100));
  CHECK_FALSE(free.usd.has_value());

  run.cluster.price_per_gpu_hour = 2.5;
  CHECK(*training(run, prediction, 99'001).usd == doctest::Approx(250));
  CHECK(training(run, prediction, 99'000).steps == 99);
  CHECK(training(run, prediction, 1).steps == 1);
}

TEST_CASE(
    "stalls count by their mean, pauses by how often they come, the step's interval is the training's") {
  Run run;
  run.gpus = 1;
  run.global_batch = run.seq = 1;
  run.pauses = {{"checkpoint", 40, Seconds(5)}, {"evaluation", 100, Seconds(60)}};
  Prediction prediction;
  prediction.step = {2.0, 0.1, Origin::kAnalytic};
  prediction.typical = Seconds(3);
  prediction.jitter = StepDistribution{Seconds(2), Seconds(3), Seconds(20), Seconds(6)};
  // 100 steps of 6 s in the mean, where half take no more than 3; two checkpoints, one evaluation.
  const Training whole = training(run, prediction, 100);
  CHECK(whole.pauses.value == doctest::Approx(70));
  CHECK(whole.duration.value == doctest::Approx(670));
  CHECK(whole.low.value == doctest::Approx(600 * prediction.step.low() / 2 + 70));
  CHECK(whole.high.value == doctest::Approx(600 * prediction.step.high() / 2 + 70));
}

}  // namespace foretrain
