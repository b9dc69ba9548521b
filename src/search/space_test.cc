#include "search/space.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/field_mark.h"
#include "job/choices.h"
#include "job/run_check.h"
#include "search/members.h"
#include "search/testing.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

std::vector<Candidate> all_of(const Space& space) {
  std::vector<Candidate> all;
  while (all.size() < space.size()) {
    Members members(space.legal(), space.family_of(all.size()));
    for (std::uint64_t n = 0; n < members.family().plans; ++n) all.push_back(members.member(n));
  }
  return all;
}

TEST_CASE("every plan of a space is legal, and none is there twice") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {2, 4, 8}, 16);
  const Space space = space_of(problem);
  std::set<std::string> seen;
  Run run = run_without_plan(problem);
  for (const Candidate& c : all_of(space)) {
    if (seen.size() % 997 == 0) CHECK(space.candidate(seen.size()).plan == c.plan);
    run.plan = c.plan;
    run.gpus = c.gpus;
    INFO(to_text(c.plan));
    CHECK(check_run(run).has_value());
    CHECK(run.plan == c.plan);  // dp was right
    CHECK(seen.insert(to_text(c.plan)).second);
  }
  CHECK(seen.size() == space.size());
  CHECK(space.size() > 10'000);
}

// Degrees, schedules, ZeRO, recomputation as loops over everything; what the stack decides left to it.
TEST_CASE("every legal plan is in the space") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "neox", {8}, 8);
  const Space space = space_of(problem, {"layers_per_stage=even"});
  std::set<std::string> known;
  for (Candidate c : all_of(space)) {
    c.plan.overlap_grad_reduce.reset();
    c.plan.overlap_param_gather.reset();
    c.plan.partition_activations.reset();
    if (c.plan.recompute_layers > 0) continue;
    known.insert(to_text(c.plan));
  }
  Run run = run_without_plan(problem);
  run.gpus = 8;
  int legal = 0;
  for (const std::int64_t tp : {1, 2, 3, 4, 6, 8})
    for (const std::int64_t pp : {1, 2, 3, 4, 8})
      for (const std::int64_t mb : {1, 2, 3, 4, 5, 6, 7, 8})
        for (int schedule = 0; schedule < kScheduleCount; ++schedule)
          for (const bool sp : {false, true})
            for (int zero = 0; zero < 4; ++zero)
              for (const std::int64_t shard : {0, 2, 4})
                for (const Recompute recompute :
                     {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
                  run.plan = Plan{};
                  run.plan.tp = tp, run.plan.pp = pp, run.plan.micro_batch = mb, run.plan.sp = sp;
                  run.plan.zero = zero, run.plan.shard = shard, run.plan.recompute = recompute;
                  run.plan.schedule = static_cast<ScheduleKind>(schedule);
                  if (run.plan.schedule == ScheduleKind::kInterleaved) run.plan.vpp = 3;
                  if (!check_run(run)) continue;
                  // The same plan by another name is there once.
                  if (pipeline_of(run.plan).schedule != run.plan.schedule) continue;
                  if (zero > 0 && run.plan.dp == 1) continue;
                  if (shard == run.plan.dp) continue;
                  if (recompute == Recompute::kSelective &&
                      !repeats_selectively(run.model, run.stack, run.plan))
                    continue;
                  ++legal;
                  INFO(to_text(run.plan));
                  // Of gpt2's 12 layers three chunks a stage come out even on 1, 2 and 4 stages.
                  CHECK((known.count(to_text(run.plan)) == 1 || (run.plan.vpp == 3 && pp == 8)));
                }
  CHECK(legal > 500);
}

// Degrees and ways as loops over everything, the rest plain.
// Of megatron on an H100, precision and cuda_graph are left out too (own_words_test.cc).
constexpr std::size_t kWords = 2;

