#include "predict/evaluator.h"

#include <utility>

#include "cost/analytic.h"
#include "predict/assemble.h"
#include "predict/energy.h"
#include "predict/nearest.h"
#include "predict/place.h"
#include "predict/record.h"
#include "predict/step_times.h"
#include "predict/uncertainty.h"

namespace foretrain {
namespace {

// Fewer passes than this are simulated as soon as bounded.
constexpr std::int64_t kFewPasses = 2048;

}  // namespace

Evaluator::Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
                     std::shared_ptr<const CostSource> costs)
    : setting_{std::move(model), std::move(cluster), std::move(stack), seq},
      memo_(setting_, costs ? std::move(costs) : std::make_shared<const AnalyticCost>(setting_.cluster)),
      splits_(setting_) {}

const Network& Evaluator::network_of(const Mesh& mesh) {
  if (!network_ || !(mesh == network_mesh_)) {
    network_.emplace(setting_.cluster, mesh);
    network_mesh_ = mesh;
  }
  return *network_;
}

Bytes Evaluator::weigh(const Plan& plan, std::int64_t global_batch) {
  const Job job = job_of(setting_, plan, global_batch);
  place(setting_, job, splits_.of(job), network_of(job.mesh), memo_, current_);
  add_bytes(setting_, current_);
  return current_.stages[current_.worst_stage].memory.needed;
}

PlanFloor Evaluator::floor(const Plan& plan, std::int64_t global_batch) {
  const Job job = job_of(setting_, plan, global_batch);
  return plan_floor(setting_, job, network_of(job.mesh), memo_);
}

void Evaluator::add_missing_times() {
  if (!current_.has_times) add_times(setting_, network_of(current_.job.mesh), memo_, current_);
}

Seconds Evaluator::at_least() {
  add_missing_times();
  return current_.step = current_.timeline.least(current_.pipeline) * kBelowRounding;
}

TimedStep Evaluator::timed(bool exactly) {
  add_missing_times();
  const PipelineWork& work = current_.pipeline;
  const std::int64_t passes =
      2 * static_cast<std::int64_t>(work.chunks.size()) * work.micro_batches_per_chunk();
  if (!exactly && passes > kFewPasses) {
    const Seconds least = current_.timeline.least(work) * kBelowRounding;
    if (current_.timeline.most(work) <= least * (1 + kClosedFormError)) {
      current_.step = least;
      return {least, false};
    }
  }
  current_.step = current_.timeline.simulate(work);
  return {current_.step, true};
}

double Evaluator::joules() { return foretrain::joules(setting_.cluster.gpu, memo_.power(), current_); }

void Evaluator::evaluate(const Plan& plan, std::int64_t global_batch) {
  weigh(plan, global_batch);
  timed(true);
  const auto times = current_.timeline.stages();
  std::size_t& busiest = current_.busiest;
  for (std::size_t r = 0; r < times.size(); ++r)
    if (times[r].compute + times[r].sending > times[busiest].compute + times[busiest].sending) busiest = r;
  current_.spread = relative_spread(uncertainty(current_), current_.step);
}

Score Evaluator::score(const Plan& plan, std::int64_t global_batch) {
  evaluate(plan, global_batch);
  const MemoryCounters& memory = current_.stages[current_.worst_stage].memory;
  return {current_.step, current_.spread, memory.total, memory.needed,
          fit_probability(memory.needed, setting_.cluster.gpu.usable) >= kFitsFrom};
}

Prediction Evaluator::predict(const Plan& plan, std::int64_t global_batch, StepTrace* trace) {
  evaluate(plan, global_batch);
  Prediction prediction = assemble(setting_, memo_.power(), current_);
  if (trace != nullptr) record(setting_.stack, current_, *trace);
  return prediction;
}

Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs, StepTrace* trace) {
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, std::move(costs));
  return predict(run, evaluator, trace);
}

Prediction predict(const Run& run, Evaluator& evaluator, StepTrace* trace) {
  Prediction prediction = evaluator.predict(run.plan, run.global_batch, trace);
  prediction.assumed = run.assumed;
  if (!prediction.fits) prediction.would_fit = nearest_fitting(run, evaluator);
  return prediction;
}

}  // namespace foretrain
