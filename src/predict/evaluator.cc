#include "predict/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "cost/analytic.h"
#include "job/mesh.h"
#include "network/placement.h"
#include "predict/assemble.h"
#include "predict/deal.h"
#include "predict/energy.h"
#include "predict/record.h"
#include "predict/step_times.h"
#include "predict/uncertainty.h"

namespace foretrain {
namespace {

// Fewer passes than this are simulated as soon as bounded.
constexpr std::int64_t kFewPasses = 2048;

}  // namespace

Evaluator::Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
                     std::shared_ptr<const CostSource> costs, const Documents& documents)
    : setting_{std::move(model), std::move(cluster), std::move(stack), seq, {}},
      memo_(setting_, costs ? std::move(costs) : std::make_shared<const AnalyticCost>(setting_.cluster)),
      splits_(setting_),
      floors_(setting_) {
  setting_.packing = packing_of(setting_.model, documents, seq);
}

const Network& Evaluator::network_of(const Mesh& mesh) {
  if (!network_ || !(mesh == network_mesh_)) {
    network_.emplace(setting_.cluster, mesh);
    network_mesh_ = mesh;
  }
  return *network_;
}

Weighed Evaluator::weigh(const Plan& plan, std::int64_t global_batch) {
  ++turn_;  // before anything that may throw, so that no earlier handle speaks of what is half there
  has_times_ = false;
  const Job job = job_of(setting_, plan, global_batch);
  if (has_bytes_ && holds_the_same(job)) {
    current_.overlap_as(job);
    return Weighed(*this, turn_);
  }
  has_bytes_ = false;
  deal_out(setting_, job, splits_.of(job), network_of(job.mesh), memo_, current_);
  add_bytes(setting_, current_);
  layers_.assign(job.layers_per_stage.begin(), job.layers_per_stage.end());
  has_bytes_ = true;
  return Weighed(*this, turn_);
}

bool Evaluator::holds_the_same(const Job& job) const {
  const Job& before = current_.job;
  Choices choices = before.choices;
  choices.overlap_grad_reduce = job.choices.overlap_grad_reduce;
  choices.overlap_param_gather = job.choices.overlap_param_gather;
  return job.mesh == before.mesh && job.pipeline == before.pipeline && job.choices == choices &&
         job.seq == before.seq && job.global_batch == before.global_batch &&
         job.micro_batch == before.micro_batch && job.micro_batches == before.micro_batches &&
         job.spans == before.spans && std::ranges::equal(job.layers_per_stage, layers_);
}

PartFloor Evaluator::part(const Plan& plan, std::int64_t global_batch, const FloorScope& scope) {
  ++turn_;
  ++part_turn_;
  has_bytes_ = false;  // the memo goes on to other shapes
  part_ = job_of(setting_, plan, global_batch);
  return {*this, part_turn_, floors_.of(part_, network_of(part_.mesh), memo_, scope)};
}

Evaluator& PartFloor::evaluator() const {
  CHECK_THAT(turn_ == evaluator_->part_turn_);
  return *evaluator_;
}

SplitFloor PartFloor::split(std::span<const std::int64_t> layers_per_stage) const {
  Evaluator& e = evaluator();
  e.part_.layers_per_stage = layers_per_stage;
  if (e.splits_.by_stage(e.part_)) return {*this, {{}, layers_per_stage}};
  return {*this, {e.splits_.of(e.part_), {}}};
}

Seconds SplitFloor::step() const {
  Evaluator& e = part_.evaluator();
  return e.floors_.split_seconds(e.part_, split_);
}

Bytes SplitFloor::peak(Bytes limit) const {
  Evaluator& e = part_.evaluator();
  return e.floors_.split_bytes(e.part_, split_, limit);
}

Timed& Evaluator::timed() {
  if (!has_times_) add_times(setting_, network_of(current_.job.mesh), memo_, current_);
  has_times_ = true;
  return current_;
}

Evaluator& Weighed::evaluator() const {
  CHECK_THAT(turn_ == evaluator_->turn_);
  return *evaluator_;
}

Bytes Weighed::needed() const {
  const Dealt& dealt = evaluator().current_;
  return dealt.stages[dealt.worst_stage].memory.needed;
}

Bytes Weighed::host() const { return evaluator().current_.host; }

StepBound Weighed::at_least() {
  Timed& timed = evaluator().timed();
  return StepBound(*this, timed.timeline.least(timed.work) * kBelowRounding);
}

