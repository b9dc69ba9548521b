// Measured sweeps as judges of a search (validate/ranking.h).
// FORETRAIN_MEASURED_RUNS names the folder of tables (tests/accuracy/check sets it).
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cost/profile_store.h"
#include "measured_runs.h"
#include "spec/catalog.h"
#include "validate/ranking.h"

using namespace foretrain;

namespace {

template <class Which>
RankingSummary judge(const Which& which) {
  std::vector<MeasuredRow> chosen;
  for (MeasuredRow& row : all_rows())
    if (row.step && which(row)) chosen.push_back(std::move(row));
  const ProfileStore store;
  const auto scores = score_rows(chosen, Catalog(), Against::kMedian, &store);
  REQUIRE_MESSAGE(scores.has_value(), (scores ? "" : scores.error().text()));
  std::vector<const RowScore*> rows;
  for (const RowScore& score : *scores) rows.push_back(&score);
  const Sweeps sweeps = sweeps_of(rows);
  for (const auto& [name, pairs] : sweeps)
    MESSAGE(name, ": ", pairs.size(), " plans, rank correlation ", rank_correlation(pairs),
            ", predicted best ", regret(pairs), " slower");
  const RankingSummary judged = summarise_sweeps(sweeps);
  REQUIRE(judged.sweeps > 0);
  return judged;
}

}  // namespace

TEST_CASE("the playbook's plans in a healthy state, for the same model, GPUs and batch") {
  const RankingSummary judged = judge([](const MeasuredRow& row) { return row.source == "hf_ultrascale"; });
  MESSAGE(judged.rows, " rows in ", judged.sweeps, " groups: median rank correlation ", judged.correlation,
          " (aim 0.8); the predicted best within 10 % of the measured best in ", judged.within_10,
          " of them (aim 0.8, mean of losses 0.06), ", judged.regret, " slower on average");
  CHECK(judged.correlation >= 0.85);
  CHECK(judged.within_10 >= 0.75);
}

TEST_CASE("vTrain's plans on several nodes, for the same model, GPUs and batch") {
  const RankingSummary judged = judge(
      [](const MeasuredRow& row) { return row.source == "vtrain_ground_truth" && row.gpus.value_or(0) > 8; });
  MESSAGE(judged.rows, " rows in ", judged.sweeps, " groups: median rank correlation ", judged.correlation,
          " (aim 0.9); the predicted best within 10 % of the measured best in ", judged.within_10,
          " of them, ", judged.regret, " slower on average");
  CHECK(judged.correlation >= 0.85);
}
