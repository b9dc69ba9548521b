// Measured sweeps as judges of a search: of plans that somebody ran for the same model, GPUs and batch, does
// the prediction put them in the measured order, and is the plan that it would choose a good one?
// FORETRAIN_MEASURED_RUNS names the folder of tables (tests/accuracy/check sets it).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "cost/profile_store.h"
#include "spec/catalog.h"
#include "validate/row_score.h"

using namespace foretrain;

namespace {

struct Pair {
  double measured, predicted;
};
using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;  // model, GPUs, batch, seq
using Groups = std::map<Key, std::vector<Pair>>;

constexpr std::size_t kFewestRows = 5;

// Places in the order, equal values sharing the mean of theirs.
std::vector<double> places(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) out[order[i]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return out;
}

// Spearman's.
double rank_correlation(const std::vector<Pair>& pairs) {
  std::vector<double> measured, predicted;
  for (const Pair& p : pairs) measured.push_back(p.measured), predicted.push_back(p.predicted);
  const auto x = places(measured), y = places(predicted);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

// How much slower the plan predicted best was than the best.
double loss(const std::vector<Pair>& pairs) {
  const auto by = [](auto member) {
    return [member](const Pair& a, const Pair& b) { return a.*member < b.*member; };
  };
  const Pair chosen = *std::min_element(pairs.begin(), pairs.end(), by(&Pair::predicted));
  const Pair best = *std::min_element(pairs.begin(), pairs.end(), by(&Pair::measured));
  return chosen.measured / best.measured - 1;
}

// Of rows in a healthy state (validate/row_state.h).
template <class Which>
Groups groups_of(const Which& which) {
  const char* folder = std::getenv("FORETRAIN_MEASURED_RUNS");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  auto rows = read_measured_rows(disk(), folder);
  REQUIRE_MESSAGE(rows.has_value(), (rows ? "" : rows.error().text()));
  const ProfileStore store;
  const Catalog catalog;
  RowScorer scorer(catalog, Against::kMedian, &store);
  Groups groups;
  for (const MeasuredRow& row : *rows) {
    if (!row.step || !which(row)) continue;
    const auto score = scorer.score(row);
    REQUIRE(score);
    if (!score->skipped.empty() || score->broken) continue;
    groups[{row.model, *row.gpus, *row.global_batch, *row.seq}].push_back(
        {row.step->value, score->predicted.value});
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < kFewestRows; });
  return groups;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct Judged {
  double correlation = 0;  // median over groups
  double within_10 = 0;    // share of groups whose predicted best is that near to the measured best
  double mean_loss = 0;
  std::size_t groups = 0, rows = 0;
};

Judged judge(const Groups& groups) {
  Judged out;
  std::vector<double> correlations;
  for (const auto& [key, pairs] : groups) {
    correlations.push_back(rank_correlation(pairs));
    out.within_10 += loss(pairs) <= 0.10;
    out.mean_loss += loss(pairs);
    out.rows += pairs.size();
    MESSAGE(std::get<0>(key), ", ", std::get<1>(key), " GPUs, batch ", std::get<2>(key), ": ", pairs.size(),
            " plans, rank correlation ", correlations.back(), ", predicted best ", loss(pairs), " slower");
  }
  out.groups = groups.size();
  REQUIRE(out.groups > 0);
  out.correlation = median(correlations);
  out.within_10 /= static_cast<double>(out.groups);
  out.mean_loss /= static_cast<double>(out.groups);
  return out;
}

}  // namespace

TEST_CASE("equal orders correlate, reversed ones anticorrelate, and ties share their places") {
  CHECK(rank_correlation({{1, 10}, {2, 20}, {3, 40}}) == doctest::Approx(1));
  CHECK(rank_correlation({{1, 40}, {2, 20}, {3, 10}}) == doctest::Approx(-1));
  CHECK(places({5, 1, 5, 9}) == std::vector<double>{1.5, 0, 1.5, 3});
  CHECK(loss({{2, 1}, {1, 2}}) == doctest::Approx(1));
}

TEST_CASE("the playbook's plans in a healthy state, for the same model, GPUs and batch") {
  const Judged judged =
      judge(groups_of([](const MeasuredRow& row) { return row.source == "hf_ultrascale"; }));
  MESSAGE(judged.rows, " rows in ", judged.groups, " groups: median rank correlation ", judged.correlation,
          " (aim 0.8); the predicted best within 10 % of the measured best in ", judged.within_10,
          " of them (aim 0.8, mean of losses 0.06), ", judged.mean_loss, " slower on average");
  CHECK(judged.correlation >= 0.85);
  CHECK(judged.within_10 >= 0.75);
}

TEST_CASE("vTrain's plans on several nodes, for the same model, GPUs and batch") {
  const Judged judged = judge(groups_of([](const MeasuredRow& row) {
    return row.source == "vtrain_ground_truth" && row.gpus.value_or(0) > 8;
  }));
  MESSAGE(judged.rows, " rows in ", judged.groups, " groups: median rank correlation ", judged.correlation,
          " (aim 0.9); the predicted best within 10 % of the measured best in ", judged.within_10,
          " of them, ", judged.mean_loss, " slower on average");
  CHECK(judged.correlation >= 0.85);
}
