#include "report/search_curve.h"

#include <doctest/doctest.h>

#include "search/engine.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

AnswerRequest over_counts(std::vector<std::int64_t> gpus) {
  const Catalog catalog;
  AnswerRequest request;
  Problem& p = request.problem;
  p.model = catalog.model("gpt2").value();
  p.cluster = catalog.cluster("dgx-a100").value();
  p.stack = catalog.stack("megatron").value();
  p.seq = 1024;
  p.global_batch = 32;
  p.gpus = std::move(gpus);
  REQUIRE(request.constraints.add_set("pp=1,recompute=none,zero=0,1", p).has_value());
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  request.options.threads = 1;
  return request;
}

// Each count searched by itself finds the same step, or one that fewer GPUs do not take longer for.
TEST_CASE("a point of the curve is the fastest plan of its GPU count, or says that fewer are as fast") {
  const auto all = answer_search(over_counts({1, 2, 3, 4, 6, 8, 16}));
  REQUIRE(all.has_value());
  const auto curve = search_curve(*all);
  REQUIRE(curve);
  REQUIRE(curve->points.size() == 7);
  double shortest = 1e300;
  int faster = 0;
  for (std::size_t i = 0; i < curve->points.size(); ++i) {
    const auto alone = answer_search(over_counts({all->problem.gpus[i]}));
    REQUIRE(alone.has_value());
    CHECK_FALSE(search_curve(*alone));  // of one count there is no curve
    const OverPoint& point = curve->points[i];
    CAPTURE(curve->axes.front().words[i]);
    if (alone->best.empty()) {
      CHECK_FALSE(point.runs());
      continue;
    }
    const double step = alone->best.front().prediction.step.value;
    CHECK(point.runs() == (step < shortest));
    if (!point.runs()) continue;
    ++faster;
    CHECK(point.figures.step.value == step);
    shortest = step;
  }
  CHECK(faster >= 3);
}

}  // namespace
}  // namespace foretrain
