// What holds of every run's memory.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "predict/any_run.h"
#include "predict/uncertainty.h"

namespace foretrain {
namespace {

using std::int64_t;

TEST_CASE("counters of memory stand in order, and the chance to fit follows them") {
  CHECK(rc::check([] {
    const Run run = any_run();
    const Prediction p = predict(run);
    RC_ASSERT(Bytes(0) < p.peak_allocated);
    RC_ASSERT(p.peak_allocated <= p.peak_reserved);
    RC_ASSERT(p.peak_reserved <= p.peak);
    RC_ASSERT(!p.fits || p.needed <= run.cluster.gpu.usable);
    RC_ASSERT(p.fits == (p.fit_probability >= kFitsFrom));
    RC_ASSERT(p.needed <= p.peak);
    RC_ASSERT(p.fit_probability >= 0);
    RC_ASSERT(p.fit_probability <= 1);
    int64_t layers = 0;
    for (const StagePrediction& stage : p.stages) {
      layers += stage.layers;
      RC_ASSERT(stage.memory.allocated <= stage.memory.reserved);
      RC_ASSERT(stage.memory.reserved <= stage.memory.total);
      RC_ASSERT(stage.memory.needed <= p.needed);
    }
    RC_ASSERT(layers == run.model.layers());
    RC_ASSERT(static_cast<int64_t>(p.stages.size()) == run.plan.pp);
  }));
}

TEST_CASE("sharded optimizer states take less memory, if there is anybody to share with") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.shard = 0;
    run.plan.zero = 0;
    const Prediction whole = predict(run);
    run.plan.zero = 1;
    const Prediction sharded = predict(run);
    if (is_alone(run)) {
      RC_ASSERT(sharded.score() == whole.score());
    } else {
      RC_ASSERT(sharded.peak_allocated < whole.peak_allocated || run.stack.data_parallel.gather_copies > 0);
    }
  }));
}

// From ZeRO 2 on a unit's gradients come on top, from ZeRO 3 on the weights gathered for it: at most those of
// all units, with as many copies as there are formats. A stage of one unit (an embedding) has its gradient and two
// buffers of a reduction in fp32: five times its weights.
TEST_CASE("more of ZeRO never holds more states, and never more at all than units add") {
  CHECK(rc::check([] {
    Run run = any_run();
    std::vector<Prediction> by_level;
    for (run.plan.zero = 0; run.plan.zero <= 3; ++run.plan.zero) {
      run.plan.shard = 0;
      by_level.push_back(predict(run));
    }
    for (std::size_t zero = 1; zero <= 3; ++zero)
      for (std::size_t s = 0; s < by_level[0].stages.size(); ++s) {
        const StagePrediction& less = by_level[zero].stages[s];
        const StagePrediction& more = by_level[zero - 1].stages[s];
        RC_ASSERT(less.states.total() <= more.states.total());
        if (run.plan.dp > 1 && zero == 3 && less.parameters > 0)
          RC_ASSERT(less.states.weights < more.states.weights);
        RC_ASSERT(less.activations <= more.activations + more.states.weights * 6.0);
      }
  }));
}

TEST_CASE("adapters hold fewer states than the model, their floors hold, and ZeRO 3 holds least") {
  CHECK(rc::check([] {
    Run run = any_run();
    const Prediction all = predict(run);
    draw_adapters(run);
    Evaluator evaluator = evaluator_of(run);
    const Prediction adapted = evaluator.predict(run.plan, run.global_batch);
    for (std::size_t s = 0; s < all.stages.size(); ++s) {
      const StateBytes &few = adapted.stages[s].states, &many = all.stages[s].states;
      // Adapters of a small model may be as wide as its layers.
      RC_ASSERT(run.plan.lora > 16 || few.gradients + few.optimizer <= many.gradients + many.optimizer);
    }
    const PlanFloor floor = evaluator.floor(run.plan, run.global_batch);
    const Score score = evaluator.score(run.plan, run.global_batch);
    RC_ASSERT(floor.step <= score.step);
    RC_ASSERT(floor.peak <= score.needed);
    if (run.plan.zero == 3) return;
    Run sharded = run;
    sharded.plan.zero = 3;
    sharded.plan.shard = 0;
    if (!check_run(sharded)) return;
    const Prediction divided = predict(sharded);
    for (std::size_t s = 0; s < all.stages.size(); ++s)
      RC_ASSERT(divided.stages[s].states.total() <= adapted.stages[s].states.total() * (1 + kRounding));
  }));
}

TEST_CASE("tensor parallelism divides what a rank holds") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.sp = false;
    const Prediction wide = predict(run);
    run.plan.tp *= 2;
    run.gpus *= 2;
    RC_PRE(check_run(run).has_value());
    const Prediction narrow = predict(run);
    for (std::size_t s = 0; s < wide.stages.size(); ++s) {
      RC_ASSERT(narrow.stages[s].parameters <= wide.stages[s].parameters);
      RC_ASSERT(narrow.stages[s].parameters * 2 >= wide.stages[s].parameters);
      RC_ASSERT(narrow.stages[s].activations <= wide.stages[s].activations);
    }
    RC_ASSERT(narrow.peak_allocated < wide.peak_allocated);
  }));
}

TEST_CASE("sequence parallelism keeps fewer activations") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.sp = false;
    run.plan.partition_activations = std::nullopt;
    const Prediction whole = predict(run);
    run.plan.sp = true;
    RC_PRE(check_run(run).has_value());
    const Prediction split = predict(run);
    for (std::size_t s = 0; s < whole.stages.size(); ++s)
      if (whole.stages[s].layers > 0) {
        RC_ASSERT(split.stages[s].activations - split.stages[s].shared_buffers <=
                  whole.stages[s].activations);
      }
  }));
}

TEST_CASE("gpipe holds no less than 1f1b") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.schedule = ScheduleKind::kGpipe;
    const Prediction gpipe = predict(run);
    run.plan.schedule = ScheduleKind::k1f1b;
    RC_ASSERT(gpipe.needed >= predict(run).needed);
    if (run.plan.pp > 1)  // one stage has no pipeline
      for (const StagePrediction& stage : gpipe.stages) RC_ASSERT(stage.in_flight == run.micro_batches());
  }));
}

}  // namespace
}  // namespace foretrain
