// foretrain_counted WORD: does the work of that name (the table at the end) once, for bench/counts, which has valgrind
// count the instructions of counted(). All that comes before, reading presets and profiles, is not counted; `predict` and
// `search_small` are all of it, from the words of a request to the answer's text.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "ask/over.h"
#include "ask/predict.h"
#include "ask/search.h"
#include "base/check.h"
#include "cost/profile_store.h"
#include "cost/scaled_cost.h"
#include "fit/profile_fit.h"
#include "job/parse_run.h"
#include "predict/evaluator.h"
#include "report/predict_report.h"
#include "report/search_report.h"
#include "report/sweep_report.h"
#include "search/engine.h"
#include "search/what_if_answer.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

// Valgrind finds it by this name, so it stays a function of its own, with something to do after the work.
extern "C" [[gnu::noinline]] void counted(const std::function<void()>& work) {
  work();
  asm volatile("" ::: "memory");
}

namespace foretrain {
namespace {

// GPT-3 175B on 64 GPUs of Selene as in arXiv 2104.04473, as score_bench.cc has it.
Run gpt3() {
  RunOptions options;
  options.model = "gpt3-175b";
  options.cluster = "selene";
  options.stack = "megatron";
  options.plan = "tp=8,pp=8,recompute=full";
  options.gpus = 64;
  options.global_batch = 64;
  auto run = parse_run(nullptr, options, Catalog());
  CHECK_THAT(run.has_value());
  return *run;
}

// The costs that were fitted for the cluster's GPU.
std::shared_ptr<const CostSource> costs_of(const Cluster& cluster) {
  const auto costs = ProfileStore().costs_for(cluster, "");
  CHECK_THAT(costs.has_value() && costs->profile == cluster.gpu.name);
  return costs->costs;
}

std::unique_ptr<Evaluator> evaluator_of(const Run& run, const std::shared_ptr<const CostSource>& costs) {
  return std::make_unique<Evaluator>(run.model, run.cluster, run.stack, run.seq, costs);
}

// Plans in turns: one with the passes of the plan before would not run them again.
void score_warm(const Run& run, const std::shared_ptr<const CostSource>& costs) {
  std::vector<Plan> plans;
  for (const char* choices : {"recompute=full", "recompute=selective", "vpp=4", "schedule=zbv", "zero=3"})
    plans.push_back(parse_plan(choices, run.plan).value());
  const auto evaluator = evaluator_of(run, costs);
  const auto once = [&] {
    for (const Plan& plan : plans) evaluator->score(plan, run.global_batch);
  };
  once();
  counted([&] {
    for (int i = 0; i < 100; ++i) once();
  });
}

void score_warm() {
  const Run run = gpt3();
  score_warm(run, costs_of(run.cluster));
}

// The same on a calibration: its factors are in the cluster and below the memos, so that they cost nothing here.
void score_warm_calibrated() {
  constexpr ClusterFactors kFactors = {0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1};
  Run run = gpt3();
  const auto costs = std::make_shared<const ScaledCost>(costs_of(run.cluster), kFactors);
  run.cluster = scaled(run.cluster, kFactors);
  score_warm(run, costs);
}

void score_cold() {
  const Run run = gpt3();
  const auto costs = costs_of(run.cluster);
  std::vector<std::unique_ptr<Evaluator>> fresh;
  for (int i = 0; i < 50; ++i) fresh.push_back(evaluator_of(run, costs));
  counted([&] {
    for (const auto& evaluator : fresh) evaluator->score(run.plan, run.global_batch);
  });
}

// What plans of few orders hold: stages that keep and run again by turns, under every schedule that is run by its order.
void weigh() {
  const Run run = gpt3();
  std::vector<Plan> plans;
  for (const char* choices : {"vpp=3", "schedule=zb-h1", "schedule=zb-h2", "schedule=zbv",
                              "schedule=dualpipe", "schedule=dualpipev"})
    for (int again = 1; again <= 4; ++again) {
      Plan plan = parse_plan(choices, run.plan).value();
      plan.recompute_layers = again;
      plan.layers_per_stage = {11, 12, 13, 12, 11, 13, 12, 12};
      plans.push_back(plan);
    }
  const auto evaluator = evaluator_of(run, costs_of(run.cluster));
  const auto once = [&] {
    for (const Plan& plan : plans) evaluator->weigh(plan, run.global_batch);
  };
  once();
  counted([&] {
    for (int i = 0; i < 100; ++i) once();
  });
}

// Steps of many micro-batches, most of which only repeat.
void timeline() {
  ChunkLoad load;
  load.forward = Seconds(0.051234);
  load.backward = Seconds(0.153217);
  load.send_forward = load.send_backward = Seconds(0.001234);
  std::vector<ChunkLoad> chunks(16 * 8, load);
  chunks.back().forward = Seconds(0.062345);
  std::vector<ChunkLoad> stages(16, load);
  stages.back() = chunks.back();
  std::vector<PipelineWork> works;
  for (const ScheduleKind schedule : {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved})
    for (const bool blocking : {false, true}) {
      const bool is_interleaved = schedule == ScheduleKind::kInterleaved;
      PipelineWork& work = works.emplace_back();
      work.chunks = is_interleaved ? chunks : stages;
      work.chunks_per_rank = is_interleaved ? 8 : 1;
      work.micro_batches = is_interleaved ? 512 : 4096;
      work.schedule = schedule;
      work.blocking_sends = blocking;
    }
  counted([&] {
    Timeline steps;
    for (const PipelineWork& work : works) steps.simulate(work);
  });
}

// On this thread alone, or the count would depend on who came first.
void search_llama() {
  const Catalog catalog;
  Problem problem;
  problem.model = catalog.model("llama-3-8b").value();
  problem.cluster = catalog.cluster("dgx-h100").value();
  problem.stack = catalog.stack("megatron").value();
  problem.seq = 8192;
  problem.global_batch = 8;
  problem.gpus = {8};
  Constraints constraints;
  CHECK_THAT(constraints.add_set("tp=2,pp=2,zero=1,sp=1", problem).has_value());
  const auto costs = costs_of(problem.cluster);
  SearchOptions options;
  options.limits.memory = problem.cluster.gpu.usable;
  options.threads = 1;
  counted([&] {
    const Space space = Space::make(problem, constraints).value();
    CHECK_THAT(!search(space, costs, options).best.empty());
  });
}

// Products and activations as a GPU of made-up speed takes them, off by a few percent that look like noise.
std::string made_up_samples() {
  std::string csv = "operator,impl,pass,dtype,dims,us\n";
  const auto off = [](int i) { return 1 + 0.03 * std::sin(12.9898 * i); };
  int i = 0;
  for (const int m : {512, 1024, 2048, 4096, 8192})
    for (const int k : {1024, 2048, 4096, 8192})
      for (const int n : {1024, 3072, 8192})
        csv += fmt::format("linear,aten,fwd,bf16,m={} k={} n={},{:.3f}\n", m, k, n,
                           (4 + 2e-6 * m * k * n / 600) * off(i++));
  for (const int tokens : {512, 1024, 2048, 4096, 8192, 16384})
    for (const int width : {1024, 2048, 4096, 8192, 16384})
      csv += fmt::format("gelu,fused,fwd,bf16,tokens={} width={},{:.3f}\n", tokens, width,
                         (3 + 4e-6 * tokens * width / 2.4) * off(i++));
  return csv;
}

// With smooth residuals alone: of trees, XGBoost's instructions would be counted, which are not ours.
void fit() {
  const std::string csv = made_up_samples();
  const Gpu gpu = Catalog().gpu("h200-141gb-sxm").value();
  FitOptions options;
  std::erase_if(options.candidates,
                [](const ResidualOptions& c) { return c.kind == ResidualOptions::Kind::kTrees; });
  counted([&] {
    const CleanResult cleaned = clean(parse_samples(csv, "made up").value(), gpu);
    const auto profile = fit_profile(cleaned.kept, gpu, options);
    CHECK_THAT(profile.has_value() && profile->models.size() == 2);
  });
}

// `foretrain predict --model llama-3-8b ...`: presets, a profile with another below it, a step, the text.
void predict_request() {
  PredictRequest request;
  request.model = "llama-3-8b";
  request.cluster = "dgx-h100";
  request.stack = "megatron";
  request.gpus = "64";
  request.global_batch = "512";
  request.plan = "tp=2,pp=2,zero=1,recompute=selective";
  counted([&] {
    Session session(no_files());
    const auto answer = ask(session, request);
    CHECK_THAT(answer.has_value());
    CHECK_THAT(!predict_text(answer->runs[0].run, answer->runs[0].prediction, nullptr).empty());
  });
}

// Fifty points of GPT-3 175B over the network: all that points have in common is worked out once.
void predict_over() {
  OverRequest request;
  request.predict.model = "gpt3-175b";
  request.predict.cluster = "selene";
  request.predict.stack = "megatron";
  request.predict.gpus = "512";
  request.predict.global_batch = "512";
  request.predict.plan = "tp=8,pp=8,recompute=full";
  request.over = "inter_gbps=100..3200/50";
  counted([&] {
    Session session(no_files());
    const auto answer = ask(session, request);
    CHECK_THAT(answer.has_value() && answer->points.size() == 50);
  });
}

SearchRequest small_search() {
  SearchRequest request;
  request.model = "gpt2";
  request.cluster = "dgx-a100";
  request.gpus = "4";
  request.global_batch = "64";
  request.set = {"pp=1"};
  request.threads = "1";
  return request;
}

void search_small() {
  counted([&] {
    Session session(no_files());
    const auto answer = ask(session, small_search());
    CHECK_THAT(answer.has_value() && !search_text(*answer).empty());
  });
}

// A part of a large space, or all of it, by one thread.
void search_part(const char* model, const char* gpus, const char* global_batch, std::vector<std::string> set,
                 const char* cluster = "dgx-h100") {
  SearchRequest request = small_search();
  request.cluster = cluster;
  request.model = model;
  request.gpus = gpus;
  request.global_batch = global_batch;
  request.set = std::move(set);
  counted([&] {
    Session session(no_files());
    const auto answer = ask(session, request);
    CHECK_THAT(answer.has_value() && !search_text(*answer).empty());
  });
}

// Four batches in one go: less than four searches.
void search_batches() {
  SearchRequest request = small_search();
  request.global_batch = "32..256";
  counted([&] {
    Session session(no_files());
    const auto prepared = prepare(session, request);
    CHECK_THAT(prepared.has_value());
    const auto answer = ask_sweep(*prepared);
    CHECK_THAT(answer.has_value() && answer->points.size() == 4 && !sweep_text(*answer).empty());
  });
}

// A question beside a search that is there.
void what_if_of(const char* change) {
  Session session(no_files());
  const auto request = prepare(session, small_search());
  CHECK_THAT(request.has_value());
  const auto answer = answer_search(*request);
  CHECK_THAT(answer.has_value());
  const Space space = Space::make(request->problem, request->constraints).value();
  Evaluators evaluators(request->problem, request->costs_for(request->problem.cluster).value());
  counted([&] {
    const auto what = answer_what_if(*request, *answer, space, evaluators, change);
    CHECK_THAT(what.has_value() && what->best && what->changes);
  });
}

struct Work {
  std::string_view word;
  void (*run)();
};

constexpr Work kWork[] = {
    {"score_warm", [] { score_warm(); }},
    {"score_warm_calibrated", score_warm_calibrated},
    {"score_cold", score_cold},
    {"weigh", weigh},
    {"timeline", timeline},
    {"search", search_llama},
    {"fit", fit},
    {"predict", predict_request},
    {"over", predict_over},
    {"search_small", search_small},
    // Several counts of GPUs in one space, each with a front of its own, on stages that splits can change.
    {"search_gpus",
     [] {
       search_part("llama-3-8b", "16..32", "32", {"tp=2", "pp=4,8", "zero=1", "sp=1"});
     }},
    // What bench/search_times searches: the first whole, of the others some.
    {"search_gpt3_64", [] { search_part("gpt3-175b", "64", "64", {}, "selene"); }},
    {"search_llama_256",
     [] {
       search_part("llama-3-70b", "256", "1024", {"tp=8", "pp=4", "zero=1", "sp=1", "micro_batch=1"});
     }},
    {"search_llama_1024",
     [] {
       search_part("llama-3-70b", "1024", "1024", {"tp=8", "pp=8", "zero=1", "sp=1", "micro_batch=1"});
     }},
    {"search_deepseek_2048",
     [] {
       search_part("deepseek-v3", "2048", "8192", {"tp=1", "pp=16", "ep=64", "zero=1", "micro_batch=1"});
     }},
    {"search_gpt_65536",
     [] {
       search_part("gpt-1t", "65536", "8192", {"tp=8", "pp=64", "zero=1", "sp=1", "micro_batch=1"});
     }},
    {"search_batches", search_batches},
    {"what_if_price", [] { what_if_of("price_per_gpu_hour=4"); }},
    {"what_if_link", [] { what_if_of("intra_gbytes=100"); }},
};

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  std::string words;
  for (const foretrain::Work& work : foretrain::kWork) {
    if (work.word == word) return work.run(), 0;
    words += fmt::format("{}{}", words.empty() ? "" : "|", work.word);
  }
  return std::fprintf(stderr, "usage: foretrain_counted %s\n", words.c_str()), 2;
}
