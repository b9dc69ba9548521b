#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "predict/any_run.h"
#include "predict/uncertainty.h"

namespace foretrain {
namespace {

using std::int64_t;

double layers_time(const StagePrediction& stage) { return (stage.forward + stage.backward).value; }

TEST_CASE("the causes of a step sum to it, and none is negative") {
  CHECK(rc::check([] {
    const Prediction p = predict(any_run());
    double sum = 0;
    for (const Seconds seconds : p.breakdown) {
      RC_ASSERT(seconds >= Seconds(0));
      sum += seconds.value;
    }
    RC_ASSERT(std::abs(sum - p.step.value) <= kRounding * p.step.value);
    for (const Seconds seconds : p.operators) RC_ASSERT(seconds >= Seconds(0));
  }));
}

TEST_CASE("origins are shares of one whole") {
  CHECK(rc::check([] {
    double sum = 0;
    for (const double share : predict(any_run()).origin_shares) {
      RC_ASSERT(share >= 0);
      sum += share;
    }
    RC_ASSERT(std::abs(sum - 1) <= kRounding);
  }));
}

TEST_CASE("a step lies within its interval, uses the GPUs partly and takes a positive time") {
  CHECK(rc::check([] {
    const Run run = any_run();
    const Prediction p = predict(run);
    RC_ASSERT(p.step.value > 0);
    RC_ASSERT(p.step.low() > 0);
    RC_ASSERT(p.step.low() < p.step.value);
    RC_ASSERT(p.step.value < p.step.high());
    RC_ASSERT(p.step.spread >= (run.gpus > 1 ? kComposition : kPassComposition));
    RC_ASSERT(p.mfu > 0);
    RC_ASSERT(p.mfu < 1);
    RC_ASSERT(p.params == parameters(run.model));
  }));
}

TEST_CASE("a step is at least every stage's passes, and stages are busy or idle, never both") {
  CHECK(rc::check([] {
    const Run run = any_run();
    const Prediction p = predict(run);
    const double step = p.step.value * (1 + kRounding);
    const double m = static_cast<double>(run.micro_batches());
    double way = 0;
    for (const StagePrediction& stage : p.stages) {
      way += layers_time(stage);
      RC_ASSERT(step >= m * layers_time(stage));
      RC_ASSERT(stage.busy.value >= m * layers_time(stage) * (1 - kRounding));
      RC_ASSERT(stage.idle.value >= -kRounding * step);
      RC_ASSERT(step >= (stage.busy + stage.idle).value);
    }
    RC_ASSERT(step >= way);
  }));
}

// With sends that block, a pass and its send are one slot; stretched to the longest of their kind, all stages
// are equal and take (m + p - 1) slots (timeline_test). No message takes longer than one stage's sends do.
TEST_CASE("a pipeline with blocking sends takes at most m + p - 1 of its longest slots") {
  CHECK(rc::check([] {
    const Run run = any_run();
    RC_PRE(run.stack.pipeline.blocking);
    const Prediction p = predict(run);
    const double m = static_cast<double>(run.micro_batches());
    double forward = 0, backward = 0, sends = 0;
    for (const StagePrediction& stage : p.stages) {
      forward = std::max(forward, stage.forward.value);
      backward = std::max(backward, stage.backward.value);
      sends = std::max(sends, 2 * (stage.busy.value / m - layers_time(stage)));
    }
    const double slots = m + static_cast<double>(run.plan.pp) - 1;
    for (const StagePrediction& stage : p.stages)
      RC_ASSERT((stage.busy + stage.idle).value <= slots * (forward + backward + sends) * (1 + kRounding));
  }));
}

// One thing about the cluster better by 10 to 400 %; the host's speed comes last.
constexpr int kHost = 6;
void improve(Cluster& cluster, int which) {
  const double better = 1 + 0.1 * *rc::gen::inRange(1, 40);
  RC_LOG() << "improvement " << which << " by " << better << '\n';
  if (which == 0) cluster.inter.bandwidth *= better;
  if (which == 1) cluster.intra.bandwidth *= better;
  if (which == 2) cluster.inter.latency *= 1 / better;
  if (which == 3) cluster.intra.latency *= 1 / better;
  if (which == 4) cluster.gpu.hbm *= better;
  if (which == 5)
    for (FlopsPerSecond& rate : cluster.gpu.rates) rate *= better;
  if (which == kHost) cluster.host_launch *= 1 / better;
}

TEST_CASE("with a host that is never late, better links and GPUs are never slower") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.offload = false;  // copies pace the passes, and gradients then come at other times
    run.cluster.host_launch = Seconds(0);
    const Seconds before = score_of(run).step;
    improve(run.cluster, *rc::gen::inRange(0, kHost));
    RC_ASSERT(score_of(run).step <= before * (1 + kRounding));
  }));
}

