#include "predict/evaluator.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "predict/testing.h"
#include "predict/uncertainty.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

using std::int64_t;

// Operations that count for the model's own flops: what mfu says, multiplied out again.
double useful_flops(const Run& run, const Prediction& p) {
  return p.mfu * p.step.value * static_cast<double>(run.gpus) *
         run.cluster.gpu.rate(precision_of(run.stack, run.plan)).value;
}

TEST_CASE("one GPU communicates with nobody") {
  for (const char* model : {"gpt2", "llama-2-7b", "pythia-1.4b"}) {
    for (const char* stack :
         {"generic", "hf-compile", "hf-eager", "llm-foundry", "megatron", "nanotron", "neox"}) {
      CAPTURE(model);
      CAPTURE(stack);
      const Prediction p = predict(run_of(model, "h200-1", 1, stack, "micro_batch=2", 8));
      for (const StepCause none :
           {StepCause::kTensorParallel, StepCause::kPipelineSend, StepCause::kGradientReduce,
            StepCause::kEmbeddingExchange, StepCause::kParameterGather, StepCause::kRecompute}) {
        CHECK(cause(p, none) == Seconds(0));
      }
      // Sums of passes, taken in another order.
      CHECK(cause(p, StepCause::kBubble).value <= 1e-12 * p.step.value);
      CHECK(cause(p, StepCause::kStageWait).value <= 1e-12 * p.step.value);
      CHECK(cause(p, StepCause::kForward) > Seconds(0));
      CHECK(cause(p, StepCause::kBackward) > cause(p, StepCause::kForward));
      CHECK(cause(p, StepCause::kOptimizer) > Seconds(0));
    }
  }
}

TEST_CASE("each kind of parallelism brings its own cause, and none without it") {
  const auto predicted = [](const char* plan, int64_t gpus) {
    return predict(run_of("gpt2", "perlmutter", gpus, "megatron", plan, 32));
  };
  const Prediction tensor = predicted("tp=4", 4);
  CHECK(cause(tensor, StepCause::kTensorParallel) > Seconds(0));
  CHECK(cause(tensor, StepCause::kGradientReduce) == Seconds(0));
  CHECK(cause(tensor, StepCause::kParameterGather) == Seconds(0));
  CHECK(cause(tensor, StepCause::kPipelineSend) == Seconds(0));

  const Prediction data = predicted("", 4);
  CHECK(cause(data, StepCause::kTensorParallel) == Seconds(0));
  CHECK(cause(data, StepCause::kGradientReduce) > Seconds(0));
  CHECK(cause(data, StepCause::kParameterGather) == Seconds(0));

  const Prediction sharded = predicted("zero=1", 4);
  CHECK(cause(sharded, StepCause::kGradientReduce) > Seconds(0));
  CHECK(cause(sharded, StepCause::kParameterGather) > Seconds(0));
  CHECK(cause(sharded, StepCause::kOptimizer) < cause(data, StepCause::kOptimizer));

  // gpt2 ties its embedding, so first and last stage exchange its gradient.
  const Prediction pipeline = predicted("pp=4", 4);
  CHECK(cause(pipeline, StepCause::kTensorParallel) == Seconds(0));
  CHECK(cause(pipeline, StepCause::kGradientReduce) == Seconds(0));
  CHECK(cause(pipeline, StepCause::kPipelineSend) > Seconds(0));
  CHECK(cause(pipeline, StepCause::kBubble) > Seconds(0));

  const Prediction again = predicted("recompute=full", 4);
  CHECK(cause(again, StepCause::kRecompute) > Seconds(0));
  CHECK(cause(data, StepCause::kRecompute) == Seconds(0));
}

TEST_CASE("messages that leave the node stall the hosts of a host-bound layer, each tensor-parallel rank's") {
  Run inside = run_of("gpt2", "aws-p5", 8, "nanotron", "tp=2,pp=2", 64);
  inside.cluster.host_stall = Seconds(0);
  const double without = predict(inside).step.value;
  inside.cluster.host_stall = microseconds(1200);
  CHECK(predict(inside).step.value == without);  // two stages of one node

  Run across = run_of("gpt2", "aws-p5", 16, "nanotron", "tp=2,pp=2", 64);
  across.cluster.host_stall = Seconds(0);
  const double two = predict(across).step.value;
  across.cluster.host_stall = microseconds(1200);
  CHECK(predict(across).step.value > two * 1.3);
}

