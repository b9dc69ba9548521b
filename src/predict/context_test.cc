// Runs whose sequences are divided: what is shared with data ranks, and what is waited for.
#include <doctest/doctest.h>

#include "job/run_check.h"
#include "predict/testing.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

Run long_run(const char* plan, std::int64_t gpus = 8, std::int64_t global_batch = 8) {
  const Catalog catalog;
  Run run;
  run.model = catalog.model("llama-3-8b").value();
  run.cluster = catalog.cluster("dgx-h100").value();
  run.stack = catalog.stack("megatron").value();
  run.stack.rules.clear();
  run.plan = parse_plan(plan).value();
  run.gpus = gpus;
  run.seq = 65536;
  run.global_batch = global_batch;
  REQUIRE(check_run(run).has_value());
  return run;
}

TEST_CASE("context ranks share states as data ranks do, but not the batch") {
  const Run divided = long_run("cp=4,zero=1,recompute=full"), whole = long_run("zero=1,recompute=full");
  CHECK(divided.micro_batches() == 4);
  CHECK(whole.micro_batches() == 1);
  const Prediction a = predict(divided), b = predict(whole);
  CHECK(a.stages[0].states.optimizer == b.stages[0].states.optimizer);
  CHECK(cause(a, StepCause::kOptimizer) == cause(b, StepCause::kOptimizer));
  CHECK(cause(a, StepCause::kGradientReduce) == cause(b, StepCause::kGradientReduce));
  CHECK(cause(predict(long_run("cp=8,recompute=full")), StepCause::kGradientReduce) > Seconds(0));
  CHECK(a.mfu * a.step.value == doctest::Approx(b.mfu * b.step.value));  // the same training
}

// Neighbours of a ring on different nodes, each with a NIC of its own.
TEST_CASE("only what is not hidden behind blocks is waited for") {
  const auto waited = [](const char* plan, double links) {
    Run run = long_run(plan, 32, 32);
    run.cluster.inter.bandwidth = run.cluster.inter.bandwidth * links;
    return cause(predict(run), StepCause::kContextParallel);
  };
  const char* ring = "tp=8,sp=1,cp=4,zero=1,recompute=full";
  const char* gather = "tp=8,sp=1,cp=4,zero=1,recompute=full,cp_type=allgather";
  CHECK(waited(ring, 1) < waited(gather, 1));
  CHECK(waited(ring, 0.001) > 50 * waited(ring, 1));
  for (const char* plan : {ring, gather}) {
    CHECK(waited(plan, 0.5) >= waited(plan, 1));
    CHECK(waited(plan, 0.25) >= waited(plan, 0.5));
  }
  // On slow links both take what the same bytes take: forward, its repetition, and twice that backward.
  CHECK(waited(ring, 0.0001).value == doctest::Approx(waited(gather, 0.0001).value).epsilon(0.1));
}

// Of a ring over two nodes one rank alone sends from each to the other; a gather uses all their NICs.
TEST_CASE("a ring with several ranks a node leaves it through one NIC") {
  const auto waited = [](const char* plan) {
    Run run = long_run(plan, 16, 16);
    run.cluster.inter.bandwidth = run.cluster.inter.bandwidth * 0.0001;
    return cause(predict(run), StepCause::kContextParallel).value;
  };
  CHECK(waited("cp=16,zero=1,recompute=full") ==
        doctest::Approx(8 * waited("cp=16,zero=1,recompute=full,cp_type=allgather")).epsilon(0.02));
}

TEST_CASE("all-to-alls inside a node leave the ring between nodes less to carry") {
  const auto waited = [](const char* plan) {
    Run run = long_run(plan, 16, 16);
    run.cluster.inter.bandwidth = run.cluster.inter.bandwidth * 0.01;
    return cause(predict(run), StepCause::kContextParallel);
  };
  CHECK(waited("cp=16,zero=1,recompute=full,cp_type=a2a+p2p,cp_a2a=8") <
        waited("cp=16,zero=1,recompute=full,cp_type=p2p"));
}

TEST_CASE("a million tokens are answered, and need less on more ranks") {
  Run run = long_run("cp=32,zero=3,recompute=full", 64, 64);
  run.seq = 1'048'576;
  REQUIRE(check_run(run).has_value());
  const Prediction half = predict(run);
  run.plan = parse_plan("cp=64,zero=3,recompute=full").value();
  REQUIRE(check_run(run).has_value());
  CHECK(predict(run).needed < half.needed);
  CHECK(half.step.value > 0);
}

TEST_CASE("the first forward and the last backward have nobody's work to send their tokens beside") {
  const auto step = [](const char* plan, std::int64_t batch) {
    const Run run = run_of("mixtral-8x7b", "dgx-h100", 16, "megatron", plan, batch);
    return predict(run);
  };
  const std::string plan = "ep=8,zero=1,recompute=selective,recompute_modules=layernorm,dispatcher=alltoall,";
  const auto exposed = [&](std::int64_t batch) {
    return cause(step((plan + "overlap_dispatch=1").c_str(), batch), StepCause::kExpertParallel);
  };
  // What a step waits for hardly grows with its micro-batches, for work hides the rest: it is what one of them takes
  // in the open.
  const Seconds four = exposed(64), eight = exposed(128);
  const Seconds all = cause(step((plan + "overlap_dispatch=0").c_str(), 128), StepCause::kExpertParallel);
  CHECK((four * 2.0 - eight).value == doctest::Approx(all.value / 8).epsilon(0.3));
  CHECK((eight - four).value < 0.1 * all.value / 2);
  // A layer of the partner's 32 begins to hold before one of its own is released, and both work at a time.
  const double alone = step((plan + "overlap_dispatch=0").c_str(), 128).stages[0].activations.value,
               paired = step((plan + "overlap_dispatch=1").c_str(), 128).stages[0].activations.value;
  CHECK(paired > alone * (1 + 0.9 / 32));
  CHECK(paired < alone * 1.2);
}

}  // namespace
}  // namespace foretrain