TEST_CASE("every legal way of context parallelism is in the space of long sequences") {
  Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {16}, 16);
  problem.seq = 16 * kFewestTokens;
  const Space space = space_of(problem, {"micro_batch=1", "pp=1", "zero=0", "recompute=none"});
  CHECK(space.left_out().size() == kWords);
  std::set<std::string> known;
  for (Candidate c : all_of(space)) {
    c.plan.overlap_grad_reduce.reset();
    known.insert(to_text(c.plan));
  }
  Run run = run_without_plan(problem);
  run.gpus = 16;
  int legal = 0;
  for (const std::int64_t tp : {1, 2, 4, 8})
    for (const std::int64_t cp : {1, 2, 4, 8, 16})
      for (const bool sp : {false, true})
        for (int type = 0; type < kCpTypeCount; ++type)
          for (const std::int64_t a2a : {0, 8}) {
            run.plan = Plan{};
            run.plan.tp = tp, run.plan.cp = cp, run.plan.sp = sp, run.plan.cp_a2a = a2a;
            if (cp > 1) run.plan.cp_type = static_cast<CpType>(type);
            if (!check_run(run)) continue;
            if (a2a > 0 && tp > 1) continue;  // all-to-alls that fill a node: 8 ranks without tp
            ++legal;
            INFO(to_text(run.plan));
            CHECK(known.count(to_text(run.plan)) == 1);
          }
  CHECK(legal > 40);
  CHECK(known.size() < static_cast<std::size_t>(legal));  // plans of cp=1 were met once for each type
}

TEST_CASE("values that are left out are named with the reason, and whoever speaks of them brings them in") {
  Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {8}, 8);
  const auto most = [](const Space& space) {
    std::int64_t cp = 1;
    for (const Candidate& c : all_of(space)) cp = std::max(cp, c.plan.cp);
    return cp;
  };
  problem.seq = 4 * kFewestTokens;
  const Space whole = space_of(problem, {"micro_batch=1", "zero=0"});
  REQUIRE(whole.left_out().size() == 1 + kWords);
  CHECK(whole.left_out()[0].values == "cp > 4");
  CHECK(whole.left_out()[0].reason.find("fewer than 8,192 tokens") != std::string::npos);
  CHECK(most(whole) == 4);
  for (const char* set : {"cp=1,2,4,8", "cp_type=a2a"}) {
    const Space divided = space_of(problem, {"micro_batch=1", "zero=0", set});
    CHECK(divided.left_out().size() == kWords);
    CHECK(most(divided) == 8);
  }
  problem.seq = 2 * kFewestTokens - 1;
  CHECK(space_of(problem, {"micro_batch=1", "zero=0"}).left_out()[0].values == "cp > 1");
  problem.seq = 8 * kFewestTokens;
  CHECK(space_of(problem, {"micro_batch=1", "zero=0"}).left_out().size() == kWords);
  problem.stack = Catalog().stack("nanotron").value();
  problem.stack.rules.clear();
  CHECK(space_of(problem, {"micro_batch=1", "zero=0"}).left_out()[0].reason ==
        "stack nanotron has no context parallelism");
}

TEST_CASE("numbers lead to plans and back: families are cut where they begin") {
  const Space space = space_of(problem_of("llama-3-8b", "dgx-h100", "megatron", {64}, 128));
  const std::vector<Family> families = families_of(space);
  CHECK(families.size() == space.families());
  std::uint64_t next = 0;
  for (const Family& family : families) {
    CHECK(family.first == next);
    next += family.plans;
  }
  CHECK(next == space.size());
  for (std::size_t f = 0; f < families.size(); f += 97) {
    const Family& family = families[f];
    CHECK(space.family_of(family.first) == family);
    CHECK(space.family_of(family.first + family.plans - 1) == family);
    Members members(space.legal(), family);
    for (std::uint64_t n = 0; n < family.plans; n += 5)
      CHECK(members.member(n) == space.candidate(family.first + n));
  }
}

TEST_CASE("constraints leave what they allow") {
  Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {16}, 64);
  Constraints c;
  CHECK(c.add_set("tp=2,4,schedule=1f1b,interleaved", problem));
  CHECK(c.add_range("pp=2..4", problem));
  CHECK(c.add_forbid("zero=3,sp=0", problem));
  CHECK(c.add_range("last_layers=6..7", problem));
  const auto space = Space::make(problem, c);
  REQUIRE(space);
  CHECK(space->size() > 100);
  std::set<std::int64_t> tps, pps;
  for (const Candidate& candidate : all_of(*space)) {
    const Plan& plan = candidate.plan;
    const ScheduleKind schedule = pipeline_of(plan).schedule;
    CHECK((schedule == ScheduleKind::k1f1b || schedule == ScheduleKind::kInterleaved));
    tps.insert(plan.tp), pps.insert(plan.pp);
    CHECK(plan.sp);
    CHECK(plan.zero < 3);
    // By the stack's rule the last stage has 8, or 6 where 12 chunks share 32 layers.
    if (plan.layers_per_stage.empty()) CHECK(plan.vpp % 3 == 0);
    if (!plan.layers_per_stage.empty())
      CHECK((plan.layers_per_stage.back() == 6 || plan.layers_per_stage.back() == 7));
  }
  CHECK(tps == std::set<std::int64_t>{2, 4});
  CHECK(pps == std::set<std::int64_t>{4});  // two stages give up at most 3 of 16
}