TEST_CASE(
    "Muon's shards become whole matrices and go back: two all-to-alls for each eight of a kind on eight "
    "ranks") {
  const auto gather = [](const char* plan) {
    return cause(predict(run_of("llama-2-7b", "dgx-h100", 8, "fsdp2", plan, 8)), StepCause::kParameterGather);
  };
  // ZeRO 3 gathers in passes, so that nothing is left for the update but this.
  CHECK(gather("zero=3") == Seconds(0));
  const Run run = run_of("llama-2-7b", "dgx-h100", 8, "fsdp2", "zero=3,optimizer=muon", 8);
  const Network network(run.cluster, mesh_of(run.plan));
  const auto all_to_all = [&](double rows, double columns) {
    return network.cost({CollectiveKind::kAllToAll, GroupKind::kShard, Bytes(2 * rows * columns)}).seconds;
  };
  // 32 blocks of four matrices h x h and three h x f (fully_shard's blocks keep q, k, v, gate and up apart, or some joined).
  const MatrixKinds kinds = matrices_of(run.model, run.stack, {.tp = 1}, Chunk(32, true, true));
  Seconds expected;
  double elements = 0;
  for (std::size_t i = 0; i < kinds.size; ++i) {
    const auto& [n, l, count] = kinds.kinds[i];
    expected += all_to_all(static_cast<double>(n), static_cast<double>(l)) *
                (2 * std::ceil(static_cast<double>(count) / 8));
    elements += static_cast<double>(n * l * count);
  }
  CHECK(elements == 32.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008));
  CHECK(gather("zero=3,optimizer=muon").value == doctest::Approx(expected.value));
  // ZeRO 1 deals matrices whole; without ZeRO each rank has all.
  CHECK(gather("zero=1,optimizer=muon") == gather("zero=1"));
  CHECK(gather("optimizer=muon") == Seconds(0));
}

TEST_CASE("only a tied embedding is exchanged between first and last stage") {
  // On the first stage; the busiest may be one in between.
  const auto exchange = [](const char* model) {
    const Prediction p = predict(run_of(model, "perlmutter", 4, "megatron", "pp=2,tp=2", 8));
    CHECK(p.stages.size() == 2);
    return cause(p, StepCause::kEmbeddingExchange);
  };
  CHECK(exchange("gpt2") > Seconds(0));
  CHECK(exchange("pythia-1.4b") == Seconds(0));
}

TEST_CASE("throughput is tokens by GPUs and seconds") {
  const Run run = run_of("llama-2-7b", "dgx-h100", 16, "megatron", "tp=2,pp=2,micro_batch=2", 64);
  const Prediction p = predict(run);
  CHECK(p.tokens_per_s_per_gpu * p.step.value * 16 == doctest::Approx(64.0 * 4096).epsilon(1e-12));
  CHECK(p.params == 6738415616);
  CHECK(p.stages.size() == 2);
  CHECK(p.stages[0].layers + p.stages[1].layers == 32);
}

TEST_CASE("the model's operations are six a parameter and token, and attention's on top") {
  // The embedding is looked up, not multiplied: 6 (N - V h). Causal attention adds 12 l h s / 2 a token, half
  // of what PaLM counts (arXiv 2204.02311, appendix B). Norms, which N counts, are one in 25,000.
  const Run run = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "tp=2", 64);
  const double tokens = 64.0 * 4096;
  const double products = 6 * (6738415616.0 - 32000.0 * 4096) * tokens;
  const double attention = 6 * 32.0 * 4096 * 4096 * tokens;
  CHECK(useful_flops(run, predict(run)) == doctest::Approx(products + attention).epsilon(1e-4));
}

// What the fullest rank has more of tokens the others have less of, and rows of padding teach nothing.
TEST_CASE("useful operations of experts do not grow with their imbalance or with padding") {
  const auto flops_of = [](const char* plan) {
    const Run run = run_of("mixtral-8x7b", "dgx-h100", 16, "megatron", plan, 64);
    return useful_flops(run, predict(run));
  };
  const double even = flops_of("ep=8,etp=1,expert_imbalance=1");
  CHECK(flops_of("ep=8,etp=1,expert_imbalance=2") == doctest::Approx(even).epsilon(1e-3));
  CHECK(flops_of("ep=8,etp=1") == doctest::Approx(even).epsilon(1e-3));
  CHECK(flops_of("ep=8,etp=1,capacity_factor=4,capacity_pad=1") == doctest::Approx(even).epsilon(1e-3));
  CHECK(flops_of("expert_imbalance=1.5") ==
        doctest::Approx(even).epsilon(1e-3));  // one rank holds all experts
}