// Where the host sets the pace and carries its lead from pass to pass, a forward and a backward together take
// the host's time, and a faster GPU only moves the border between them. That may cost a little where the two
// do not count alike: gradients are reduced beside a backward, and of unequal stages one's forward counts and
// another's backward. Everywhere else the rule is exact.
TEST_CASE("better hardware is never slower") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.offload = false;  // likewise
    if (run.plan.pp == 1) {
      run.plan.overlap_grad_reduce = false;
    } else {
      RC_PRE(run.stack.pipeline.blocking);
    }
    const Seconds before = score_of(run).step;
    improve(run.cluster, *rc::gen::inRange(0, kHost + 1));
    RC_ASSERT(score_of(run).step <= before * (1 + kRounding));
  }));
}

// From two micro-batches on: with one alone nothing is accumulated. Two flushes in a row are a way to run
// twice the batch, and the schedule is no slower; what follows the passes comes once.
TEST_CASE("twice the batch takes longer, but at most twice as long") {
  CHECK(rc::check([] {
    Run run = any_run(2);
    const Prediction once = predict(run);
    run.global_batch *= 2;
    const Prediction twice = predict(run);
    RC_ASSERT(twice.step.value <= 2 * once.step.value * (1 + kRounding));
    const StagePrediction& slowest =
        *std::max_element(once.stages.begin(), once.stages.end(),
                          [](const auto& a, const auto& b) { return layers_time(a) < layers_time(b); });
    RC_ASSERT(twice.step.value >= once.step.value + layers_time(slowest));
    RC_ASSERT(twice.needed >= once.needed);
  }));
}

// What ZeRO 3 adds to ZeRO 1 is hidden at best; what it saves is the reduction after the last backward and
// the gather after the update, and the accumulation of whole gradients.
TEST_CASE("ZeRO 3 is no faster than ZeRO 1 without its reduction, gather and optimizer") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.stack.gradients.fused_accumulation = true;
    run.cluster.host_launch = Seconds(0);  // waiting for weights would give a late host time to catch up
    run.plan.shard = 0;
    run.plan.zero = 1;
    const Prediction one = predict(run);
    run.plan.zero = 3;
    const Prediction three = predict(run);
    // Muon alone exchanges matrices in its update.
    RC_ASSERT(run.plan.optimizer == OptimizerKind::kMuon ||
              cause(three, StepCause::kParameterGather) == Seconds(0));
    for (std::size_t s = 0; s < one.stages.size(); ++s) {
      RC_ASSERT(three.stages[s].forward.value >= one.stages[s].forward.value * (1 - kRounding));
      RC_ASSERT(three.stages[s].backward.value >= one.stages[s].backward.value * (1 - kRounding));
    }
  }));
}

TEST_CASE("weights gathered beside the next forward are never slower than after the update") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.shard = 0;
    run.plan.zero = *rc::gen::inRange(1, 3);
    run.plan.overlap_param_gather = false;
    const Seconds after = score_of(run).step;
    run.plan.overlap_param_gather = true;
    RC_ASSERT(score_of(run).step <= after * (1 + kRounding));
  }));
}

// A stage of one layer keeps its input beside the layer that it recomputes: two layers, then.
TEST_CASE("full recomputation holds less and takes longer") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.offload = false;  // less to copy may be faster than what is run again
    run.plan.mlp_chunks = 1;   // which runs again by itself
    run.plan.recompute = Recompute::kNone;
    const Prediction kept = predict(run);
    run.plan.recompute = Recompute::kFull;
    const Prediction again = predict(run);
    RC_ASSERT(again.step.value > kept.step.value);
    const bool has_layers = again.stages[static_cast<std::size_t>(again.busiest_stage)].layers > 0;
    RC_ASSERT((cause(again, StepCause::kRecompute) > Seconds(0)) == has_layers);
    RC_ASSERT(cause(kept, StepCause::kRecompute) == Seconds(0));
    for (std::size_t s = 0; s < kept.stages.size(); ++s) {
      if (kept.stages[s].layers >= 2) {
        // Gradients that live until a backward ends, or that the only backward makes, may be more than all
        // that it was kept for: then a layer made again in the end comes on top of them. Else the peak may
        // be the embedding's gradient, with both. Where layers differ, the widest may be the peak by itself,
        // as a single one is.
        const bool lazy = run.stack.states.lazy_gradients && run.micro_batches() == 1;
        if (!run.stack.gradients.autograd_copies && !lazy && run.model.blocks.size() == 1)
          RC_ASSERT(again.stages[s].activations <= kept.stages[s].activations);
      }
      RC_ASSERT(again.stages[s].states.total() == kept.stages[s].states.total());
    }
  }));
}

