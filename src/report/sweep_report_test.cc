#include "report/sweep_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/check.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

SweepAnswer over_batches(std::vector<std::int64_t> gpus) {
  const Catalog catalog;
  AnswerRequest request;
  Problem& p = request.problem;
  p.model = catalog.model("gpt2").value();
  p.cluster = catalog.cluster("dgx-a100").value();
  p.stack = catalog.stack("megatron").value();
  p.seq = 1024;
  p.global_batch = 8;
  p.gpus = std::move(gpus);
  CHECK_THAT(request.constraints.add_set("pp=1,recompute=none,zero=0,1", p).has_value());
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  request.options.threads = 1;
  request.over = {{"1024"}, {"8", "32", "3tok"}, {{1024, 8, ""}, {1024, 32, ""}, {1024, 0, "not a batch"}}};
  auto answer = answer_sweep(request);
  CHECK_THAT(answer.has_value());
  return *std::move(answer);
}

TEST_CASE("a point has a row, with what it is of the most that a GPU does") {
  const SweepAnswer answer = over_batches({8});
  const std::vector<SweepRow> rows = sweep_rows(answer);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].figures.global_batch == 8);
  CHECK(rows[1].figures.global_batch == 32);
  CHECK(rows[2].refused == "not a batch");
  // A larger batch has more micro-batches over the same optimizer and reductions.
  CHECK(rows[1].figures.tokens_per_s_per_gpu == answer.best_per_gpu());
  CHECK(rows[0].figures.tokens_per_s_per_gpu < answer.best_per_gpu());
  const std::string text = sweep_text(answer);
  CHECK(text.find("batches of 8, 32, 3tok x 1024 tokens a step; each searched by itself") !=
        std::string::npos);
  CHECK(text.find("not a batch") != std::string::npos);
  CHECK(sweep_json(answer).find("\"refused\": \"not a batch\"") != std::string::npos);
  CHECK(sweep_html(answer).find("not a batch") != std::string::npos);
}

TEST_CASE("of several GPU counts a point has a row a count, and every row of the table is one of the CSV") {
  const SweepAnswer answer = over_batches({1, 2, 8});
  const std::vector<SweepRow> rows = sweep_rows(answer);
  CHECK(rows.size() == 7);
  CHECK(rows[1].figures.gpus == 2);
  CHECK(rows[1].figures.step.value < rows[0].figures.step.value);
  const std::string csv = sweep_csv(answer);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == static_cast<std::ptrdiff_t>(rows.size()) + 1);
  // As many cells in every row.
  std::ptrdiff_t cells = -1;
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = csv.find('\n', at);
    const auto commas = std::count(csv.begin() + static_cast<std::ptrdiff_t>(at),
                                   csv.begin() + static_cast<std::ptrdiff_t>(end), ',');
    if (cells < 0) cells = commas;
    CHECK(commas == cells);
    at = end + 1;
  }
}

}  // namespace
}  // namespace foretrain
