#include "samples/log_form.h"

#include <cmath>
#include <string>

#include "samples/log_line.h"

namespace foretrain {
namespace {

constexpr double kMostSeconds = 1e7, kMostSteps = 1e12;

// Where the lines come from:
//   neox       megatron/logging.py of EleutherAI/gpt-neox
//   megatron   training_log() of Megatron-LM; Megatron-DeepSpeed, MindSpeed, Primus and Megatron-Bridge keep it;
//              BigScience's fork counts seconds
//   nanotron   LogItem of nanotron/trainer.py; time_per_iteration_ms of newer versions
//   nemo       exp_manager's TimingCallback in a progress bar, and NeMo 2's ProgressPrinter
//   torchtitan components/metrics.py; `wps` before 2025
//   maxtext    max_utils / metric_logger
//   deepspeed  PipelineEngine, and ThroughputTimer
constexpr LogForm kForms[] = {
    {.format = "neox",
     .first = "samples/sec",
     .second = "elapsed time per iteration (ms)",
     .third = "iteration",
     .step = "iteration",
     .seconds = "elapsed time per iteration (ms)",
     .unit = 1e-3,
     .samples = "samples/sec",
     .loss = "lm_loss"},
    {.format = "megatron",
     .first = "elapsed time per iteration (ms)",
     .second = "iteration ",
     .step = "iteration",
     .seconds = "elapsed time per iteration (ms)",
     .unit = 1e-3,
     .tokens = "(tokens/s/GPU)",
     .samples = "samples per second",
     .loss = "lm loss",
     .batch = "global batch size",
     .memory = "mem usage/free/total/usage_ratio"},
    {.format = "megatron",
     .first = "elapsed time per iteration (s)",
     .second = "iteration ",
     .step = "iteration",
     .seconds = "elapsed time per iteration (s)",
     .samples = "samples per second",
     .loss = "lm loss",
     .batch = "global batch size"},
    {.format = "nanotron",
     .first = "elapsed_time_per_iteration_ms",
     .second = "iteration",
     .step = "iteration",
     .seconds = "elapsed_time_per_iteration_ms",
     .unit = 1e-3,
     .tokens = "tokens_per_sec_per_gpu",
     .loss = "lm_loss",
     .batch = "global_batch_size",
     .memory = "cuda_max_memory_reserved"},
    {.format = "nanotron",
     .first = "time_per_iteration_ms",
     .second = "iteration",
     .step = "iteration",
     .seconds = "time_per_iteration_ms",
     .unit = 1e-3,
     .tokens = "tokens_per_sec_per_gpu",
     .loss = "lm_loss",
     .batch = "global_batch_size",
     .memory = "cuda_max_memory_reserved"},
    {.format = "nemo",
     .first = "train_step_timing in s",
     .second = "global_step",
     .step = "global_step",
     .seconds = "train_step_timing in s",
     .loss = "reduced_train_loss",
     .batch = "global_batch_size"},
    {.format = "nemo",
     .first = "train_step_timing in s",
     .step = "iteration",
     .seconds = "train_step_timing in s",
     .loss = "reduced_train_loss",
     .batch = "global_batch_size"},
    {.format = "torchtitan",
     .first = "step:",
     .second = "loss:",
     .third = "tps:",
     .step = "step",
     .seconds = "",
     .tokens = "tps",
     .loss = "loss",
     .memory = "memory"},
    {.format = "torchtitan",
     .first = "step:",
     .second = "loss:",
     .third = "wps:",
     .step = "step",
     .seconds = "",
     .tokens = "wps",
     .loss = "loss",
     .memory = "memory"},
    {.format = "maxtext",
     .first = "completed step",
     .second = "seconds",
     .step = "completed step",
     .seconds = "seconds",
     .tokens = "Tokens/s/device",
     .loss = "loss"},
    {.format = "litgpt",
     .first = "iter time:",
     .second = "iter ",
     .step = "iter",
     .seconds = "iter time",
     .unit = 1e-3,
     .loss = "loss train"},
    {.format = "modded-nanogpt",
     .first = "step_avg:",
     .second = "step:",
     .step = "step",
     .seconds = "step_avg",
     .unit = 1e-3,
     .loss = "train_loss"},
    {.format = "nanogpt",
     .first = "iter ",
     .second = ": loss ",
     .third = ", time ",
     .step = "iter",
     .seconds = "time",
     .unit = 1e-3,
     .loss = "loss"},
    {.format = "build-nanogpt",
     .first = "dt:",
     .second = "step ",
     .third = "loss",
     .step = "step",
     .seconds = "dt",
     .unit = 1e-3,
     .loss = "loss"},
    {.format = "picotron",
     .first = "Tokens/s/GPU:",
     .second = "Step:",
     .third = "Loss:",
     .step = "Step",
     .seconds = "",
     .tokens = "Tokens/s/GPU",
     .loss = "Loss",
     .memory = "Memory usage"},
    {.format = "torchtune",
     .first = "tokens_per_second_per_gpu:",
     .second = "Step ",
     .step = "Step",
     .seconds = "",
     .tokens = "tokens_per_second_per_gpu",
     .loss = "loss"},
    {.format = "deepspeed",
     .first = "iter time (s)",
     .second = "steps:",
     .step = "steps",
     .seconds = "iter time (s)",
     .samples = "samples/sec",
     .loss = "loss"},
    {.format = "deepspeed",
     .first = "CurrSamplesPerSec=",
     .second = "global_step=",
     .step = "global_step",
     .seconds = "",
     .samples = "CurrSamplesPerSec",
     .memory = "MaxMemAllocated"},
    {.format = "internevo",
     .first = "tgs (tokens/gpu/second)",
     .second = "step",
     .step = "step",
     .seconds = "",
     .tokens = "tgs (tokens/gpu/second)",
     .loss = "loss"},
    {.format = "composer",
     .first = "throughput/batches_per_sec:",
     .step = "",
     .seconds = "",
     .steps_per_second = "throughput/batches_per_sec"},
    {.format = "olmo",
     .first = "throughput/device/batches_per_second=",
     .step = "",
     .seconds = "",
     .steps_per_second = "throughput/device/batches_per_second"},
    {.format = "swift",
     .first = "'train_speed(iter/s)'",
     .second = "'loss'",
     .step = "global_step/max_steps",
     .seconds = "",
     .steps_per_second = "train_speed(iter/s)",
     .loss = "loss",
     .memory = "memory(GiB)"},
    {.format = "swift",
     .first = "'train_speed(s/it)'",
     .second = "'loss'",
     .step = "global_step/max_steps",
     .seconds = "train_speed(s/it)",
     .loss = "loss",
     .memory = "memory(GiB)"},
};

bool holds(std::string_view line, std::string_view part) {
  return part.empty() || line.find(part) != std::string_view::npos;
}

// By the unit that stands behind a time, else by what the key says.
double unit_of(std::string_view unit, double otherwise) {
  if (unit == "ms") return 1e-3;
  if (unit == "s" || unit == "sec") return 1;
  if (unit == "us") return 1e-6;
  return otherwise;
}

double positive(const std::optional<LogNumber>& number, double scale = 1) {
  return number && number->value > 0 ? number->value * scale : 0;
}

double after(std::string_view line, std::string_view key) {
  return key.empty() ? 0 : positive(number_after(line, key));
}

// A step of at most 10^12 and what it counts to: "10/  1000".
bool read_step(std::string_view line, std::string_view key, StepLine& found) {
  const auto step = number_after(line, key);
  if (!step || step->value < 0 || step->value > kMostSteps) return false;
  found.step = std::llround(step->value);
  std::string_view rest = step->rest;
  const std::size_t at = rest.find_first_not_of(' ');
  if (at == std::string_view::npos || rest[at] != '/') return true;
  const auto total = leading_number(rest.substr(at + 1));
  if (total && total->value > 0 && total->value <= kMostSteps) found.total = std::llround(total->value);
  return true;
}

// "4:26:54", "00:35": in seconds.
std::optional<double> clock_seconds(std::string_view text) {
  double seconds = 0;
  for (int part = 0; part < 3; ++part) {
    const auto number = leading_number(text);
    if (!number || number->value < 0 || !number->unit.empty()) return std::nullopt;
    seconds = seconds * 60 + number->value;
    if (!number->rest.starts_with(':')) return seconds;
    text = number->rest.substr(1);
  }
  return seconds;
}

}  // namespace

std::span<const LogForm> log_forms() { return kForms; }

std::optional<double> memory_gib_after(std::string_view line, std::string_view key) {
  const auto number = number_after(line, key);
  if (!number || number->value <= 0) return std::nullopt;
  std::string_view unit = number->unit;
  if (unit.empty() && number->rest.starts_with(' '))  // "123 MB"
    for (const std::string_view word : {"MB", "MiB", "GB", "GiB"})
      if (number->rest.substr(1).starts_with(word)) unit = word;
  if (unit == "GiB" || unit == "GB" || key.ends_with("(GiB)")) return number->value;
  if (unit == "MiB" || unit == "MB") return number->value / 1024;
  if (unit.empty() && number->value > 1e6) return number->value / (1024.0 * 1024 * 1024);
  return std::nullopt;
}

std::optional<StepLine> step_line(std::string_view line, const LogForm& form) {
  if (!holds(line, form.first) || !holds(line, form.second) || !holds(line, form.third)) return std::nullopt;
  StepLine found;
  if (!form.step.empty() && !read_step(line, form.step, found)) return std::nullopt;
  if (!form.seconds.empty())
    if (const auto time = number_after(line, form.seconds))
      found.seconds = positive(time, unit_of(time->unit, form.unit));
  if (const double rate = after(line, form.steps_per_second); rate > 0) found.seconds = 1 / rate;
  found.tokens = after(line, form.tokens);
  found.samples = after(line, form.samples);
  if (!(found.seconds > 0) && !(found.tokens > 0) && !(found.samples > 0)) return std::nullopt;
  if (found.seconds > kMostSeconds) return std::nullopt;
  if (!form.loss.empty())
    if (const auto loss = number_after(line, form.loss)) found.loss = loss->value;
  found.batch = after(line, form.batch);
  if (!form.memory.empty()) found.memory_gib = memory_gib_after(line, form.memory).value_or(0);
  found.stamp = time_stamp(line);
  return found;
}

std::optional<StepLine> progress_line(std::string_view line) {
  const std::size_t percent = line.find("%|");
  if (percent == std::string_view::npos) return std::nullopt;
  const std::size_t bar = line.find('|', percent + 2);
  if (bar == std::string_view::npos) return std::nullopt;
  StepLine found;
  const std::string_view counted = line.substr(bar + 1);
  const auto step = leading_number(counted);
  if (!step || step->value < 0 || step->value > kMostSteps || !step->rest.starts_with('/'))
    return std::nullopt;
  const auto total = leading_number(step->rest.substr(1));
  const std::size_t open = counted.find('[');
  if (!total || total->value < 1 || total->value > kMostSteps || open == std::string_view::npos)
    return std::nullopt;
  found.step = std::llround(step->value), found.total = std::llround(total->value);
  found.stamp = clock_seconds(counted.substr(open + 1));
  if (!found.stamp) return std::nullopt;
  const std::size_t comma = counted.find(", ", open);
  if (comma == std::string_view::npos) return found;
  if (const auto rate = leading_number(counted.substr(comma + 1)); rate && rate->value > 0) {
    if (rate->unit == "s" && rate->rest.starts_with("/it")) found.seconds = rate->value;
    if (rate->unit == "it" && rate->rest.starts_with("/s")) found.seconds = 1 / rate->value;
  }
  return found;
}

}  // namespace foretrain
