#include "validate/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "job/run_check.h"
#include "predict/uncertainty.h"
#include "search/one_change.h"
#include "validate/findings.h"
#include "validate/logged_memory.h"

namespace foretrain {
namespace {

// Where the measured step lies in what is expected, by the log-normal that the interval is of.
double percentile_of(const Estimate& expected, double measured) {
  const double distance = std::log(measured / expected.value);
  const double spread =
      distance > 0 ? std::hypot(expected.spread, expected.above) : std::max(expected.spread, 1e-9);
  return 0.5 * std::erfc(-distance / std::max(spread, 1e-9) / std::sqrt(2.0));
}

Seconds sum(const Prediction& p, std::initializer_list<StepCause> causes) {
  Seconds total;
  for (const StepCause cause : causes) total += p.breakdown[static_cast<std::size_t>(cause)];
  return total;
}

Seconds exposed_of(const Prediction& p) {
  return sum(p, {StepCause::kTensorParallel, StepCause::kExpertParallel, StepCause::kContextParallel,
                 StepCause::kDataParallel, StepCause::kGradientReduce, StepCause::kEmbeddingExchange,
                 StepCause::kParameterGather, StepCause::kPipelineSend});
}

std::vector<StepShare> shares_of_step(const Prediction& p) {
  constexpr double kLarge = 0.1, kLargeHost = 0.05;
  const double step = p.step.value;
  std::vector<StepShare> shares = {
      {"exposed communication", exposed_of(p),
       "overlap it with compute, or choose degrees that exchange less or over faster links"},
      {"pipeline bubble", sum(p, {StepCause::kBubble, StepCause::kStageWait}),
       "more micro-batches a step, more chunks a stage, fewer stages"},
      {"waiting for the host", sum(p, {StepCause::kLaunch}),
       "larger micro-batches, CUDA graphs, fused or compiled kernels"},
      {"recomputation", sum(p, {StepCause::kRecompute}),
       "run less again: spend memory that is free, or free some by sharding"},
      {"optimizer", sum(p, {StepCause::kOptimizer}), "shard its states over data-parallel ranks"},
  };
  std::erase_if(shares, [&](const StepShare& share) { return share.seconds.value < 0.001 * step; });
  for (StepShare& share : shares)
    if (share.seconds.value < (share.name == "waiting for the host" ? kLargeHost : kLarge) * step)
      share.advice = {};
  std::stable_sort(shares.begin(), shares.end(),
                   [](const StepShare& a, const StepShare& b) { return a.seconds > b.seconds; });
  return shares;
}

std::vector<Beside> side_by_side(const MeasuredRun& measured, const Prediction& p) {
  if (!measured.profiled) return {};
  const ProfiledStep& seen = *measured.profiled;
  const Seconds idle = sum(p, {StepCause::kLaunch, StepCause::kBubble, StepCause::kStageWait});
  std::vector<Beside> rows = {{"GPU busy", seen.busy, Seconds(p.step.value) - idle},
                              {"idle, in gaps", seen.idle, idle},
                              {"exposed communication", seen.exposed, exposed_of(p)}};
  std::array<Seconds, kKernelFamilyCount> predicted{};
  for (int kind = 0; kind < kOperatorKindCount; ++kind)
    predicted[static_cast<std::size_t>(kernel_family(static_cast<OperatorKind>(kind)))] +=
        p.operators[static_cast<std::size_t>(kind)];
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (i == static_cast<std::size_t>(KernelFamily::kExchange)) continue;  // told by what of it is exposed
    if (seen.families[i] > Seconds(0) || predicted[i] > Seconds(0))
      rows.push_back({kKernelFamilyNames[i], seen.families[i], predicted[i]});
  }
  return rows;
}

// Of a run whose degrees and sizes are known, what people get wrong about it: what is run again, what overlaps, which
// kernels, which precision.
std::vector<Run> other_settings(const Run& run) {
  std::vector<Run> runs;
  for (OneChange& change : one_change_away(run)) {
    const Plan &a = run.plan, &b = change.run.plan;
    if (a.tp == b.tp && a.pp == b.pp && a.cp == b.cp && a.ep == b.ep && a.vpp == b.vpp &&
        a.micro_batch == b.micro_batch)
      runs.push_back(std::move(change.run));
  }
  for (const Recipe& recipe : run.stack.recipes) {
    if (recipe.name == run.plan.precision) continue;
    Run other = run;
    other.plan.precision = recipe.name;
    if (check_run(other)) runs.push_back(std::move(other));
  }
  return runs;
}

// Those under which the prediction is within a few percent of what was measured, the nearest first; where memory is told
// they must not contradict it.
std::vector<Explanation> explanations_of(const Diagnosis& d, const Run& run, Evaluator& evaluator) {
  constexpr double kNear = 0.03, kMemoryNear = 0.1;
  constexpr std::size_t kMost = 3;
  const double measured = d.measured.step.value;
  const double typical = d.expected.value;
  std::vector<Explanation> found;
  for (const Run& other : other_settings(run)) {
    const Bytes needed = evaluator.weigh(other.plan, other.global_batch).needed();
    if (needed > most_that_fits(run.cluster.gpu.usable, run.stack.described)) continue;
    const Prediction p = evaluator.predict(other.plan, other.global_batch);
    if (std::abs(std::log(p.typical.value / measured)) > kNear) continue;
    if (std::abs(p.typical.value - measured) > 0.5 * std::abs(typical - measured)) continue;
    const Bytes memory = logged_memory(p, run.stack, stated_counter(d.measured.memory_counter));
    if (d.measured.memory > Bytes(0) && std::abs(memory / d.measured.memory - 1) > kMemoryNear) continue;
    found.push_back({other.plan, p.typical, memory});
  }
  std::stable_sort(found.begin(), found.end(), [&](const Explanation& a, const Explanation& b) {
    return std::abs(a.step.value - measured) < std::abs(b.step.value - measured);
  });
  if (found.size() > kMost) found.resize(kMost);
  return found;
}

}  // namespace

Diagnosis diagnose(MeasuredRun measured, const Run& run, const Prediction& prediction, Evaluator& evaluator,
                   const NotModelled& not_modelled) {
  Diagnosis out;
  out.measured = std::move(measured);
  out.expected = prediction.step;
  out.expected.value = prediction.typical.value;
  const double step = out.measured.step.value;
  out.ratio = step / out.expected.value;
  out.percentile = percentile_of(out.expected, step);
  if (step > out.expected.high())
    out.verdict = SpeedVerdict::kSlower;
  else if (step * out.measured.with_stalls > out.expected.high())
    out.verdict = SpeedVerdict::kSlower, out.is_stalled = true;
  else if (step < out.expected.low())
    out.verdict = SpeedVerdict::kFaster;
  out.expected_memory = logged_memory(prediction, run.stack, stated_counter(out.measured.memory_counter));
  out.shares = shares_of_step(prediction);
  out.beside = side_by_side(out.measured, prediction);
  out.findings = findings_of(out, run, prediction, not_modelled);
  if (out.verdict != SpeedVerdict::kAsExpected && !out.is_stalled)
    out.explanations = explanations_of(out, run, evaluator);
  return out;
}

}  // namespace foretrain
