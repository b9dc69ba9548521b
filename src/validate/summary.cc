#include "validate/summary.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace foretrain {

namespace {

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kNoFigure : sum / static_cast<double>(values.size());
}

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

const std::string& group_of(const RowScore& row, GroupBy by) {
  switch (by) {
    case GroupBy::kSource:
      return row.source;
    case GroupBy::kGpu:
      return row.gpu;
    case GroupBy::kStack:
      return row.stack;
    case GroupBy::kCluster:
      break;
  }
  return row.cluster;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  CHECK_THAT(q >= 0 && q <= 1);
  if (values.empty()) return kNoFigure;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

Summary summarise(const std::vector<const RowScore*>& rows) {
  Summary summary;
  std::vector<double> errors, memory_errors;
  std::array<std::vector<double>, 3> part_errors;
  std::size_t covered = 0;
  for (const RowScore* row : rows) {
    if (!row->skipped.empty()) {
      ++summary.skipped;
      ++summary.skipped_reasons[row->skipped];
      continue;
    }
    const auto step = static_cast<std::size_t>(row->fit_probability * static_cast<double>(kFitBins));
    FitBin& bin = summary.fits.reliability[std::min(step, kFitBins - 1)];
    ++bin.rows;
    if (const auto error = row->error()) {
      errors.push_back(*error);
      if (const auto memory_error = row->memory_error()) memory_errors.push_back(*memory_error);
      for (std::size_t i = 0; i < part_errors.size(); ++i)
        if (row->parts[i]) part_errors[i].push_back(row->parts[i]->error());
      if (row->covered()) ++covered;
      ++summary.fits.measured_rows;
      if (!row->fits) ++summary.fits.false_oom;
    } else {
      ++bin.failed;
      ++summary.fits.oom_rows;
      if (!row->fits) ++summary.fits.oom_caught;
    }
  }
  const std::vector<double> apes = magnitudes(errors);
  summary.count = errors.size();
  summary.mape = mean(apes);
  summary.median_ape = quantile(apes, 0.5);
  summary.p90_ape = quantile(apes, 0.9);
  summary.bias = mean(errors);
  if (!errors.empty()) summary.coverage80 = static_cast<double>(covered) / static_cast<double>(errors.size());
  summary.memory = {memory_errors.size(), mean(magnitudes(memory_errors)), mean(memory_errors)};
  for (std::size_t i = 0; i < part_errors.size(); ++i)
    summary.parts[i] = {part_errors[i].size(), mean(magnitudes(part_errors[i])), mean(part_errors[i])};
  return summary;
}

Summary summarise(const std::vector<RowScore>& rows) {
  std::vector<const RowScore*> all;
  for (const RowScore& row : rows) all.push_back(&row);
  return summarise(all);
}

std::map<std::string, Summary> summarise_by(const std::vector<RowScore>& rows, GroupBy by) {
  std::map<std::string, std::vector<const RowScore*>> members;
  for (const RowScore& row : rows) members[group_of(row, by)].push_back(&row);
  std::map<std::string, Summary> groups;
  for (const auto& [name, group] : members) groups.emplace(name, summarise(group));
  return groups;
}

}  // namespace foretrain
