#include "validate/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "validate/summary.h"

namespace foretrain {

namespace {

constexpr std::size_t kFewestRows = 5;
constexpr double kNear = 0.10;

}  // namespace

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

double rank_correlation(const std::vector<TimePair>& pairs) {
  std::vector<double> measured, predicted;
  for (const TimePair& p : pairs) measured.push_back(p.measured), predicted.push_back(p.predicted);
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

double regret(const std::vector<TimePair>& pairs) {
  CHECK_THAT(!pairs.empty());
  const auto by = [](auto member) {
    return [member](const TimePair& a, const TimePair& b) { return a.*member < b.*member; };
  };
  const TimePair chosen = *std::min_element(pairs.begin(), pairs.end(), by(&TimePair::predicted));
  const TimePair best = *std::min_element(pairs.begin(), pairs.end(), by(&TimePair::measured));
  return chosen.measured / best.measured - 1;
}

Sweeps sweeps_of(const std::vector<const RowScore*>& rows) {
  Sweeps sweeps;
  for (const RowScore* row : rows)
    if (row->error() && !row->broken && !row->sweep.empty())
      sweeps[row->sweep].push_back({row->measured->value, row->predicted.value});
  std::erase_if(sweeps, [](const auto& sweep) { return sweep.second.size() < kFewestRows; });
  return sweeps;
}

RankingSummary summarise_sweeps(const Sweeps& sweeps) {
  RankingSummary out;
  if (sweeps.empty()) return out;
  std::vector<double> correlations;
  std::size_t near = 0;
  double sum = 0;
  for (const auto& [name, pairs] : sweeps) {
    correlations.push_back(rank_correlation(pairs));
    const double lost = regret(pairs);
    near += lost <= kNear ? 1 : 0;
    sum += lost;
    out.rows += pairs.size();
  }
  const auto count = static_cast<double>(sweeps.size());
  out.sweeps = sweeps.size();
  out.correlation = quantile(std::move(correlations), 0.5);
  out.within_10 = static_cast<double>(near) / count;
  out.regret = sum / count;
  return out;
}

std::string sweep_name(const MeasuredRow& row) {
  if (!row.gpus || !row.global_batch || !row.seq) return {};
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{} GPUs|batch {}|seq {}", row.source, row.cluster, row.gpu,
                     row.stack, row.precision ? name(*row.precision) : "", row.task, row.model, *row.gpus,
                     *row.global_batch, *row.seq);
}

}  // namespace foretrain
