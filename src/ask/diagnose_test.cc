#include "ask/diagnose.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/field_mark.h"
#include "base/gzip.h"
#include "base/text.h"

namespace foretrain {
namespace {

// The arguments and the lines of steps as Megatron prints them, of a run on so many GPUs.
std::string log_of(const std::vector<double>& seconds, std::string_view more = "", double reserved_mb = 0) {
  std::string text = "------------------------ arguments ------------------------\n";
  const std::pair<std::string_view, std::string_view> arguments[] = {
      {"num_layers", "32"},
      {"hidden_size", "4096"},
      {"ffn_hidden_size", "11008"},
      {"num_attention_heads", "32"},
      {"seq_length", "4096"},
      {"max_position_embeddings", "4096"},
      {"micro_batch_size", "1"},
      {"global_batch_size", "64"},
      {"tensor_model_parallel_size", "2"},
      {"pipeline_model_parallel_size", "1"},
      {"world_size", "16"},
      {"swiglu", "True"},
      {"normalization", "RMSNorm"},
      {"position_embedding_type", "rope"},
      {"untie_embeddings_and_output_weights", "True"},
      {"add_bias_linear", "False"},
      {"padded_vocab_size", "32000"},
      {"bf16", "True"},
      {"use_distributed_optimizer", "True"},
      {"use_flash_attn", "True"},
      {"hidden_dropout", "0.0"},
      {"attention_dropout", "0.0"},
      {"recompute_granularity", "full"},
      {"recompute_method", "uniform"},
      {"recompute_num_layers", "1"}};
  for (const auto& [key, value] : arguments) text += fmt::format("  {} {:.>30} {}\n", key, "", value);
  text += more;
  text += "-------------------- end of arguments ---------------------\n";
  if (reserved_mb > 0)
    text += fmt::format(
        "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: "
        "{0:.1f} | max reserved: {0:.1f}\n",
        reserved_mb);
  for (std::size_t i = 0; i < seconds.size(); ++i)
    text += fmt::format(
        " iteration {:8}/{:8} | elapsed time per iteration (ms): {:.1f} | global batch size: {:5} | lm "
        "loss: {:.6E} |\n",
        i + 1, 1000, 1000 * seconds[i], 64, 9.0 - 0.01 * static_cast<double>(i));
  return text;
}

DiagnoseRequest request(std::string text) {
  DiagnoseRequest out;
  out.measured = {"train.log", std::move(text)};
  out.run.cluster = "dgx-h100";
  out.time = "0s";
  return out;
}

DiagnosedRun answered(const DiagnoseRequest& asked) {
  Session session(no_files());
  auto answer = ask(session, asked);
  REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text()));
  return *std::move(answer);
}

// What the run is predicted with.
double expected_step() { return answered(request(log_of({1, 1, 1}))).diagnosis.expected.value; }

bool has(const DiagnosedRun& run, std::string_view kind) {
  const auto& findings = run.diagnosis.findings;
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.kind == kind; });
}

TEST_CASE("a log that states its run needs a cluster and nothing else") {
  const double step = expected_step();
  const DiagnosedRun run = answered(request(log_of(std::vector<double>(20, step))));
  CHECK(run.run.gpus == 16);
  CHECK(run.run.plan.tp == 2);
  CHECK(run.run.global_batch == 64);
  CHECK(run.diagnosis.verdict == SpeedVerdict::kAsExpected);
  CHECK(run.diagnosis.ratio == doctest::Approx(1).epsilon(0.001));
}

TEST_CASE("a run that is slow by its stalls is told so") {
  const double step = expected_step();
  std::vector<double> seconds(41, step);
  for (std::size_t i = 3; i < seconds.size(); i += 4)
    seconds[i] = 2.2 * step;  // a quarter, by 1.2 steps: 30 %
  const DiagnosedRun run = answered(request(log_of(seconds)));
  CHECK(run.diagnosis.verdict == SpeedVerdict::kSlower);
  CHECK(run.diagnosis.is_stalled);
  CHECK(run.diagnosis.ratio == doctest::Approx(1).epsilon(0.001));
  CHECK(run.diagnosis.measured.with_stalls == doctest::Approx(1.3).epsilon(0.01));
  CHECK(has(run, "stalls"));
}