// With a host that is never late: what runs again spreads the host's calls over more operators, which may
// hide some of them.
TEST_CASE("selective recomputation takes as long as none or longer, and no longer than full") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.cluster.host_launch = Seconds(0);
    run.plan.recompute_layers = 0;
    run.plan.offload = false;
    const auto with = [&](Recompute recompute) {
      run.plan.recompute = recompute;
      return predict(run);
    };
    const Prediction kept = with(Recompute::kNone);
    const Prediction selective = with(Recompute::kSelective);
    const Prediction full = with(Recompute::kFull);
    RC_ASSERT(selective.step.value >= kept.step.value * (1 - kRounding));
    RC_ASSERT(full.step.value >= selective.step.value * (1 - kRounding));
  }));
}

TEST_CASE("a loss in pieces holds no more, and work in pieces is never less work") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.plan.offload = false;
    run.plan.loss = LossKind::kWhole;
    run.plan.loss_chunks = 0;
    run.plan.mlp_chunks = 1;
    const Prediction whole = predict(run);
    run.plan.mlp_chunks = 4;
    RC_PRE(check_run(run).has_value());
    // Between two waits of the host it runs ahead of short kernels, but not of one long one: a little may be won.
    RC_ASSERT(predict(run).mfu <= whole.mfu * 1.002);
    run.plan.mlp_chunks = 1;
    run.plan.loss = LossKind::kChunked;
    run.plan.loss_chunks = 8;
    RC_PRE(check_run(run).has_value());
    const Prediction pieces = predict(run);
    const StagePrediction& last = pieces.stages.back();
    RC_ASSERT(last.states.total() == whole.stages.back().states.total());
    if (run.plan.schedule == ScheduleKind::kGpipe || run.plan.schedule == ScheduleKind::k1f1b)
      RC_ASSERT(last.activations <= whole.stages.back().activations * (1 + kRounding));
  }));
}

TEST_CASE("sequences packed from documents never take longer than whole ones on even ranks") {
  CHECK(rc::check([] {
    Run run = any_run();
    RC_PRE(run.documents.stated());
    run.plan.document_imbalance = 1;
    const double packed = predict(run).step.value;
    run.documents = {};
    run.plan.document_imbalance.reset();
    const double alone = predict(run).step.value;
    RC_ASSERT(packed <= alone * (1 + 1e-4));  // the host's lead may settle a little otherwise
  }));
}

TEST_CASE("a lone replica reduces no gradients, several do") {
  CHECK(rc::check([] {
    const Run run = any_run();
    const Prediction p = predict(run);
    const Seconds reduce = cause(p, StepCause::kGradientReduce);
    const Seconds gather = cause(p, StepCause::kParameterGather);
    if (run.plan.dp == 1 && !is_alone(run)) return;  // experts alone are shared, by the stages that have some
    if (run.plan.dp == 1) {
      RC_ASSERT(reduce == Seconds(0));
      RC_ASSERT(gather == Seconds(0));
    } else {
      const bool by_step = run.plan.zero == 1 ||
                           (run.plan.zero == 2 && run.stack.data_parallel.zero2_gather == Zero2Gather::kStep);
      const bool exchanges = run.plan.optimizer == OptimizerKind::kMuon && run.plan.zero >= 2;
      RC_ASSERT(exchanges || (gather > Seconds(0)) == by_step);
    }
    const bool in_passes = run.plan.dp > 1 && run.plan.zero >= 2;
    RC_ASSERT((cause(p, StepCause::kDataParallel) > Seconds(0)) == in_passes);
    if (in_passes) RC_ASSERT(reduce == Seconds(0));
    if (run.plan.tp == 1) RC_ASSERT(cause(p, StepCause::kTensorParallel) == Seconds(0));
    if (run.plan.pp == 1) {
      RC_ASSERT(cause(p, StepCause::kPipelineSend) == Seconds(0));
      RC_ASSERT(cause(p, StepCause::kEmbeddingExchange) == Seconds(0));
    }
  }));
}

// Without latencies, of which several buckets pay more than one (the start of each, at most 30 us, stays),
// and without fits, by which small messages may get less of the links; nor with a host that is late, to which
// waiting gives time.
TEST_CASE("gradients reduced beside the backward are never slower than after it") {
  CHECK(rc::check([] {
    Run run = any_run();
    run.cluster.inter.latency = run.cluster.intra.latency = Seconds(0);
    run.cluster.host_launch = Seconds(0);
    run.cluster.collectives.clear();
    run.plan.overlap_grad_reduce = false;
    const Seconds after = score_of(run).step;
    run.plan.overlap_grad_reduce = true;
    const Seconds starts = microseconds(30) * static_cast<double>(run.model.layers());
    RC_ASSERT(score_of(run).step <= after * (1 + kRounding) + starts);
  }));
}

}  // namespace
}  // namespace foretrain