TEST_CASE("what changes the training is searched only where the user allows it") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  for (const Candidate& c : all_of(space_of(problem))) {
    CHECK_FALSE(c.plan.attention);
  }
  std::set<std::optional<Dtype>> used;
  for (const Candidate& c : all_of(space_of(problem, {"grad_dtype=bf16,fp32", "attention=unfused"}))) {
    used.insert(c.plan.grad_dtype);
    CHECK(c.plan.attention == AttentionKind::kUnfused);
  }
  CHECK(used == std::set<std::optional<Dtype>>{Dtype::kFp32, Dtype::kBf16});
}

TEST_CASE("some layers of each chunk are recomputed, up to all but one") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  std::set<std::int64_t> one, four;
  for (const Candidate& c : all_of(space_of(problem, {"tp=1", "recompute=full", "schedule=1f1b"})))
    (c.plan.pp == 4 ? four : one).insert(c.plan.pp == 1 || c.plan.pp == 4 ? c.plan.recompute_layers : 0);
  CHECK(one.size() == 12);  // of 12 layers: all, or 1 to 11
  CHECK(four == std::set<std::int64_t>{0, 1, 2});
}

TEST_CASE("a split by hand is one of the values, where it has as many stages or chunks") {
  const Space space =
      space_of(problem_of("gpt2", "dgx-h100", "megatron", {8}, 8), {"layers_per_stage=2-3-4-3"});
  CHECK(space.size() > 0);
  for (const Candidate& c : all_of(space)) {
    CHECK((c.plan.pp == 4 || pipeline_of(c.plan).model_chunks() == 4));
    CHECK(c.plan.layers_per_stage == std::vector<std::int64_t>{2, 3, 4, 3});
  }
  // One of another number of layers is no plan of this model.
  CHECK(space_of(problem_of("gpt2", "dgx-h100", "megatron", {8}, 8), {"layers_per_stage=2-3-4-4"}).size() ==
        0);
}

TEST_CASE("bad constraints are told with the nearest name") {
  Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  Constraints c;
  const auto error = [](const Result<void>& result) {
    return result ? std::string() : result.error().message;
  };
  CHECK(error(c.add_set("micro_batc=1", problem)) == "unknown key 'micro_batc'; did you mean 'micro_batch'?");
  CHECK(error(c.add_set("schedule=1f1", problem)) == "schedule: unknown '1f1'; did you mean '1f1b'?");
  CHECK(error(c.add_set("tp=x", problem)) == "tp: found 'x', expected a whole number from 0 to 10000000");
  CHECK(error(c.add_set("layers_per_stage=6-x", problem)) ==
        "layers_per_stage: found 'x', expected a whole number from 0 to 10000");
  CHECK(error(c.add_set("8", problem)) == "expected key=value, found '8'");
  CHECK(error(c.add_range("pp=8..2", problem)) == "pp: found '8..2', expected the smaller number first");
  CHECK(error(c.add_range("schedule=1..2", problem)) ==
        "schedule: has no range, expected " + marked("set") + " or " + marked("forbid"));
  CHECK(error(c.add_range("pp=4", problem)) == "pp: found '4', expected a range such as 1..16");
}

TEST_CASE(
    "pieces and offloading are in the space where they are asked for, and where the stack offers them") {
  Problem problem = problem_of("gpt2", "dgx-h100", "generic", {8}, 8);
  const auto count = [&](const std::vector<const char*>& sets) {
    Constraints constraints;
    for (const char* set : sets) REQUIRE(constraints.add_set(set, problem).has_value());
    return Space::make(problem, constraints).value().size();
  };
  const auto plain = count({});
  CHECK(count({"loss=whole"}) == plain);
  CHECK(count({"loss=chunked"}) == plain);
  CHECK(count({"mlp_chunks=1,6"}) == 2 * plain);
  CHECK(count({"offload=0,1"}) == 2 * plain);
  // A fused loss takes whole rows of logits.
  CHECK(count({"loss=fused"}) == count({"tp=1"}));
  problem.stack = Catalog().stack("megatron").value();
  Constraints constraints;
  CHECK(constraints.add_set("loss=fused", problem).error().message ==
        "stack 'megatron' offers no loss fused");
}

}  // namespace
}  // namespace foretrain