TEST_CASE("useful operations depend neither on repetition, nor on attention's kernels, nor on the split") {
  const auto flops_of = [](const char* plan) {
    const Run run = run_of("llama-2-7b", "dgx-h100", 16, "megatron", plan, 64);
    return useful_flops(run, predict(run));
  };
  const double plain = flops_of("");
  CHECK(flops_of("recompute=full") == doctest::Approx(plain).epsilon(1e-9));
  CHECK(flops_of("recompute=selective") == doctest::Approx(plain).epsilon(1e-9));
  CHECK(flops_of("attention=unfused") == doctest::Approx(plain).epsilon(1e-9));
  CHECK(flops_of("attention=unfused,recompute=selective") == doctest::Approx(plain).epsilon(1e-9));
  CHECK(flops_of("pp=4,zero=1") == doctest::Approx(plain).epsilon(1e-9));
  CHECK(flops_of("micro_batch=4,schedule=gpipe,pp=2") == doctest::Approx(plain).epsilon(1e-9));
  // 32000 is a multiple of 128 * 2: nothing is padded.
  CHECK(flops_of("tp=2,sp=true") == doctest::Approx(plain).epsilon(1e-9));
}

TEST_CASE("what does not fit is an answer, and a small model on a large GPU fits") {
  const Prediction small = predict(run_of("gpt2", "h200-1", 1, "hf-eager", "", 8));
  CHECK(small.fits);
  CHECK(small.fit_probability > 0.99);
  const Prediction large = predict(run_of("gpt3-175b", "h200-1", 1, "hf-eager", "", 8));
  CHECK_FALSE(large.fits);
  CHECK(large.fit_probability < 0.01);
  CHECK(large.step.value > small.step.value);
}

TEST_CASE(
    "the chance to fit falls as memory grows, from 1 through one half at the limit, the faster the better "
    "known") {
  const Bytes limit = gib(80);
  for (const Described described : {Described::kMeasured, Described::kDocumented, Described::kAssumed}) {
    double before = 1.0;
    CHECK(fit_probability(Bytes(0), limit, described) == 1.0);
    for (double n = 1; n < 640; n *= 1.05) {
      const double now = fit_probability(gib(n), limit, described);
      CHECK(now <= before);
      CHECK(now >= 0.0);
      before = now;
    }
    CHECK(fit_probability(limit, limit, described) == doctest::Approx(0.5));
    CHECK(before < 1e-6);
    CHECK(fit_probability(most_that_fits(limit, described), limit, described) == doctest::Approx(kFitsFrom));
  }
  CHECK(most_that_fits(limit, Described::kMeasured) > most_that_fits(limit, Described::kDocumented));
  CHECK(most_that_fits(limit, Described::kDocumented) > most_that_fits(limit, Described::kAssumed));
}

TEST_CASE("errors of one kind add, those of different kinds add in squares, the composition always counts") {
  SpreadSum none;
  CHECK(none.relative(Seconds(1), kComposition) == doctest::Approx(kComposition));
  SpreadSum two;
  two.add(Seconds(0.3));
  two.add(Seconds(0.4));
  CHECK(two.relative(Seconds(1), kComposition) == doctest::Approx(std::hypot(0.5, kComposition)));
  CHECK(two.relative(Seconds(0), kComposition) == kComposition);
}

TEST_CASE("layers written out as the stack's rule deals them change nothing") {
  // 96 layers over 8 stages, evenly.
  const Run by_rule = run_of("gpt3-175b", "selene", 64, "megatron", "tp=8,pp=8", 64);
  Run by_hand = by_rule;
  by_hand.plan.layers_per_stage.assign(8, 12);
  CHECK(score_of(by_hand) == score_of(by_rule));
  // Uneven stages wait for the slowest: four layers moved to one stage cost a third more a slot.
  by_hand.plan.layers_per_stage = {12, 12, 16, 12, 12, 12, 12, 8};
  CHECK(score_of(by_hand).step > score_of(by_rule).step * 1.1);
}

TEST_CASE("1f1b holds p - s micro-batches on stage s, gpipe all of them") {
  Run run = run_of("gpt2", "perlmutter", 4, "generic", "pp=4", 16);
  const Prediction one = predict(run);
  run.plan.schedule = ScheduleKind::kGpipe;
  const Prediction all = predict(run);
  for (std::size_t s = 0; s < 4; ++s) {
    CHECK(one.stages[s].in_flight == static_cast<int64_t>(4 - s));
    CHECK(all.stages[s].in_flight == 16);
    CHECK(one.stages[s].activations < all.stages[s].activations);
  }
}

