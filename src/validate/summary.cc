#include "validate/summary.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "predict/uncertainty.h"

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

std::vector<std::string> names_of(const RowScore& row, GroupBy by) {
  switch (by) {
    case GroupBy::kSource:
      return {row.source};
    case GroupBy::kGpu:
      return {row.gpu};
    case GroupBy::kStack:
      return {row.stack};
    case GroupBy::kCluster:
      return {row.cluster};
    case GroupBy::kGroup:
      return {row.group};
    case GroupBy::kFeature:
      break;
  }
  return row.features;
}

// Errors of the rows scored on time.
struct Errors {
  std::vector<double> time, memory;
  std::array<std::vector<double>, 3> parts;
  std::size_t covered = 0;
};

Errors errors_of(const std::vector<const RowScore*>& rows) {
  Errors errors;
  for (const RowScore* row : rows) {
    const auto error = row->error();
    if (!error) continue;
    errors.time.push_back(*error);
    if (const auto memory_error = row->memory_error()) errors.memory.push_back(*memory_error);
    for (std::size_t i = 0; i < errors.parts.size(); ++i)
      if (row->parts[i]) errors.parts[i].push_back(row->parts[i]->error());
    if (row->covered()) ++errors.covered;
  }
  return errors;
}

// One figure each of rows, groups or sources.
struct Means {
  std::vector<double> apes, biases, coverages, memory_apes, memory_biases;

  GroupSummary summary() const {
    return {.count = apes.size(),
            .mape = mean(apes),
            .median_ape = quantile(apes, 0.5),
            .p90_ape = quantile(apes, 0.9),
            .bias = mean(biases),
            .coverage80 = mean(coverages),
            .memory = {memory_apes.size(), mean(memory_apes), mean(memory_biases)}};
  }
};

using Members = std::map<std::string_view, std::vector<const RowScore*>>;

template <class NameOf>
Members members_by(const std::vector<const RowScore*>& rows, const NameOf& name_of) {
  Members members;
  for (const RowScore* row : rows)
    if (row->error()) members[name_of(*row)].push_back(row);
  return members;
}

GroupSummary summarise_members(const Members& members) {
  Means means;
  for (const auto& [name, group] : members) {
    const Errors errors = errors_of(group);
    means.apes.push_back(mean(magnitudes(errors.time)));
    means.biases.push_back(mean(errors.time));
    means.coverages.push_back(static_cast<double>(errors.covered) / static_cast<double>(errors.time.size()));
    if (errors.memory.empty()) continue;
    means.memory_apes.push_back(mean(magnitudes(errors.memory)));
    means.memory_biases.push_back(mean(errors.memory));
  }
  return means.summary();
}

GroupSummary summarise_groups(const std::vector<const RowScore*>& rows) {
  return summarise_members(members_by(rows, [](const RowScore& row) { return std::string_view(row.group); }));
}

GroupSummary summarise_rows(const std::vector<const RowScore*>& rows) {
  const Errors errors = errors_of(rows);
  Means means{.apes = magnitudes(errors.time),
              .biases = errors.time,
              .memory_apes = magnitudes(errors.memory),
              .memory_biases = errors.memory};
  if (!errors.time.empty())
    means.coverages = {static_cast<double>(errors.covered) / static_cast<double>(errors.time.size())};
  return means.summary();
}

GroupSummary summarise_sources(const std::vector<const RowScore*>& rows) {
  Means means;
  for (const auto& [name, members] :
       members_by(rows, [](const RowScore& row) { return std::string_view(row.source); })) {
    const GroupSummary source = summarise_groups(members);
    means.apes.push_back(source.mape);
    means.biases.push_back(source.bias);
    means.coverages.push_back(source.coverage80);
    if (source.memory.count == 0) continue;
    means.memory_apes.push_back(source.memory.mape);
    means.memory_biases.push_back(source.memory.bias);
  }
  return means.summary();
}

void count_fit(FitSummary& fits, const RowScore& row) {
  const auto step = static_cast<std::size_t>(row.fit_probability * static_cast<double>(kFitBins));
  FitBin& bin = fits.reliability[std::min(step, kFitBins - 1)];
  ++bin.rows;
  const Verdict verdict = verdict_of(row.fit_probability);
  if (row.error()) {
    ++fits.measured_rows;
    if (verdict != Verdict::kFits) ++fits.false_doubt;
    if (verdict == Verdict::kDoesNotFit) ++fits.false_oom;
  } else {
    ++bin.failed;
    ++fits.oom_rows;
    if (verdict != Verdict::kFits) ++fits.oom_doubted;
    if (verdict == Verdict::kDoesNotFit) ++fits.oom_caught;
  }
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
  for (const RowScore* row : rows) {
    if (row->skipped.empty()) {
      count_fit(summary.fits, *row);
    } else {
      ++summary.skipped;
      ++summary.skipped_reasons[row->skipped];
    }
  }
  const Errors errors = errors_of(rows);
  const std::vector<double> apes = magnitudes(errors.time);
  summary.count = errors.time.size();
  summary.mape = mean(apes);
  summary.median_ape = quantile(apes, 0.5);
  summary.p90_ape = quantile(apes, 0.9);
  summary.bias = mean(errors.time);
  if (summary.count > 0)
    summary.coverage80 = static_cast<double>(errors.covered) / static_cast<double>(summary.count);
  summary.memory = {errors.memory.size(), mean(magnitudes(errors.memory)), mean(errors.memory)};
  summary.by_group = summarise_groups(rows);
  std::vector<const RowScore*> healthy;
  for (const RowScore* row : rows) {
    if (!row->broken)
      healthy.push_back(row);
    else if (row->error())
      ++summary.set_apart;
  }
  summary.healthy = summarise_rows(healthy);
  summary.ranking = summarise_sweeps(sweeps_of(rows));
  summary.by_source = summarise_sources(healthy);
  for (std::size_t i = 0; i < errors.parts.size(); ++i)
    summary.parts[i] = {errors.parts[i].size(), mean(magnitudes(errors.parts[i])), mean(errors.parts[i])};
  return summary;
}

Summary summarise(const std::vector<RowScore>& rows) {
  std::vector<const RowScore*> all;
  for (const RowScore& row : rows) all.push_back(&row);
  return summarise(all);
}

std::map<std::string, Summary> summarise_by(const std::vector<RowScore>& rows, GroupBy by) {
  std::map<std::string, std::vector<const RowScore*>> members;
  for (const RowScore& row : rows)
    for (const std::string& name : names_of(row, by)) members[name].push_back(&row);
  std::map<std::string, Summary> groups;
  for (const auto& [name, group] : members) groups.emplace(name, summarise(group));
  return groups;
}

}  // namespace foretrain
