#include "report/search_report.h"

#include <doctest/doctest.h>

#include "base/check.h"
#include "base/text.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

SearchAnswer answer_of(std::vector<std::string> whys = {}) {
  const Catalog catalog;
  AnswerRequest request;
  request.problem.model = catalog.model("llama-3-8b").value();
  request.problem.cluster = catalog.cluster("dgx-h100").value();
  request.problem.stack = catalog.stack("megatron").value();
  request.problem.gpus = {8, 16};
  request.problem.global_batch = 32;
  request.problem.seq = 8192;
  request.options.threads = 1;
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  request.top = 4;
  request.whys = std::move(whys);
  request.tokens = 1e9;
  CHECK_THAT(request.constraints.add_set("schedule=1f1b", request.problem).has_value());
  return answer_search(request).value();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("text, JSON and page tell the same best plan") {
  const SearchAnswer answer = answer_of({"tp=8"});
  const std::string plan = to_text(answer.best.front().run.plan);
  const std::string text = search_text(answer), json = search_json(answer), page = search_html(answer, {});
  for (const std::string& view : {text, json, page}) CHECK(contains(view, plan));
  CHECK(contains(text, "training"));
  CHECK(contains(text, "why not tp=8\n"));
  CHECK(contains(text, "the fastest by GPUs"));
  CHECK(contains(json, "\"candidates\": "));
  CHECK(contains(json, "\"training_gpu_hours\": "));
  // A corner for each plan of the front that the picture has room for, and one circle for the best.
  CHECK(contains(page, "class=\"front\""));
  CHECK(contains(page, "class=\"best\""));
  CHECK(contains(page, "fits</th>"));
  CHECK_FALSE(contains(page, "nan"));
}

TEST_CASE("a search that found nothing says why, in the page as in the text") {
  SearchAnswer answer = answer_of();
  answer.best.clear();
  CHECK(contains(search_html(answer, {}), "No plan fits."));
  answer.smallest.reset();
  answer.result.interrupted = true;
  answer.result.counts.candidates = answer.result.counts.evaluated + answer.result.counts.pruned_memory +
                                    answer.result.counts.pruned_bound + 1;
  CHECK(contains(search_html(answer, {}), "No plan was found before the search was interrupted."));
  CHECK(contains(search_text(answer), "plans were not looked at; no plan was found before\n"));
  answer.result = {};
  CHECK(contains(search_html(answer, {}), "There is no legal plan."));
}

TEST_CASE("a row has a cell for each column") {
  const SearchAnswer answer = answer_of();
  const RankedPlan& best = answer.best.front();
  const std::string row = search_csv_row(answer.problem, best.scored, {best.run.gpus, best.run.plan});
  CHECK(split(row, ',').size() == split(search_csv_header(), ',').size());
  CHECK(row.ends_with("\n"));
}

}  // namespace
}  // namespace foretrain
