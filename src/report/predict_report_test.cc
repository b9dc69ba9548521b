#include "report/predict_report.h"
#include "report/memory_report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/yaml.h"

namespace foretrain {
namespace {

Run two_stages() {
  Run run;
  run.model.name = "small";
  run.cluster.name = "lab";
  run.cluster.gpu.name = "a100";
  run.stack.name = "neox";
  run.stack.gradients.fp16_stays = true;
  run.stack.parts.embedding = {{.kind = OperatorKind::kDropout, .when = Condition::kDropout}};
  run.profile = "analytic";
  run.plan.pp = 2;
  run.plan.dp = 2;
  run.plan.micro_batch = 4;
  run.gpus = 4;
  run.seq = 1024;
  run.global_batch = 64;  // 8 micro-batches on each of two replicas
  return run;
}

void set(Prediction& p, StepCause cause, double seconds) {
  p.breakdown[static_cast<std::size_t>(cause)] = Seconds(seconds);
}

Prediction prediction() {
  Prediction p;
  p.step = {.value = 2.0, .spread = 0.1};  // exp(0.128) = 1.137: from 1.76 to 2.27
  p.typical = Seconds(2.0);
  p.tokens_per_s_per_gpu = 8192;
  p.mfu = 0.4;
  p.params = 1'300'000'000;
  p.fits = true;
  p.fit_probability = 0.97;
  p.usable = gib(79.25);
  p.peak = gib(60);
  p.needed = gib(58);
  set(p, StepCause::kForward, 0.5);
  set(p, StepCause::kBackward, 1.0);
  set(p, StepCause::kBubble, 0.5);
  p.operators[static_cast<std::size_t>(OperatorKind::kLinear)] = Seconds(1.25);
  p.operators[static_cast<std::size_t>(OperatorKind::kAdamw)] = Seconds(0.0625);
  p.origin_shares[static_cast<std::size_t>(Origin::kAnalytic)] = 1;
  p.busiest_stage = 1;
  StagePrediction stage;
  stage.layers = 12;
  stage.parameters = 650'000'000;
  stage.forward = Seconds(0.0625);
  stage.backward = Seconds(0.125);
  stage.busy = Seconds(1.5);
  stage.idle = Seconds(0.25);
  stage.in_flight = 2;
  stage.states = {gib(1.25), gib(2.5), gib(7.5)};
  stage.activations = gib(40);
  stage.working = gib(4);
  stage.saved[static_cast<std::size_t>(OperatorKind::kLinear)] = gib(30);
  stage.saved[static_cast<std::size_t>(OperatorKind::kCrossEntropy)] = gib(6);
  stage.moment.pass = PassKind::kBackward;
  stage.memory = {gib(51.25), gib(55), gib(60), gib(58)};
  p.stages = {stage, stage};
  p.stages[0].in_flight = 1;
  return p;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// JSON is YAML's subset, so the reader at hand checks that the text parses and that no key comes twice.
Node parsed(const std::string& json) {
  auto node = parse_yaml(json, "report.json");
  REQUIRE_MESSAGE(node.has_value(), (node ? "" : node.error().text()));
  return *std::move(node);
}

double number(const Node& map, std::string_view key) {
  const Node* node = map.find(key);
  REQUIRE_MESSAGE(node != nullptr, std::string(key));
  const auto value = node->number(-1e300, 1e300);
  REQUIRE_MESSAGE(value.has_value(), std::string(key));
  return *value;
}

}  // namespace

TEST_CASE("the text begins with the run, the step and the memory") {
  const std::string text = predict_text(two_stages(), prediction());
  CHECK(text.starts_with(
      "small (1.3 B parameters) on lab: 4 x a100, stack neox, profile analytic\n"
      "plan        pp=2,dp=2,micro_batch=4\n"
      "choices     flash attention, fp32 gradients, reduced in fp32 after the backward, no dropout\n"
      "batch       64 x 1024 tokens a step, 8 micro-batches\n"
      "\n"
      "step        2 s, 80 % interval 1.76 s to 2.27 s\n"
      "interval    rests on 100 % analytic; a stack whose steps were measured\n"
      "throughput  8.19 k tokens/s/GPU, 32.8 k tokens/s in all, MFU 40.0 %\n"
      "memory      needs 58 GiB of 79.2 GiB usable: fits (97 % sure); nvidia-smi would show 60 GiB\n"));
  CHECK_FALSE(has(text, "typical"));  // nothing is known of jitter
  CHECK_FALSE(has(text, "training"));
}

TEST_CASE("what the stack decides is told as it came out, in words and in JSON") {
  Run run = two_stages();
  run.plan.precision = "fp16";
  run.plan.attention = AttentionKind::kUnfused;
  run.stack.data_parallel.overlap = true;
  run.stack.default_dropout = 0.1;
  CHECK(has(
      predict_text(run, prediction()),
      "choices     unfused attention, fp16 gradients, reduced in fp16 beside the backward, dropout 0.1\n"));
  const Node root = parsed(predict_json(run, prediction()));
  const Node& told = *root.find("run");
  CHECK(*told.find("profile")->text() == "analytic");
  CHECK(number(told, "dropout") == 0.1);
  const Node& plan = *told.find("plan");
  CHECK(*plan.find("attention")->text() == "unfused");
  CHECK(*plan.find("grad_dtype")->text() == "fp16");
  CHECK(*plan.find("reduce_dtype")->text() == "fp16");
  CHECK(*plan.find("overlap_grad_reduce")->text() == "true");
  CHECK(*plan.find("partition_activations")->text() == "false");

  run.plan.dp = 1;  // nobody to reduce with
  run.plan.pp = 4;
  run.model.dropout = 0.0;
  CHECK(has(predict_text(run, prediction()), "choices     unfused attention, fp16 gradients, no dropout\n"));
  CHECK(*plan.find("schedule")->text() == "1f1b");

  run.plan.vpp = 3;  // 1f1b over several chunks is another schedule
  CHECK(has(predict_text(run, prediction()), "no dropout, interleaved schedule with 3 chunks a stage\n"));
  const Node chunked = parsed(predict_json(run, prediction()));
  CHECK(*chunked.find("run")->find("plan")->find("schedule")->text() == "interleaved");
}

TEST_CASE("causes are told longest first, and those that take no time are left out") {
  const std::string text = predict_text(two_stages(), prediction());
  // A bar of 40 is the whole step; equal causes stay in their own order.
  CHECK(has(text,
            "where the time goes (the busiest stage, 2 of 2)\n"
            "                s     %\n"
            "  backward  1.000  50.0  ####################\n"
            "  forward   0.500  25.0  ##########\n"
            "  bubble    0.500  25.0  ##########\n"
            "\n"));
  CHECK_FALSE(has(text, "recompute"));
}

TEST_CASE("a step under a second is told in milliseconds") {
  Prediction p = prediction();
  p.step.value = 0.5;
  p.typical = Seconds(0.5);
  p.breakdown = {};
  set(p, StepCause::kForward, 0.5);
  CHECK(has(predict_text(two_stages(), p), "  forward  500.00  100.0  "));
}

TEST_CASE("stages that read the same share a row") {
  Prediction p = prediction();
  const std::string text = predict_text(two_stages(), p);
  CHECK(has(text, "\n  1-2        12    0.062     0.125  1.500  0.250\n"));  // equal times
  CHECK(has(
      text,
      "\n  1           650 M          1     1.25       2.50       7.50     0.00        40.00      51.25"));
  CHECK(has(
      text,
      "\n  2           650 M          2     1.25       2.50       7.50     0.00        40.00      51.25"));
}

TEST_CASE("the peak is told by what it consists of, and when it is") {
  const Prediction p = prediction();
  CHECK(has(predict_text(two_stages(), p),
            "activations of stage 1 at the peak, in a backward (GiB)\n"
            "  linear 30.00, logits 6.00, the pass at work 4.00\n"));
  Bytes sum;
  for (const MemoryPart& part : memory_parts(p.stages[0])) sum += part.bytes;
  CHECK(sum.value == doctest::Approx(p.stages[0].memory.total.value));
  StagePrediction in_step = p.stages[0];
  in_step.peak_in_step = true;
  CHECK(peak_words(in_step) == "in the optimizer's step");
  sum = Bytes(0);
  for (const MemoryPart& part : memory_parts(in_step)) sum += part.bytes;
  CHECK(sum.value == doctest::Approx(in_step.memory.total.value));
}

TEST_CASE("few operators are all named, many are summed up") {
  Prediction p = prediction();
  CHECK(has(predict_text(two_stages(), p),
            "  linear  1.250  62.5  #########################\n  adamw   0.062   3.1  #\n"));
  p.operators = {};
  for (std::size_t i = 0; i < 13; ++i) p.operators[i] = Seconds(0.01 * static_cast<double>(i + 1));
  // Thirteen run; eight are named, the five shortest (0.01 to 0.05 s) are summed up.
  const std::string text = predict_text(two_stages(), p);
  CHECK(has(text, "  5 others      0.150  7.5  ###\n"));
  CHECK(has(text, "  layernorm     0.050") == false);
}

TEST_CASE("what does not fit is said plainly") {
  Prediction p = prediction();
  p.fits = false;
  p.fit_probability = 0.001;
  CHECK(has(predict_text(two_stages(), p), "usable: does not fit (over 99 % sure); nvidia-smi"));
  CHECK(has(predict_text(two_stages(), p), "\nno change of up to three of tp, sp, pp, cp, ep, zero"));
  p.fit_probability = 0.5;
  CHECK(has(predict_text(two_stages(), p), "usable: may not fit (50 % that it does); nvidia-smi"));
  FittingPlan near;
  near.plan = two_stages().plan;
  near.plan.zero = 1;
  near.plan.micro_batch = 2;
  near.score = {Seconds(2.5), 0.1, gib(50), gib(48), true};
  near.fit_probability = 0.97;
  p.would_fit = {near};
  CHECK(has(predict_text(two_stages(), p),
            "\nwhat would fit (the nearest plans, the fastest of equals first)\n"
            "  change                 step   needs\n"
            "  zero=1,micro_batch=2  2.5 s  48 GiB  97 % sure\n"));
}

TEST_CASE("one stage needs no table of stage times, and a known jitter gives a typical step") {
  Run run = two_stages();
  run.plan.pp = 1;
  Prediction p = prediction();
  p.stages.resize(1);
  p.typical = Seconds(2.2);
  p.jitter = StepDistribution{Seconds(2), Seconds(2.2), Seconds(3)};
  const std::string text = predict_text(run, p);
  CHECK(has(text, "where the time goes\n"));
  CHECK_FALSE(has(text, "time by stage"));
  CHECK(
      has(text, "typical     2.2 s, the median with this cluster's jitter; one step in ten takes over 3 s"));
}

TEST_CASE("training and assumptions are told where there are any") {
  Run run = two_stages();
  run.cluster.price_per_gpu_hour = 6.88;
  Prediction p = prediction();
  p.assumed = {"seq: 1024 (the model's own)"};
  // 65,536,000,000 tokens are 10^6 steps of 2 s: 2222 GPU-hours on 4 GPUs.
  const Training whole = training(run, p, 65.536e9);
  const std::string text = predict_text(run, p, &whole);
  CHECK(has(text, "training    65.5 B tokens: 1,000,000 steps, 23.1 days (80 % interval "));
  CHECK(has(text, "), 2,222 GPU-hours, 15,290 USD (6.88 a GPU-hour)\n"));
  CHECK(text.ends_with("assumed\n  seq: 1024 (the model's own)\n"));
}

TEST_CASE("the JSON holds the contract's keys, and the causes sum to the step") {
  const Node root = parsed(predict_json(two_stages(), prediction()));
  for (const char* key : {"step_s", "step_low_s", "step_high_s", "typical_s", "tokens_per_s_per_gpu", "mfu",
                          "params", "fits", "verdict", "fit_probability", "peak_bytes", "usable_bytes",
                          "breakdown_s", "operators_s", "origin_shares", "stages", "run", "assumed"})
    CHECK_MESSAGE(root.find(key) != nullptr, key);
  CHECK(root.find("training") == nullptr);

  double sum = 0;
  for (const auto& [cause, seconds] : root.find("breakdown_s")->entries) sum += *seconds.number(0, 1e9);
  CHECK(sum == number(root, "step_s"));
  CHECK(number(root, "step_low_s") == prediction().step.low());
  CHECK(number(root, "peak_bytes") == 60.0 * 1073741824);
  CHECK(number(*root.find("operators_s"), "linear") == 1.25);
  CHECK(number(*root.find("origin_shares"), "analytic") == 1);

  const Node& run = *root.find("run");
  CHECK(number(run, "micro_batches") == 8);
  CHECK(number(*run.find("plan"), "pp") == 2);
  CHECK(*run.find("plan")->find("schedule")->text() == "1f1b");
  REQUIRE(root.find("stages")->items.size() == 2);
  const Node& stage = root.find("stages")->items[1];
  CHECK(number(stage, "optimizer_bytes") == 7.5 * 1073741824);
  CHECK(number(stage, "in_flight") == 2);
}

TEST_CASE("the JSON tells what training costs, in money where there is a price") {
  Run run = two_stages();
  Training whole = training(run, prediction(), 65.536e9);
  const Node free = parsed(predict_json(run, prediction(), &whole));
  CHECK(number(*free.find("training"), "steps") == 1e6);
  CHECK(number(*free.find("training"), "seconds") == 2e6);
  CHECK(free.find("training")->find("usd") == nullptr);
  run.cluster.price_per_gpu_hour = 9;
  whole = training(run, prediction(), 65.536e9);
  const Node priced = parsed(predict_json(run, prediction(), &whole));
  CHECK(number(*priced.find("training"), "usd") == doctest::Approx(20'000));  // 8e6 GPU-seconds
}

TEST_CASE("names that hold control characters do not break a line") {
  Run run = two_stages();
  run.model.name = "two\nlines";
  CHECK(predict_text(run, prediction()).starts_with("two\\nlines (1.3 B parameters) on lab"));
  CHECK(has(predict_json(run, prediction()), R"("model": "two\nlines")"));
}

}  // namespace foretrain
