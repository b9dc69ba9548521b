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

}  // namespace foretrain
