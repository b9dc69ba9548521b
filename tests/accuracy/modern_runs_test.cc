// Published runs of mixtures of experts and latent attention: rows with the further columns of a table. Other
// people's, so that the folder is not in the repository: FORETRAIN_MODERN_RUNS names it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "job/run_check.h"
#include "predict/evaluator.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "validate/row_model.h"
#include "validate/row_run.h"

using namespace foretrain;

namespace {

std::vector<MeasuredRow> modern_rows() {
  const char* folder = std::getenv("FORETRAIN_MODERN_RUNS");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  auto rows = read_measured_rows(disk(), folder);
  REQUIRE_MESSAGE(rows.has_value(), (rows ? "" : rows.error().text()));
  return *std::move(rows);
}

bool is_modern(const MeasuredRow& row) { return row.experts.value_or(0) > 0 || row.notes.says("mla", "1"); }

// Trained whole, in half precision, with a whole sequence on each rank.
bool is_modelled(const MeasuredRow& row) {
  const auto none = [](const std::string& word) { return word.empty() || word == "none"; };
  return row.step && row.precision && is_half(*row.precision) && row.cp.value_or(1) == 1 && none(row.peft) &&
         none(row.offload);
}

double predicted(const std::vector<MeasuredRow>& rows, std::string_view id, const char* more = "") {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const MeasuredRow& r) { return r.id == id; });
  REQUIRE_MESSAGE(row != rows.end(), id);
  RowRunner runner{Catalog()};
  Run run = std::get<RowRun>(runner.run_of(*row).value()).run;
  run.plan = parse_plan(more, run.plan).value();
  REQUIRE(check_run(run));
  return predict(run).step.value;
}

}  // namespace

// Signs of published pairs; sizes are in docs/accuracy.md. Seconds stand as the analytic rates give them: a
// pair's rates are the same.
TEST_CASE("what changes between two published runs changes the prediction the same way") {
  const auto rows = modern_rows();
  const double base = predicted(rows, "prm-dsv2-base"), deepep = predicted(rows, "prm-dsv2-deepep");
  CHECK(deepep < base);
  CHECK(predicted(rows, "prm-dsv2-syncfree") < predicted(rows, "prm-dsv2-vpp3"));
  CHECK(predicted(rows, "xtm-tp4ep8pp8-deepep-cap5") > predicted(rows, "xtm-tp4ep8pp8-deepep-cap1"));
  const double inside = predicted(rows, "mb-26.02.01-pre-gpt-oss-b200-64-bf16-tp1pp1mbs4gbs1280");
  const double across = predicted(rows, "mb-26.02-pre-gpt-oss-b200-64-bf16-tp1pp1mbs4gbs1280");
  CHECK(across > inside);
  MESSAGE("DeepEP for alltoall ", deepep / base - 1, ", across nodes ", across / inside - 1);
  // Natural routing for forced; an exchange beside other work, which is slowed down by it.
  CHECK(predicted(rows, "prm-dsv2-deepep", "expert_imbalance=1.5") > deepep);
  CHECK(predicted(rows, "prm-dsv2-vpp3", "overlap_dispatch=1") < predicted(rows, "prm-dsv2-vpp3"));
}

TEST_CASE("parameters are counted exactly wherever a row states them") {
  int experts = 0, dense = 0;
  for (const MeasuredRow& row : modern_rows()) {
    const auto note = row.notes.find("params");
    if (!note || (!row.peft.empty() && row.peft != "none")) continue;
    INFO(row.id);
    std::vector<std::string> assumed;
    const auto model = model_of(row, assumed);
    REQUIRE(model);
    CHECK(parameters(*model) == parse_integer(*note));
    ++(is_modern(row) ? experts : dense);
  }
  CHECK(experts == 7);
  CHECK(dense == 3);
}

TEST_CASE("every run of experts or latent attention is answered unless its format or its sharding is not") {
  RowRunner runner{Catalog()};
  int answered = 0;
  for (const MeasuredRow& row : modern_rows()) {
    if (!is_modern(row) || !is_modelled(row)) continue;
    const auto outcome = runner.run_of(row).value();
    const auto* skip = std::get_if<Skip>(&outcome);
    INFO(row.id);
    CHECK_MESSAGE(skip == nullptr, skip->reason);
    answered += skip == nullptr;
  }
  CHECK(answered == 40);
}
