#include "search/answer.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "search/testing.h"
#include "search/why.h"

namespace foretrain {
namespace {

AnswerRequest request_of(Problem problem, const std::vector<std::string>& sets = {}) {
  AnswerRequest request;
  request.problem = std::move(problem);
  for (const std::string& set : sets)
    CHECK_THAT(request.constraints.add_set(set, request.problem).has_value());
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  request.options.threads = 1;
  request.top = 3;
  return request;
}

// Nine thousand plans.
const std::vector<std::string> kSmall = {"schedule=1f1b,interleaved", "recompute=none,selective"};

AnswerRequest small() {
  return request_of(problem_of("llama-3-8b", "dgx-h100", "megatron", {8}, 16), kSmall);
}

TEST_CASE("a plan that is asked for is completed as well as it can be, and held against the best") {
  AnswerRequest request = small();
  request.whys = {"tp=8", "sp=0"};
  const auto answer = answer_search(request);
  REQUIRE(answer);
  REQUIRE(answer->best.size() == 3);
  const Why& why = answer->whys.front();
  CHECK(why.rejected.empty());
  REQUIRE(why.plan);
  CHECK(why.plan->run.plan.tp == 8);
  CHECK(why.plan->scored.step > answer->best.front().scored.step);
  CHECK(why.better > 0);
  CHECK(why.near.empty());
  // Completed: no other plan with tp=8 is shorter.
  std::vector<std::string> sets = kSmall;
  sets.push_back("tp=8");
  const Space own = space_of(request.problem, sets);
  SearchOptions options = answer->options;
  CHECK(search(own, nullptr, options).best.front().step == why.plan->scored.step);
}

TEST_CASE("what rejects a plan is named: a rule, the user's own constraint, the memory") {
  AnswerRequest request = small();
  request.whys = {"tp=3", "schedule=gpipe", "tp=1,pp=1,zero=0,recompute=none", "pp=2,layers_per_stage=1-1"};
  const auto answer = answer_search(request);
  REQUIRE(answer);
  const auto& whys = answer->whys;
  CHECK(whys[0].rejected == "gpus 8 is not a multiple of tp*pp*cp = 3");
  CHECK_FALSE(whys[0].plan);
  REQUIRE(!whys[0].near.empty());
  CHECK(whys[0].near.front().change.starts_with("tp="));
  CHECK(whys[0].near.front().change.ends_with("instead of tp=3"));
  CHECK(whys[0].near.front().plan.scored.step == answer->best.front().scored.step);

  CHECK(whys[3].rejected == "layers_per_stage sums to 2, but the model has 32 layers");
  CHECK_FALSE(whys[3].plan);

  CHECK(whys[1].rejected == marked("set") + " schedule=1f1b,interleaved");
  REQUIRE(whys[1].plan);  // what it would have been
  CHECK(whys[1].plan->run.plan.schedule == ScheduleKind::kGpipe);

  // 8 billion parameters of 18 bytes do not fit a GPU, whatever else is chosen; sharded or split they do.
  CHECK(whys[2].rejected.starts_with("it needs "));
  REQUIRE(whys[2].plan);
  CHECK(whys[2].plan->prediction.peak > answer->options.limits.memory);
  REQUIRE(!whys[2].near.empty());
  for (const NearPlan& near : whys[2].near) CHECK(near.plan.prediction.fits);
}

TEST_CASE("with one thing changed the best is that of the changed problem") {
  AnswerRequest request = small();
  request.what_ifs = {"gpus=16", "inter_gbps=1", "global_batch=7"};
  const auto answer = answer_search(request);
  REQUIRE(answer);
  REQUIRE(answer->what_ifs[0].best);
  CHECK(answer->what_ifs[0].best->run.gpus == 16);
  CHECK(answer->what_ifs[0].best->scored.step < answer->best.front().scored.step);
  // One node does not use the network between nodes.
  REQUIRE(answer->what_ifs[1].best);
  CHECK(answer->what_ifs[1].best->scored == answer->best.front().scored);
  REQUIRE(answer->what_ifs[2].best);
  CHECK(answer->what_ifs[2].best->run.plan.dp == 1);  // seven sequences over 8 GPUs
}

// Of 32,768 tokens a sequence the best plans divide it in four, which nobody does of 8,192.
TEST_CASE("a plan that the changed space does not have sets no limit to it") {
  Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {8}, 2);
  problem.seq = 32768;
  AnswerRequest request =
      request_of(std::move(problem), {"schedule=1f1b", "layers_per_stage=even", "zero=1", "tp=1"});
  request.what_ifs = {"seq=8192"};
  const auto answer = answer_search(request);
  REQUIRE(answer);
  REQUIRE(!answer->best.empty());
  CHECK(answer->best.front().run.plan.cp > 1);
  REQUIRE(answer->what_ifs[0].best);
  CHECK(answer->what_ifs[0].best->run.plan.cp == 1);
}

TEST_CASE("where nothing fits, the smallest plan is shown, and what would help") {
  AnswerRequest request = request_of(problem_of("gpt3-175b", "dgx-h100", "megatron", {8}, 16),
                                     {"schedule=1f1b", "layers_per_stage=even"});
  const auto answer = answer_search(request);
  REQUIRE(answer);
  CHECK(answer->best.empty());
  REQUIRE(answer->smallest);
  CHECK_FALSE(answer->smallest->prediction.fits);
  REQUIRE(!answer->would_fit.empty());
  CHECK(answer->would_fit.back().change == "on 64 GPUs");  // 175 G * 18 bytes are 40 of them at least
  CHECK(answer->would_fit.back().plan.prediction.fits);
}

TEST_CASE("headroom is left free, a deadline is kept") {
  AnswerRequest request = small();
  request.headroom_share = 0.5;
  const auto half = answer_search(request);
  REQUIRE(half);
  for (const RankedPlan& plan : half->best) CHECK(plan.prediction.peak <= plan.prediction.usable * 0.5);
  const double step = half->best.front().scored.step;
  request.tokens = 16.0 * 8192 * 1000;  // a thousand steps
  request.deadline_s = 999 * step;
  const auto late = answer_search(request);
  REQUIRE(late);
  CHECK(late->best.empty());
  bool later = false;
  for (const NearPlan& near : late->would_fit) later = later || near.change == "with a later deadline";
  CHECK(later);
}

TEST_CASE("a deadline is kept by the mean step, with what nodes stall and what the training pauses for") {
  AnswerRequest request = small();
  request.tokens = 16.0 * 8192 * 1000;
  const double step = answer_search(request)->best.front().scored.step;
  const auto found = [&](double steps) {
    request.deadline_s = steps * step;
    const auto answer = answer_search(request);
    CHECK_THAT(answer.has_value());
    return !answer->best.empty();
  };
  CHECK(found(1001));
  // Ten pauses of ten steps' length each.
  request.problem.pauses = {{"checkpoint", 100, Seconds(10 * step)}};
  CHECK_FALSE(found(1099));
  CHECK(found(1101));
  // One node of which half a second of each is lost.
  request.problem.cluster.jitter = Jitter{.stalls_per_node_hour = 3600, .stall = Seconds(0.5)};
  CHECK_FALSE(found(1599));
  CHECK(found(1601));
  // Passes that vary are longer in the mean too, by what is drawn: no plan is told that takes longer so.
  request.problem.cluster.jitter->spread = 0.2;
  CHECK_FALSE(found(1601));
}

// Whether a plan of this request keeps to its deadline by its own mean.
bool is_in_time(const AnswerRequest& request, const RankedPlan& plan) {
  const double steps = *request.tokens / static_cast<double>(plan.run.global_batch * plan.run.seq);
  return plan.prediction.mean() * steps <= Seconds(*request.deadline_s);
}

TEST_CASE(
    "where steps vary, all that is told keeps the deadline by its own mean, and each plan is told once") {
  AnswerRequest request = small();
  request.problem.cluster.jitter = Jitter{.spread = 0.2};
  const auto any = answer_search(request);
  REQUIRE(any);
  const RankedPlan& best = any->best.front();
  CHECK(best.prediction.mean() > Seconds(1.05 * best.scored.step));
  request.tokens = 16.0 * 8192 * 1000;
  request.deadline_s = 1010 * best.prediction.mean().value;
  std::set<std::uint64_t> told;
  std::size_t rows = 0;
  request.options.evaluated = [&](const ScoredPlan& plan, const Candidate&) {
    told.insert(plan.index);
    ++rows;
  };
  request.whys = {"pp=2"};
  const auto answer = answer_search(request);
  REQUIRE(answer);
  REQUIRE(!answer->best.empty());
  CHECK(answer->result.best.size() < any->result.best.size());
  for (const auto* plans : {&answer->best, &answer->pareto})
    for (const RankedPlan& plan : *plans) CHECK(is_in_time(request, plan));
  for (const ListFamily& family : answer->families) CHECK(is_in_time(request, family.best));
  CHECK(rows == told.size());
  // A step that is short enough undisturbed and too long in the mean is none of them, and what would help is another
  // deadline; so it is of each batch by itself.
  request.deadline_s = 1000 * (best.scored.step + best.prediction.mean().value) / 2;
  rows = 0;
  told.clear();
  const auto late = answer_search(request);
  REQUIRE(late);
  for (const RankedPlan& plan : late->best) CHECK(is_in_time(request, plan));
  for (const NearPlan& near : late->would_fit)
    if (near.change.starts_with("on ")) CHECK(is_in_time(request, near.plan));
  CHECK(rows == told.size());
  for (const Why& why : late->whys)
    if (why.plan && why.rejected.empty()) CHECK(is_in_time(request, *why.plan));
}

TEST_CASE("a search that is repeated for a deadline goes on where it was") {
  AnswerRequest request = small();
  request.problem.cluster.jitter = Jitter{.spread = 0.2};
  const auto any = answer_search(request);
  REQUIRE(any);
  const RankedPlan& best = any->best.front();
  request.tokens = 16.0 * 8192 * 1000;
  request.deadline_s = 1000 * (best.scored.step + best.prediction.mean().value) / 2;
  request.options.threads = 1;
  std::uint64_t first = 0, done = 0, all = 0;
  bool goes_back = false;
  request.options.progress = [&](const SearchProgress& now) {
    if (first == 0) first = now.all;
    goes_back |= now.done < done || now.done > now.all;
    done = now.done;
    all = now.all;
  };
  REQUIRE(answer_search(request));
  CHECK(all > first);  // it was repeated
  CHECK_FALSE(goes_back);
}

TEST_CASE(
    "told to stop after the search, no more than the first means are drawn, and no other plan is told") {
  AnswerRequest request = small();
  request.problem.cluster.jitter = Jitter{.spread = 0.2};
  request.tokens = 16.0 * 8192 * 1000;
  request.deadline_s = 1e9;
  const auto all = answer_search(request);
  REQUIRE(all);
  CHECK_FALSE(all->result.interrupted);
  CHECK(all->result.best.size() > 16);
  std::atomic<bool> stop = false;
  request.options.stop = &stop;
  request.options.progress = [&](const SearchProgress& now) { stop = now.done == now.all; };
  const auto some = answer_search(request);
  REQUIRE(some);
  CHECK(some->result.interrupted);
  REQUIRE(some->result.best.size() == 16);
  CHECK(some->result.best.front() == all->result.best.front());
}

TEST_CASE("of a deadline and a budget, the one that is missed is named") {
  AnswerRequest request = small();
  request.problem.cluster.price_per_gpu_hour = 2;
  request.tokens = 16.0 * 8192 * 1000;
  request.deadline_s = 1e9;
  request.budget_usd = 1e-3;
  const auto named = [&] {
    const auto answer = answer_search(request);
    CHECK_THAT(answer.has_value() && answer->best.empty());
    std::string changes;
    for (const NearPlan& near : answer->would_fit)
      if (near.change.starts_with("with a")) changes += near.change + ";";
    return changes;
  };
  CHECK(named() == "with a larger budget;");
  request.deadline_s = 1e-3;
  CHECK(named() == "with a later deadline and a larger budget;");
  request.budget_usd = 1e9;
  CHECK(named() == "with a later deadline;");
}

TEST_CASE("bad questions are refused before the search") {
  AnswerRequest request = small();
  request.whys = {"tp=2,tp=4"};
  CHECK(answer_search(request).error().text() == "foretrain: error: why: duplicate key 'tp'");
  request.whys = {};
  request.what_ifs = {"gpu=16"};
  CHECK(answer_search(request).error().text() ==
        "foretrain: error: what_if: unknown key 'gpu'; did you mean 'gpus'?");
}

TEST_CASE("a plan ties with itself; one that differs by more than its error does not") {
  const auto answer = answer_search(small());
  REQUIRE(answer);
  const Prediction& best = answer->best.front().prediction;
  const Tie same = compare(best, best);
  CHECK(same.tied);
  CHECK(same.sigma == Seconds(0));
  Prediction slower = best;
  slower.step.value *= 1.01;  // by nothing that is uncertain
  CHECK_FALSE(compare(best, slower).tied);
  slower.uncertain.sends = Seconds(0.02 * best.step.value);
  const Tie tie = compare(best, slower);
  CHECK(tie.tied);
  CHECK(tie.sigma.value == doctest::Approx(0.02 * best.step.value));
  CHECK(tie.settles.find("messages between stages") != std::string::npos);
}

TEST_CASE("what would settle a tie is spelled in the asker's words") {
  SearchAnswer answer;
  answer.ties.emplace_back().tie.settles = "samples (fit " + marked("cluster") + ")";
  answer.whys.emplace_back().tie = answer.ties.front().tie;
  spell(answer, [](std::string_view field) { return "my-" + std::string(field); });
  CHECK(answer.ties.front().tie.settles == "samples (fit my-cluster)");
  CHECK(answer.whys.front().tie->settles == "samples (fit my-cluster)");
}

TEST_CASE("asked to stop after the search, questions beside it are left out, not answered wrongly") {
  AnswerRequest request = small();
  request.what_ifs = {"gpus=16"};
  request.whys = {"tp=8"};
  std::atomic<bool> stop = false;
  request.options.stop = &stop;
  request.options.progress = [&](const SearchProgress& now) { stop = now.done == now.all; };
  const auto answer = answer_search(request);
  REQUIRE(answer);
  CHECK(answer->result.counts.evaluated > 0);
  CHECK(answer->result.interrupted);
  CHECK(!answer->best.empty());
  CHECK(answer->whys.empty());
  CHECK(answer->what_ifs.empty());
}

}  // namespace
}  // namespace foretrain