TEST_CASE("a run near the memory limit is told so") {
  const DiagnosedRun run = answered(request(log_of(std::vector<double>(20, expected_step()), "", 78'500)));
  CHECK(has(run, "memory_full"));
  CHECK(run.diagnosis.measured.memory_counter == "max reserved");
}

TEST_CASE("a plan without overlap is told to overlap, with the step before and after") {
  const DiagnosedRun run = answered(request(log_of(std::vector<double>(20, expected_step()))));
  const auto& list = run.better.one_change;
  const auto overlap = std::find_if(list.begin(), list.end(), [](const BetterPlan& plan) {
    return plan.run.plan.overlap_grad_reduce == true;
  });
  const auto less = std::find_if(list.begin(), list.end(), [](const BetterPlan& plan) {
    return plan.run.plan.recompute != Recompute::kFull || plan.run.plan.recompute_layers > 0;
  });
  REQUIRE(overlap != list.end());
  REQUIRE(less != list.end());
  CHECK(overlap->prediction.step.value < run.prediction.step.value);
  CHECK(less->gain > overlap->gain);  // a third of the backward is run for nothing
}

TEST_CASE("flags of the log that change time and are not modelled are causes") {
  const std::string flag = "  deterministic_mode .............................. True\n";
  const DiagnosedRun run = answered(request(log_of(std::vector<double>(20, 2 * expected_step()), flag)));
  CHECK(run.diagnosis.verdict == SpeedVerdict::kSlower);
  CHECK(has(run, "not_modelled"));
}

TEST_CASE("what is missing is asked for by name, with what was read") {
  Session session(no_files());
  DiagnoseRequest asked;
  asked.measured = {
      "x.log",
      "GPU: NVIDIA H100 80GB HBM3\niter 1: loss 4.0, time 561.94ms\niter 2: loss 3.9, time 560.0ms\n"};
  const auto answer = ask(session, asked);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().kind == ErrorKind::kInput);
  const std::string text =
      text_of(answer.error(), [](std::string_view field) { return "<" + std::string(field) + ">"; });
  for (const char* part : {"<model>", "<cluster>", "<gpus>", "<run>", "nanogpt", "dgx-h100"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
}

TEST_CASE("words and a run's file come before what the log states") {
  DiagnoseRequest asked = request(log_of(std::vector<double>(20, 1.0)));
  asked.run.global_batch = "32";
  const DiagnosedRun words = answered(asked);
  CHECK(words.run.global_batch == 32);
  CHECK(has(words, "batch_differs"));
  asked.run.runs = {{"mine.yaml", "{model: llama-2-13b, gpus: 8, global_batch: 8}"}};
  asked.run.global_batch.clear();
  CHECK(answered(asked).run.model.name == "llama-2-13b");
  asked.run.runs.push_back(asked.run.runs.front());
  Session session(no_files());
  CHECK_FALSE(ask(session, asked));
}

TEST_CASE("who asked may leave, and may have less of the machine and of time than all of it") {
  Session session(no_files());
  DiagnoseRequest asked = request(log_of({3, 2, 2, 2, 2, 2}));
  asked.time = "20s";
  const std::atomic<bool> left = true;
  asked.share = {1, &left};
  const auto answer = ask(session, asked);
  REQUIRE(answer);
  CHECK(answer->better.candidates > 0);
  CHECK(answer->better.is_interrupted);
  asked.most_seconds = 10;
  const auto longer = ask(session, asked);
  REQUIRE(!longer);
  CHECK(longer.error().message == "found '20s', expected at most 10s");
}

TEST_CASE("a trace, packed or not, is held against the prediction by what its kernels are") {
  std::string events;
  const auto add = [&](const char* category, const char* name, double at, double us, int number) {
    events += fmt::format(
        R"({}{{"ph":"X","cat":"{}","name":"{}","ts":{},"dur":{},"pid":0,"tid":{},"args":{{"correlation":{},"stream":7,"device":0}}}})",
        events.empty() ? "" : ",\n", category, name, at, us, category[0] == 'k' ? 7 : 1, number);
  };
  for (int step = 0; step < 3; ++step) {
    const double at = 100'000.0 * step;
    add("user_annotation",
        step == 0   ? "ProfilerStep#1"
        : step == 1 ? "ProfilerStep#2"
                    : "ProfilerStep#3",
        at, 100'000, 0);
    add("kernel", "sm90_xmma_gemm_bf16", at + 1000, 20'000, 10 * step + 1);
    add("kernel", "flash_fwd_kernel", at + 30'000, 5'000, 10 * step + 2);
    add("kernel", "multi_tensor_apply_kernel adam", at + 80'000, 15'000, 10 * step + 3);
  }
  const std::string text = "{\"traceEvents\": [" + events + "]}";
  DiagnoseRequest asked;
  asked.measured = {"trace.json", text};
  asked.run.model = "gpt2", asked.run.cluster = "dgx-h100", asked.run.gpus = "1",
  asked.run.global_batch = "8";
  asked.time = "0s";
  const DiagnosedRun run = answered(asked);
  const MeasuredRun& measured = run.diagnosis.measured;
  CHECK(measured.step.value == doctest::Approx(0.1));
  REQUIRE(measured.profiled);
  CHECK(measured.profiled->busy.value == doctest::Approx(0.04));
  CHECK(measured.profiled->idle.value == doctest::Approx(0.054));
  CHECK(measured.profiled->families[static_cast<std::size_t>(KernelFamily::kMatmul)].value ==
        doctest::Approx(0.02));
  CHECK(measured.profiled->families[static_cast<std::size_t>(KernelFamily::kOptimizer)].value ==
        doctest::Approx(0.015));
  CHECK_FALSE(run.diagnosis.beside.empty());
  asked.measured.text = gzip(text);
  CHECK(answered(asked).diagnosis.ratio == run.diagnosis.ratio);
}

}  // namespace
}  // namespace foretrain
