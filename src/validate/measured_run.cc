#include "validate/measured_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "samples/steady_steps.h"

namespace foretrain {
namespace {

template <class Figure>
double median_of(const std::vector<StepWork>& steps, Figure figure) {
  std::vector<double> values;
  for (const StepWork& step : steps)
    if (step.kernels > 0) values.push_back(figure(step));
  return median(std::move(values));
}

}  // namespace

Result<MeasuredRun> measured_run(const TrainingLog& log, const Run& run) {
  MeasuredRun out{log.file, log.format + " log"};
  if (log.ranks > 1) out.format = fmt::format("{} logs of {} ranks", log.format, log.ranks);
  const SteadySteps& steady = log.steady;
  const auto batch = static_cast<double>(run.global_batch);
  if (steady.tokens > 0) {
    // Stamps of a log stand further apart than a step that pauses for other things; its own rate is nearer.
    out.step = Seconds(batch * static_cast<double>(run.seq) / static_cast<double>(run.gpus) / steady.tokens);
    out.told_as = "tokens a second and GPU";
  } else if (steady.seconds > 0) {
    out.step = Seconds(steady.seconds);
  } else if (steady.samples > 0) {
    out.step = Seconds(batch / steady.samples);
    out.told_as = "samples a second";
  } else {
    return fail("found no time of a step, expected lines with seconds, tokens or samples a second",
                Position{log.file, 1, 1});
  }
  out.spread = steady.spread, out.drift = steady.drift;
  out.with_stalls = steady.with_stalls, out.with_pauses = steady.with_pauses;
  out.lines = steady.used, out.stalls = steady.stalls;
  out.is_warming = steady.is_warming;
  out.pauses = steady.pauses;
  out.memory = gib(log.memory_gib);
  out.memory_counter = log.memory_counter;
  out.global_batch = log.global_batch;
  return out;
}

MeasuredRun measured_run(const KinetoTrace& trace) {
  MeasuredRun out{trace.file, "trace"};
  if (!trace.device.empty()) out.format += " of " + trace.device;
  if (trace.rank >= 0) out.format += fmt::format(", rank {}", trace.rank);
  if (trace.rank >= 0 && trace.world > 0) out.format += fmt::format(" of {}", trace.world);
  const auto figure = [&](double StepWork::*member) {
    return microseconds(median_of(trace.steps, [&](const StepWork& step) { return step.*member; }));
  };
  ProfiledStep step;
  step.busy = figure(&StepWork::busy_us);
  step.exposed = figure(&StepWork::exposed_us);
  step.longest_gap = figure(&StepWork::longest_gap_us);
  step.idle = microseconds(median_of(trace.steps, [](const StepWork& s) { return s.idle_us(); }));
  step.gaps = static_cast<std::size_t>(
      median_of(trace.steps, [](const StepWork& s) { return static_cast<double>(s.gaps); }));
  step.steps = static_cast<std::size_t>(
      std::count_if(trace.steps.begin(), trace.steps.end(), [](const StepWork& s) { return s.kernels > 0; }));
  step.is_named = !trace.steps.empty() && !trace.steps.front().name.empty();
  for (std::size_t i = 0; i < step.families.size(); ++i)
    step.families[i] =
        microseconds(median_of(trace.steps, [i](const StepWork& s) { return s.family_us[i]; }));
  // The host runs ahead of the GPU within a step and waits for it over several: the longer of the two is the step.
  out.step = std::max(figure(&StepWork::host_us), figure(&StepWork::gpu_us));
  out.lines = step.steps;
  out.ranks = std::max<std::int64_t>(0, trace.world);
  out.profiled = step;
  return out;
}

}  // namespace foretrain