// Plans that differ from the first in one thing each: a memo whose key forgot that thing would answer with
// another plan's parts. The batch is of two micro-batches, of one, and of many. On nodes of four, three
// tensor ranks share a node when they are alone, and else lie over two.
TEST_CASE("what the memos keep of one plan does not leak into another that differs in one thing") {
  struct Variant {
    const char* plan;
    int64_t gpus;
    int64_t global_batch;
  };
  const Variant variants[] = {{"tp=3", 12, 8},
                              {"tp=3", 3, 2},
                              {"tp=3", 12, 4},
                              {"tp=3", 12, 64},
                              {"tp=1", 4, 8},
                              {"tp=2", 8, 8},
                              {"tp=2,sp=true", 8, 8},
                              {"tp=3,pp=2", 24, 8},
                              {"tp=3,pp=2,schedule=gpipe", 24, 32},
                              {"tp=3,pp=2,layers_per_stage=7-5", 24, 8},
                              {"tp=3,pp=2,vpp=2", 24, 32},
                              {"tp=3,pp=2,vpp=3", 24, 32},
                              {"tp=3,pp=2,vpp=3,layers_per_stage=7-5", 24, 32},
                              {"tp=3,pp=2,vpp=2,layers_per_stage=2-3-5-2", 24, 32},
                              {"tp=3,pp=2,schedule=zb-h1", 24, 32},
                              {"tp=3,pp=2,schedule=zb-h2", 24, 32},
                              {"tp=3,pp=2,schedule=zbv", 24, 32},
                              {"tp=3,pp=2,schedule=dualpipe", 24, 32},
                              {"tp=3,pp=2,schedule=dualpipev", 24, 32},
                              {"tp=3,zero=1", 12, 8},
                              {"tp=3,zero=1,shard=2", 12, 8},
                              {"tp=3,zero=1,overlap_param_gather=true", 12, 8},
                              {"tp=3,zero=2", 12, 8},
                              {"tp=3,zero=2,overlap_grad_reduce=false", 12, 8},
                              {"tp=3,zero=3", 12, 8},
                              {"tp=3,zero=3,shard=2", 12, 8},
                              {"tp=3,zero=3,shard=1", 12, 8},
                              {"tp=3,zero=3,reduce_dtype=bf16", 12, 8},
                              {"tp=3,zero=3,pp=2,schedule=zb-h1", 24, 32},
                              {"tp=3,micro_batch=2", 12, 16},
                              {"tp=3,recompute=selective", 12, 8},
                              {"tp=3,recompute=full", 12, 8},
                              {"tp=3,recompute=full,partition_activations=true", 12, 8},
                              {"tp=3,attention=unfused", 12, 8},
                              {"tp=3,precision=fp16", 12, 8},
                              {"tp=3,grad_dtype=bf16", 12, 8},
                              {"tp=3,grad_dtype=fp32", 12, 8},
                              {"tp=3,reduce_dtype=bf16", 12, 8},
                              {"tp=3,overlap_grad_reduce=true", 12, 8}};
  for (const char* stack : {"generic", "hf-eager", "megatron"}) {
    std::vector<Run> runs;
    for (const Variant& v : variants)
      runs.push_back(run_of("gpt2", "perlmutter", v.gpus, stack, v.plan, v.global_batch));
    for (const bool reverse : {false, true}) {
      Evaluator used = evaluator_of(runs.front());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const Run& run = runs[reverse ? runs.size() - 1 - i : i];
        CAPTURE(stack);
        CAPTURE(to_text(run.plan));
        CHECK(used.score(run.plan, run.global_batch) == score_of(run));
        const Prediction whole = used.predict(run.plan, run.global_batch);
        const PlanEstimate brief = used.estimate(run.plan, run.global_batch);
        CHECK(brief.step.low() == whole.step.low());
        CHECK(brief.step.high() == whole.step.high());
        CHECK(brief.needed == whole.needed);
        CHECK(brief.fit_probability == whole.fit_probability);
      }
    }
  }
}

TEST_CASE("a run's assumptions travel with its prediction") {
  Run run = run_of("gpt2", "h200-1", 1, "hf-eager", "", 8);
  CHECK(predict(run).assumed == run.assumed);
  run.assumed.push_back("zero: 1 (the cheapest that fits)");
  CHECK(predict(run).assumed == run.assumed);
}

}  // namespace
}  // namespace foretrain
