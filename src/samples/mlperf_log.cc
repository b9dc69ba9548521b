#include "samples/mlperf_log.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "samples/log_line.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostPairs = 10'000, kMostSteps = 2'000'000;

// What stands behind "name": a text without its quotes, a plain word, or empty for an object or null.
std::string_view plain_value(std::string_view json, std::string_view name) {
  const std::size_t at = json.find(name);
  if (at == std::string_view::npos) return {};
  std::string_view rest = json.substr(at + name.size());
  rest = rest.substr(std::min(rest.find_first_not_of(" :"), rest.size()));
  if (rest.starts_with('"'))
    return rest.substr(1, rest.find('"', 1) == std::string_view::npos ? 0 : rest.find('"', 1) - 1);
  if (rest.starts_with('{') || rest.starts_with('[') || rest.starts_with("null")) return {};
  return trim(rest.substr(0, std::min(rest.find_first_of(",}"), rest.size())));
}

double number_of(std::string_view json, std::string_view name) {
  const auto number = number_after(json, name);
  return number && number->value > 0 ? number->value : 0;
}

}  // namespace

void MlperfLog::read(std::string_view line, int number) {
  const std::string_view json = line.substr(line.find(kMlperfMark) + kMlperfMark.size());
  const std::string_view key = plain_value(json, "\"key\"");
  if (key.empty()) return;
  ++lines_;
  if (key == "eval_start") pause_ = "evaluation";
  StepLine told;
  told.line = number;
  const double samples_count = number_of(json, "samples_count");
  const double step = number_of(json, "\"step\"");
  told.stamp = number_of(json, "\"time_ms\"") / 1e3;
  if (tracked_.size() + stamped_.size() >= kMostSteps) return;
  if (key == "tracked_stats") {
    told.seconds = number_of(json, "train_step_time");
    told.samples = number_of(json, "\"throughput\"");
    memory_ = std::max(memory_, number_of(json, "max_memory_usage"));
    if (!(told.seconds > 0) && !(told.samples > 0)) return;
    told.step = std::llround(std::min(step, 1e15));
    tracked_.push_back({told, ""});
    return;
  }
  if (key == "train_loss" || key == "block_start" || key == "block_stop") {
    last_samples_ = std::max(last_samples_, samples_count);
    told.step = std::llround(std::min(samples_count, 1e15));  // in samples as yet
    stamped_.push_back({told, std::exchange(pause_, "")});
    return;
  }
  const std::string_view value = plain_value(json, "\"value\"");
  if (value.empty() || key.starts_with("eval_") || key.ends_with("_start") || key.ends_with("_stop")) {
    if (key != "eval_samples") return;
  }
  if (key == "global_batch_size") batch_ = parse_number(value).value_or(0);
  if (pairs_.size() < kMostPairs) pairs_.insert_or_assign(std::string(key), std::string(value));
}

std::optional<TrainingLog> MlperfLog::take() && {
  TrainingLog log;
  log.format = "mlperf";
  log.runs = 1;
  std::vector<LoggedStep> steps = std::move(tracked_);
  if (steps.empty() && batch_ > 0) {
    // Stamps of losses and blocks, an evaluation between them told as a pause.
    for (std::size_t i = 1; i < stamped_.size(); ++i) {
      const StepLine &before = stamped_[i - 1].told, &now = stamped_[i].told;
      const double seconds = now.stamp.value_or(0) - before.stamp.value_or(0);
      const double of_steps = static_cast<double>(now.step - before.step) / batch_;
      if (!(of_steps > 0) || !(seconds > 0)) continue;
      LoggedStep step = stamped_[i];
      step.told.step = std::llround(static_cast<double>(now.step) / batch_);
      step.told.seconds = seconds / of_steps;
      step.told.samples = batch_ / step.told.seconds;
      steps.push_back(std::move(step));
    }
  }
  if (steps.empty()) return std::nullopt;
  log.lines = log.steps = steps.size();
  log.steady = steady_steps(steps);
  if (!(log.steady.seconds > 0) && batch_ > 0 && log.steady.samples > 0)
    log.steady.seconds = batch_ / log.steady.samples;
  if (batch_ > 0) log.last_step = std::llround(std::min(last_samples_ / batch_, 1e15));
  log.global_batch = batch_;
  log.memory_gib = memory_;
  if (memory_ > 0) log.memory_counter = "max_memory_usage";
  log.run = std::move(pairs_);
  return log;
}

}  // namespace foretrain