TimedStep Weighed::timed(bool exactly) {
  Timed& timed = evaluator().timed();
  const PipelineWork& work = timed.work;
  const std::int64_t passes =
      2 * static_cast<std::int64_t>(work.chunks.size()) * work.micro_batches_per_chunk();
  if (!exactly && passes > kFewPasses) {
    const Seconds least = timed.timeline.least(work) * kBelowRounding;
    if (timed.timeline.most(work) <= least * (1 + kClosedFormError)) return TimedStep(*this, least, false);
  }
  return TimedStep(*this, timed.timeline.simulate(work), true);
}

double Weighed::joules(Seconds step) const {
  Evaluator& e = evaluator();
  return foretrain::joules(e.setting_.cluster.gpu, e.memo_.power(), e.timed(), step);
}

const Simulated& Evaluator::simulated(const Plan& plan, std::int64_t global_batch) {
  weigh(plan, global_batch);
  timed();
  simulate(current_);
  return current_;
}

Score Evaluator::score(const Plan& plan, std::int64_t global_batch) {
  const Simulated& e = simulated(plan, global_batch);
  const MemoryCounters& memory = e.stages[e.worst_stage].memory;
  return {e.step, relative_spread(uncertainty(e, setting_.cluster.gpu.usable), e.step), memory.total,
          memory.needed,
          fit_probability(memory.needed, setting_.cluster.gpu.usable, setting_.stack.described) >= kFitsFrom};
}

PlanEstimate Evaluator::estimate(const Plan& plan, std::int64_t global_batch) {
  const Simulated& e = simulated(plan, global_batch);
  const Bytes usable = setting_.cluster.gpu.usable;
  const Uncertainty uncertain = uncertainty(e, usable);
  const Bytes needed = e.stages[e.worst_stage].memory.needed;
  return {{e.step.value, relative_spread(uncertain, e.step), Origin::kAnalytic, spread_above(uncertain)},
          needed,
          fit_probability(needed, usable, setting_.stack.described)};
}

Prediction Evaluator::predict(const Plan& plan, std::int64_t global_batch, StepTrace* trace) {
  const Simulated& e = simulated(plan, global_batch);
  Prediction prediction = assemble(setting_, memo_.power(), e);
  if (trace != nullptr) record(setting_.stack, current_, *trace);
  return prediction;
}

namespace {

// Ranks fill domains in order; a launcher that leaves GPUs of each idle could keep such groups whole.
void note_straddling(const Run& run, std::vector<std::string>& notes) {
  const Mesh mesh = mesh_of(run.plan);
  constexpr std::pair<GroupKind, std::string_view> kinds[] = {
      {GroupKind::kTensor, "tp"}, {GroupKind::kContext, "cp"}, {GroupKind::kExpert, "ep"}};
  for (const auto& [kind, key] : kinds) {
    const Group group = mesh.group(kind);
    if (group.ranks() == 1 || !straddles(group, run.gpus, run.cluster)) continue;
    notes.push_back(fmt::format(
        "{}={}: some of its groups straddle NVLink domains, of each of which the job takes {} GPUs", key,
        group.ranks(), domain_of(run.cluster, run.gpus)));
  }
}

void note_retries(const Prediction& prediction, std::vector<std::string>& notes) {
  if (!prediction.uncertain.retries) return;
  Bytes most;
  for (const StagePrediction& stage : prediction.stages) most = std::max(most, stage.memory.total);
  const bool fits = verdict_of(prediction.fit_probability) != Verdict::kDoesNotFit;
  notes.push_back(fmt::format(
      "{}torch's allocator would keep {} of {} and gives memory back in every step, which is not "
      "timed: such runs took up to 3 times as long",
      fits ? "" : "where it runs all the same, ", human_bytes(most), human_bytes(prediction.usable)));
}

}  // namespace

Prediction predict(const Run& run, Evaluator& evaluator, StepTrace* trace) {
  Prediction prediction = evaluator.predict(run.plan, run.global_batch, trace);
  prediction.assumed = run.assumed;
  note_straddling(run, prediction.assumed);
  note_retries(prediction, prediction.assumed);
  return prediction;
}

Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs, StepTrace* trace) {
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, std::move(costs), run.documents);
  return predict(run, evaluator, trace);
}

}  // namespace foretrain
