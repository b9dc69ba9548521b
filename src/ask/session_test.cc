#include "ask/session.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <utility>

#include "job/parse_run.h"

namespace foretrain {
namespace {

Run run_on(const Session& session, const std::string& cluster, std::int64_t seq) {
  RunOptions options;
  options.model = "gpt2";
  options.cluster = cluster;
  options.gpus = 8;
  options.global_batch = 8;
  options.seq = seq;
  return parse_run(nullptr, options, session.catalog()).value();
}

TEST_CASE("what is asked again is not made again") {
  Session session(no_files());
  CHECK(session.kept_profiles() == 0);
  const Run run = run_on(session, "dgx-a100", 512);
  const auto first = session.costs_for(run.cluster, "");
  const auto again = session.costs_for(run.cluster, "");
  REQUIRE(first);
  REQUIRE(again);
  CHECK(first->costs == again->costs);
  CHECK(session.kept_profiles() == 1);
  CHECK(session.kept_profile_bytes() > 0);
  const Prediction one = session.predict(run, first->costs), two = session.predict(run, first->costs);
  CHECK(session.kept_evaluators() == 1);
  CHECK(one.step.value == two.step.value);
  CHECK(one.step.value == predict(run, first->costs).step.value);
}

TEST_CASE("it keeps so many, and the last used stays") {
  Session session(no_files(), {}, {.profiles = 2, .evaluators = 3});
  const Run a = run_on(session, "dgx-a100", 64), h = run_on(session, "dgx-h100", 64),
            p = run_on(session, "perlmutter", 64);
  const auto first = session.costs_for(a.cluster, "")->costs;
  REQUIRE(session.costs_for(h.cluster, ""));
  CHECK(session.costs_for(a.cluster, "")->costs == first);  // used again: dgx-h100 is the older one now
  REQUIRE(session.costs_for(p.cluster, ""));
  CHECK(session.kept_profiles() == 2);
  CHECK(session.costs_for(a.cluster, "")->costs == first);
  for (std::int64_t seq = 1; seq <= 20; ++seq) {
    session.predict(run_on(session, "dgx-a100", seq), first);
    CHECK(session.kept_evaluators() <= 3);
  }
}

TEST_CASE("clusters that differ in links or prices share what operators take, others do not") {
  Session session(no_files());
  const Cluster base = session.catalog().cluster("dgx-a100").value();
  const auto costs = session.costs_for(base, "")->costs;
  Cluster other = base;
  other.inter.bandwidth = other.inter.bandwidth * 2;
  other.price_per_gpu_hour = 3;
  CHECK(session.costs_for(other, "")->costs == costs);
  other.host_launch = other.host_launch * 2;
  CHECK(session.costs_for(other, "")->costs != costs);
  other = base;
  other.gpu.hbm = other.gpu.hbm * 2;
  CHECK(session.costs_for(other, "")->costs != costs);
}

TEST_CASE("profiles are bounded in bytes, but for the one in use") {
  Session session(no_files(), {}, {.profile_bytes = 1});
  for (const char* cluster : {"dgx-a100", "dgx-h100", "perlmutter"}) {
    REQUIRE(session.costs_for(session.catalog().cluster(cluster).value(), ""));
    CHECK(session.kept_profiles() == 1);
  }
}

TEST_CASE("with a profile go the evaluators that hold it") {
  Session session(no_files(), {}, {.profile_bytes = 1});
  std::weak_ptr<const CostSource> before;
  for (const char* cluster : {"dgx-a100", "dgx-h100", "perlmutter"}) {
    const Run run = run_on(session, cluster, 64);
    const auto costs = session.costs_for(run.cluster, "")->costs;
    CHECK(before.expired());
    session.predict(run, costs);
    CHECK(session.kept_evaluators() == 1);
    before = costs;
  }
}

// Another's costs, but for one call that fails.
class FailingOnce final : public CostSource {
 public:
  FailingOnce(std::shared_ptr<const CostSource> costs, int call) : costs_(std::move(costs)), left_(call) {}
  OperatorCost cost(const Operator& op) const override {
    if (left_ >= 0 && left_-- == 0) throw std::runtime_error("once");
    return costs_->cost(op);
  }
  const PowerModel* power() const override { return costs_->power(); }

 private:
  std::shared_ptr<const CostSource> costs_;
  mutable int left_;
};

TEST_CASE("a prediction that fails half way leaves nothing that the next one could go by") {
  Session first(no_files());
  const Run run = run_on(first, "dgx-a100", 128);
  const auto costs = first.costs_for(run.cluster, "")->costs;
  const Prediction right = predict(run, costs);
  for (const int call : {0, 1, 3, 10}) {
    Session session(no_files());
    const auto failing = std::make_shared<const FailingOnce>(costs, call);
    CHECK_THROWS(session.predict(run, failing));
    CHECK(session.kept_evaluators() == 0);
    const Prediction next = session.predict(run, failing);
    CHECK(next.step.value == right.step.value);
    CHECK(next.needed == right.needed);
  }
}

TEST_CASE("an evaluator is made anew after so many predictions, and says the same") {
  Session session(no_files(), {}, {.predictions_each = 2});
  const Run run = run_on(session, "dgx-a100", 128);
  const auto costs = session.costs_for(run.cluster, "")->costs;
  const double step = session.predict(run, costs).step.value;
  for (int i = 0; i < 5; ++i) CHECK(session.predict(run, costs).step.value == step);
  CHECK(session.kept_evaluators() == 1);
}

TEST_CASE("what is refused is not kept") {
  Session session(no_files());
  CHECK_FALSE(session.costs_for(session.catalog().cluster("dgx-a100").value(), "no-such"));
  CHECK(session.kept_profiles() == 0);
}

}  // namespace
}  // namespace foretrain
