// Published runs of mixtures of experts and latent attention: rows with the further columns of a table. Other
// people's, so that the folder is not in the repository: FORETRAIN_MODERN_RUNS names it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

// Trained whole, in half precision.
bool is_modelled(const MeasuredRow& row) {
  const auto none = [](const std::string& word) { return word.empty() || word == "none"; };
  return row.step && row.precision && is_half(*row.precision) && none(row.peft) && none(row.offload);
}

const MeasuredRow& row_of(const std::vector<MeasuredRow>& rows, std::string_view id) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const MeasuredRow& r) { return r.id == id; });
  REQUIRE_MESSAGE(row != rows.end(), id);
  return *row;
}

double predicted(const std::vector<MeasuredRow>& rows, std::string_view id, const char* more = "") {
  RowRunner runner{Catalog()};
  Run run = std::get<RowRun>(runner.run_of(row_of(rows, id)).value()).run;
  run.plan = parse_plan(more, run.plan).value();
  REQUIRE(check_run(run));
  return predict(run).step.value;
}

}  // namespace

// Of what changes between two published runs: the sign, and where it is `held` the size within a third, as a share
// of the step or, where predicted steps are all too short (no samples of that GPU), in seconds. Rates are the
// analytic ones: a pair's are the same. The figures, and what is known of those that miss, are in docs/accuracy.md.
enum class Held { kSign, kShare, kSeconds };
struct Effect {
  const char* what;
  const char* before;
  const char* after;
  Held held;
};
constexpr Effect kEffects[] = {
    {"DeepEP for alltoall", "prm-dsv2-base", "prm-dsv2-deepep", Held::kSign},
    {"no host synchronisation", "prm-dsv2-vpp3", "prm-dsv2-syncfree", Held::kShare},
    {"capacity 1 to 5", "xtm-tp4ep8pp8-deepep-cap1", "xtm-tp4ep8pp8-deepep-cap5", Held::kSign},
    {"across nodes by alltoall", "mb-26.02.01-pre-gpt-oss-b200-64-bf16-tp1pp1mbs4gbs1280",
     "mb-26.02-pre-gpt-oss-b200-64-bf16-tp1pp1mbs4gbs1280", Held::kSeconds},
};

TEST_CASE("what changes between two published runs changes the prediction the same way") {
  const auto rows = modern_rows();
  for (const Effect& effect : kEffects) {
    const double measured[] = {row_of(rows, effect.before).step.value().value,
                               row_of(rows, effect.after).step.value().value};
    const double ours[] = {predicted(rows, effect.before), predicted(rows, effect.after)};
    const double seconds = measured[1] - measured[0], predicted_seconds = ours[1] - ours[0];
    const double share = seconds / measured[0], predicted_share = predicted_seconds / ours[0];
    MESSAGE(std::string(effect.what), ": measured ", 100 * share, " %, ", seconds, " s; predicted ",
            100 * predicted_share, " %, ", predicted_seconds, " s");
    CHECK(share * predicted_share > 0);
    if (effect.held == Held::kShare) CHECK(std::abs(predicted_share - share) <= std::abs(share) / 3);
    if (effect.held == Held::kSeconds) CHECK(std::abs(predicted_seconds - seconds) <= std::abs(seconds) / 3);
  }
}

TEST_CASE("natural routing costs time, and an exchange beside other work saves some") {
  const auto rows = modern_rows();
  CHECK(predicted(rows, "prm-dsv2-deepep", "expert_imbalance=1.5") > predicted(rows, "prm-dsv2-deepep"));
  CHECK(predicted(rows, "prm-dsv2-vpp3", "overlap_dispatch=1") < predicted(rows, "prm-dsv2-vpp3"));
}

// AMD's runs of DeepSeek-V2-Lite: 2.8 times the throughput, of which the host's work for so small a micro-batch is
// seen here in part.
TEST_CASE("eight samples at a time train faster than one") {
  const auto step = [](int micro_batch) {
    const Catalog catalog;
    Run run;
    run.model = catalog.model("deepseek-v2-lite").value();
    run.cluster = catalog.cluster("amd-mi355x").value();
    run.stack = catalog.stack("primus-megatron").value();
    run.gpus = 8;
    run.seq = 4096;
    run.global_batch = 512;
    run.plan =
        parse_plan(fmt::format("ep=8,etp=1,zero=1,expert_imbalance=1,micro_batch={}", micro_batch)).value();
    REQUIRE(check_run(run));
    return predict(run).step.value;
  };
  const double faster = step(1) / step(8);
  MESSAGE("micro-batch 1 to 8: ", faster, " times the throughput");
  CHECK(faster > 1.2);
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
  CHECK(answered == 53);
}

TEST_CASE(
    "every run that divides sequences is answered unless its format is not, in the way that it states") {
  RowRunner runner{Catalog()};
  int answered = 0;
  for (const MeasuredRow& row : modern_rows()) {
    if (row.cp.value_or(1) == 1 || !is_modelled(row)) continue;
    const auto outcome = runner.run_of(row).value();
    INFO(row.id);
    REQUIRE(std::holds_alternative<RowRun>(outcome));
    const Plan& plan = std::get<RowRun>(outcome).run.plan;
    CHECK(plan.cp == row.cp);
    CHECK(kCpTypeNames[static_cast<std::size_t>(plan.cp_type.value())] == row.cp_type);
    ++answered;
  }
  CHECK(answered == 32);
}
