#include "search/front.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>

namespace foretrain {
namespace {

// Few different figures, so that many are equal.
std::vector<ScoredPlan> any_plans() {
  std::vector<ScoredPlan> plans;
  const int count = *rc::gen::inRange(0, 60);
  for (int i = 0; i < count; ++i) {
    ScoredPlan plan;
    plan.index = static_cast<std::uint64_t>(i);
    plan.gpus = *rc::gen::element<std::int64_t>(8, 16, 32);
    plan.step = *rc::gen::inRange(1, 8);
    plan.peak = *rc::gen::inRange(1, 8);
    plan.joules = *rc::gen::inRange(1, 4);
    plans.push_back(plan);
  }
  return plans;
}

bool beats(const ScoredPlan& a, const ScoredPlan& b) {
  const bool no_worse = a.gpus <= b.gpus && a.step <= b.step && a.peak <= b.peak;
  return no_worse && (a.gpus < b.gpus || a.step < b.step || a.peak < b.peak || a.index < b.index);
}

TEST_CASE("the front holds what nothing beats, whatever the order") {
  CHECK(rc::check([] {
    std::vector<ScoredPlan> plans = any_plans();
    std::vector<ScoredPlan> expected;
    for (const ScoredPlan& p : plans)
      if (std::none_of(plans.begin(), plans.end(), [&](const ScoredPlan& q) { return beats(q, p); }))
        expected.push_back(p);
    std::sort(expected.begin(), expected.end(), [](const ScoredPlan& a, const ScoredPlan& b) {
      return std::tuple(a.gpus, a.step) < std::tuple(b.gpus, b.step);
    });
    ParetoFront front, backwards;
    for (const ScoredPlan& p : plans) front.add(p);
    std::reverse(plans.begin(), plans.end());
    for (const ScoredPlan& p : plans) backwards.add(p);
    RC_ASSERT(front.sorted() == expected);
    RC_ASSERT(backwards.sorted() == expected);
    // What it does not want would not have come in.
    for (const ScoredPlan& p : plans)
      if (!front.wants(p.gpus, p.step, p.peak))
        RC_ASSERT(std::find(expected.begin(), expected.end(), p) == expected.end());
  }));
}

TEST_CASE("without memory the front has of each GPU count the fastest, where it is faster than fewer GPUs") {
  CHECK(rc::check([] {
    const std::vector<ScoredPlan> plans = any_plans();
    std::vector<ScoredPlan> expected;
    for (const std::int64_t gpus : {8, 16, 32}) {
      const ScoredPlan* fastest = nullptr;
      for (const ScoredPlan& p : plans)
        if (p.gpus == gpus && (fastest == nullptr || p.step < fastest->step)) fastest = &p;
      if (fastest != nullptr && (expected.empty() || fastest->step < expected.back().step))
        expected.push_back(*fastest);
    }
    ParetoFront front(FrontKind::kSteps), none(FrontKind::kNone);
    for (const ScoredPlan& p : plans) {
      const bool wanted = front.wants(p.gpus, p.step, p.peak);
      const auto before = front.sorted();
      front.add(p);
      if (!wanted) RC_ASSERT(front.sorted() == before);
      none.add(p);
      RC_ASSERT(!none.wants(p.gpus, p.step, p.peak));
    }
    RC_ASSERT(front.sorted() == expected);
    RC_ASSERT(none.sorted().empty());
  }));
}

TEST_CASE("the best plans are the first of all of them sorted, by each objective") {
  CHECK(rc::check([] {
    std::vector<ScoredPlan> plans = any_plans();
    const auto objective = static_cast<Objective>(*rc::gen::inRange(0, 4));
    const auto most = static_cast<std::size_t>(*rc::gen::inRange(0, 10));
    BestPlans best(objective, most);
    for (const ScoredPlan& p : plans) best.add(p);
    std::sort(plans.begin(), plans.end(),
              [&](const ScoredPlan& a, const ScoredPlan& b) { return better(objective, a, b); });
    plans.resize(std::min(plans.size(), most));
    RC_ASSERT(best.sorted() == plans);
  }));
}

}  // namespace
}  // namespace foretrain
