#include "samples/steady_steps.h"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

constexpr double kSlow = 1.1, kSlowInside = 1.5, kOutlier = 1.2;
constexpr std::size_t kLinesOfDrift = 9;  // three in each third, so that one odd line moves no median

// What the line says of speed, as seconds of something: of a step, a token or a sample.
double slowness(const StepLine& told) {
  if (told.seconds > 0) return told.seconds;
  if (told.tokens > 0) return 1 / told.tokens;
  return told.samples > 0 ? 1 / told.samples : 0;
}

// Seconds of a step by the stamps of this line and the one before; 0 where they do not tell.
double between(const StepLine& before, const StepLine& told) {
  if (!before.stamp || !told.stamp || told.step <= before.step) return 0;
  const double seconds = (*told.stamp - *before.stamp) / static_cast<double>(told.step - before.step);
  return seconds > 0 ? std::round(seconds * 1e6) / 1e6 : 0;  // stamps of today leave no more digits
}

double relative_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean;
}

// The lower median, so that it is a line's own even of two.
double reference_of(std::span<const LoggedStep> steps) {
  std::vector<double> latter, paused;
  for (const LoggedStep& step : steps.subspan(steps.size() / 2))
    (step.pause.empty() ? latter : paused).push_back(slowness(step.told));
  std::vector<double>& values = latter.empty() ? paused : latter;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// Whether the first line is near the beginning of its run: within two of its intervals.
bool is_from_the_start(std::span<const LoggedStep> steps) {
  const std::int64_t first = steps.front().told.step;
  const std::int64_t interval = steps.size() < 2 ? 1 : std::max<std::int64_t>(1, steps[1].told.step - first);
  return first <= 2 * interval;
}

// How much longer the last third takes than the first.
double drift_of(const std::vector<double>& speeds) {
  if (speeds.size() < kLinesOfDrift) return 0;
  const auto third = static_cast<std::ptrdiff_t>(speeds.size() / 3);
  return median({speeds.end() - third, speeds.end()}) / median({speeds.begin(), speeds.begin() + third}) - 1;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

SteadySteps steady_steps(std::span<const LoggedStep> steps) {
  SteadySteps steady;
  std::size_t first = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].told.batch != steps.back().told.batch) first = i + 1;
  steady.ramp = first;
  const double reference = reference_of(steps.subspan(first));
  const bool has_start = first == 0 && is_from_the_start(steps);
  const double slow = has_start ? kSlow : kSlowInside;
  const std::size_t at_most = first + (steps.size() - first) / 2;
  if (has_start && steps.size() > 2) ++first;
  while (first < at_most && slowness(steps[first].told) > slow * reference) ++first;
  steady.warmup = first - steady.ramp;
  steady.is_warming = has_start && first == at_most && steps.size() > kLinesOfDrift;

  std::vector<double> speeds, seconds, tokens, samples, training, all;
  for (std::size_t i = first; i < steps.size(); ++i) {
    const StepLine& told = steps[i].told;
    const double speed = slowness(told);
    all.push_back(speed);
    if (speed > kSlow * reference && !steps[i].pause.empty()) {
      ++steady.pauses[steps[i].pause];
      continue;
    }
    if (speed > kOutlier * reference || speed < reference / kOutlier) {
      ++steady.outliers;
      if (speed > reference) ++steady.stalls;
      training.push_back(speed);
      continue;
    }
    ++steady.used;
    speeds.push_back(speed);
    training.push_back(speed);
    const double step_seconds = told.seconds > 0                  ? told.seconds
                                : i > 0 && steps[i].pause.empty() ? between(steps[i - 1].told, told)
                                                                  : 0;
    if (step_seconds > 0) seconds.push_back(step_seconds);
    if (told.tokens > 0) tokens.push_back(told.tokens);
    if (told.samples > 0) samples.push_back(told.samples);
  }
  steady.spread = relative_deviation(speeds);
  steady.drift = drift_of(training);
  if (const double usual = median(speeds); usual > 0) {
    steady.with_stalls = mean(training) / usual;
    steady.with_pauses = mean(all) / usual;
  }
  steady.seconds = median(std::move(seconds));
  steady.tokens = median(std::move(tokens));
  steady.samples = median(std::move(samples));
  return steady;
}

}  // namespace foretrain
