#include "calibrate/measured_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "predict/evaluator.h"
#include "validate/logged_memory.h"

namespace foretrain {

std::string unfit_to_teach(const RowScore& row) {
  if (!row.skipped.empty()) return row.skipped;
  if (!row.measured) return "it failed, and tells no step";
  if (row.broken) return "its cluster was in a broken state, by its own figures";
  return "";
}

Measured measured_of(const RowScore& score, const MeasuredRow& row, std::shared_ptr<const CostSource> costs) {
  Measured out;
  out.name = row.at.file.empty() ? score.id
                                 : fmt::format("{}:{}: {}", file_name(row.at.file), row.at.line, score.id);
  out.run = score.run;
  out.costs = std::move(costs);
  const bool has_parts =
      std::all_of(score.parts.begin(), score.parts.end(), [](const auto& part) { return part.has_value(); });
  constexpr std::array<MeasuredPart, 3> kParts = {MeasuredPart::kForward, MeasuredPart::kBackward,
                                                  MeasuredPart::kOptimizer};
  if (has_parts)
    for (std::size_t i = 0; i < kParts.size(); ++i)
      out.figures.push_back({kParts[i], score.parts[i]->measured.value});
  else
    out.figures.push_back({MeasuredPart::kStep, score.measured->value});
  out.memory = score.measured_memory;
  out.counter = row.memory_counter;
  out.widened = score.widened;
  return out;
}

void calibrate_score(const Calibration& calibration, const std::shared_ptr<const CostSource>& costs,
                     RowScore& row) {
  const Run& run = *row.run;
  const CalibratedRun there = calibrated(calibration, run, costs);
  Prediction prediction = predict(there.run, there.costs);
  const double typical = prediction.typical.value;
  prediction.step.spread *= row.widened;
  prediction.step.above *= row.widened;
  stand(calibration, run, costs, prediction);
  row.predicted.value = row.against == Against::kMedian ? typical : prediction.step.value;
  row.predicted.spread = prediction.step.spread;
  row.predicted.above = prediction.step.above;
  row.fit_probability = prediction.fit_probability;
  row.needed_share = prediction.needed / prediction.usable;
}

}  // namespace foretrain
