#include "validate/row_score.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "job/launch_check.h"
#include "job/pipeline.h"
#include "predict/uncertainty.h"
#include "spec/catalog.h"
#include "validate/logged_memory.h"
#include "validate/ranking.h"
#include "validate/row_feature.h"
#include "validate/row_state.h"

namespace foretrain {

namespace {

constexpr std::size_t kMaxKept = 64;
constexpr double kOpenChoiceWidening = 1.25;  // of the spread; a guess until open choices are calibrated

// The time that the row is held against, or why there is none. A failed run has none and needs none.
Result<std::optional<Seconds>> measured_time(const MeasuredRow& row, Against against) {
  if (row.failed() || against == Against::kMedian) return row.step;
  const auto note = row.notes.find("fastest_s");
  if (!note) return fail("no fastest_s");
  const auto seconds = parse_number(*note);
  if (!seconds || *seconds <= 0)
    return fail(fmt::format("refused: fastest_s: found {}, expected a number above 0", quoted(*note)));
  return Seconds(*seconds);
}

// Milliseconds of a note that is there and above 0.
std::optional<Seconds> noted_ms(const Notes& notes, std::string_view key) {
  const auto note = notes.find(key);
  const auto number = note ? parse_number(*note) : std::nullopt;
  if (!number || *number <= 0) return std::nullopt;
  return Seconds(*number * 1e-3);
}

// Only of a run without a pipeline: there a stage's passes follow each other and make up the step.
std::array<std::optional<PartScore>, 3> score_parts(const MeasuredRow& row, const Run& run,
                                                    const Prediction& prediction) {
  std::array<std::optional<PartScore>, 3> parts;
  if (run.plan.pp > 1) return parts;
  const auto batches = static_cast<double>(run.global_batch / (run.plan.dp * run.plan.micro_batch));
  const StagePrediction& stage = prediction.stages.front();
  const std::pair<std::string_view, Seconds> known[] = {
      {"fwd_ms", stage.forward * batches},
      {"bwd_ms", stage.backward * batches},
      {"opt_ms", prediction.breakdown[static_cast<std::size_t>(StepCause::kOptimizer)]}};
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const auto measured = noted_ms(row.notes, known[i].first)) parts[i] = {*measured, known[i].second};
  return parts;
}

bool better(const Score& a, const Score& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step < b.step : a.needed < b.needed;
}

// What may have been run again: nothing, what the stack calls selective, the first layers of each chunk, or all.
std::vector<Plan> recomputations(const Run& run) {
  std::vector<Plan> plans(3, run.plan);
  plans[0].recompute = Recompute::kNone;
  plans[1].recompute = Recompute::kSelective;
  plans[2].recompute = Recompute::kFull;
  const std::int64_t chunks = pipeline_of(run.plan).model_chunks();
  const std::int64_t layers = (run.model.layers() + chunks - 1) / chunks;
  for (std::int64_t n = 1; n < layers; ++n) {
    plans.push_back(plans[2]);
    plans.back().recompute_layers = n;
  }
  return plans;
}

// What the row may have been, of which the stack launches each; where it launches none of them, all.
std::vector<Plan> candidates(const RowRun& row_run) {
  constexpr int kLevels = 4;  // of ZeRO
  const Run& run = row_run.run;
  std::vector<Plan> all = row_run.recompute_open ? recomputations(run) : std::vector<Plan>{run.plan};
  if (row_run.zero_open) {
    const std::vector<Plan> plans = std::move(all);
    all.clear();
    for (const Plan& plan : plans)
      for (int zero = plan.shard > 0 ? 1 : 0; zero < kLevels; ++zero) {
        all.push_back(plan);
        all.back().zero = zero;
      }
  }
  std::vector<Plan> launched;
  Run with = run;
  for (const Plan& plan : all) {
    with.plan = plan;
    if (!launch_refusal(with)) launched.push_back(plan);
  }
  return launched.empty() ? all : launched;
}

std::string recompute_text(const Plan& plan) {
  const std::string word =
      fmt::format("recompute={}", kRecomputeNames[static_cast<std::size_t>(plan.recompute)]);
  return plan.recompute_layers == 0 ? word
                                    : fmt::format("{},recompute_layers={}", word, plan.recompute_layers);
}

// Settles what the row leaves open, cheapest first, and says so in `assumed`.
void choose(RowRun& row_run, Evaluator& evaluator) {
  Run& run = row_run.run;
  std::optional<Score> best;
  for (const Plan& plan : candidates(row_run)) {
    const Score score = evaluator.score(plan, run.global_batch);
    if (best && !better(score, *best)) continue;
    best = score;
    run.plan = plan;
  }
  if (row_run.recompute_open) run.assumed.push_back(recompute_text(run.plan));
  if (row_run.zero_open) run.assumed.push_back(fmt::format("zero={}", run.plan.zero));
}

// Frameworks that have both ways of keeping what a product reads under sp had them at different times, and rows do not
// say: where the stack launches either, each is as likely.
double chance_to_fit(Run& run, Evaluator& evaluator, const Prediction& prediction) {
  if (!run.plan.sp || run.plan.sp_gather_again) return prediction.fit_probability;
  double sum = 0;
  int ways = 0;
  Run with = run;
  for (const bool again : {true, false}) {
    with.plan.sp_gather_again = again;
    if (launch_refusal(with)) continue;
    const Bytes needed = evaluator.score(with.plan, run.global_batch).needed;
    sum += fit_probability(needed, prediction.usable, run.stack.described);
    ++ways;
  }
  if (ways < 2) return prediction.fit_probability;
  run.assumed.emplace_back("sp_gather_again: either, as likely, in the chance to fit");
  return sum / ways;
}

}  // namespace

std::optional<double> RowScore::error() const {
  if (!skipped.empty() || !measured) return std::nullopt;
  return (predicted.value - measured->value) / measured->value;
}

std::optional<double> RowScore::memory_error() const {
  if (!skipped.empty() || !measured_memory) return std::nullopt;
  return (predicted_memory - *measured_memory) / *measured_memory;
}

bool RowScore::covered() const {
  return measured && predicted.low() <= measured->value && measured->value <= predicted.high();
}

Result<Evaluator*> RowScorer::evaluator_for(const Run& run) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&run](const Kept& kept) {
    return kept.seq == run.seq && kept.model == run.model && kept.cluster == run.cluster &&
           kept.stack == run.stack && kept.documents == run.documents;
  });
  if (found != kept_.end()) return found->evaluator.get();
  std::shared_ptr<const CostSource> costs;
  if (store_ != nullptr) {
    auto choice = store_->costs_for(run.cluster, profile_);
    // A profile of another GPU says nothing about this row.
    if (!choice && store_->load(profile_)) choice = store_->costs_for(run.cluster, "");
    if (!choice) return tl::unexpected(std::move(choice).error());
    costs = choice->costs;
  }
  if (kept_.size() == kMaxKept) kept_.pop_front();
  kept_.push_back({run.model, run.cluster, run.stack, run.seq, run.documents,
                   std::make_unique<Evaluator>(run.model, run.cluster, run.stack, run.seq, std::move(costs),
                                               run.documents)});
  return kept_.back().evaluator.get();
}

Result<RowScore> RowScorer::score(const MeasuredRow& row) {
  RowScore out;
  out.id = row.id;
  out.source = row.source;
  out.gpu = row.gpu;
  out.stack = row.stack;
  out.cluster = row.cluster;
  out.group = group_of(row);
  out.features = features_of(row);
  out.sweep = sweep_name(row);

  TRY_ASSIGN(auto outcome, runner_.run_of(row));
  if (const auto* skip = std::get_if<Skip>(&outcome)) {
    out.skipped = skip->reason;
    return out;
  }
  const auto measured = measured_time(row, against_);
  if (!measured) {
    out.skipped = measured.error().message;
    return out;
  }

  RowRun& row_run = std::get<RowRun>(outcome);
  const bool open = row_run.recompute_open || row_run.zero_open;
  TRY_ASSIGN(Evaluator* const evaluator, evaluator_for(row_run.run));
  if (open) choose(row_run, *evaluator);
  const Prediction prediction = evaluator->predict(row_run.run.plan, row_run.run.global_batch);

  out.measured = *measured;
  out.against = against_;
  out.broken =
      row_run.unsteady && is_broken(row, *row_run.unsteady, row_run.run.model, row_run.run.cluster.gpu);
  out.predicted = prediction.step;
  if (against_ == Against::kMedian) out.predicted.value = prediction.typical.value;
  out.uncertain = prediction.uncertain;
  if (open) out.widened = kOpenChoiceWidening;
  out.predicted.spread *= out.widened;
  out.predicted.above *= out.widened;
  out.parts = score_parts(row, row_run.run, prediction);
  out.measured_memory = row.peak_memory;
  out.predicted_memory = logged_memory(prediction, row_run.run.stack, row.memory_counter);
  out.fit_probability = chance_to_fit(row_run.run, *evaluator, prediction);
  out.needed_share = prediction.needed / prediction.usable;
  out.params = prediction.params;
  out.assumed = row_run.run.assumed;
  if (out.gpu.empty()) out.gpu = row_run.run.cluster.gpu.name;
  if (out.stack.empty()) out.stack = row_run.run.stack.name;
  out.run = std::make_shared<const Run>(std::move(row_run.run));
  return out;
}

Result<std::vector<RowScore>> score_rows(const std::vector<MeasuredRow>& rows, const Catalog& catalog,
                                         Against against, const ProfileStore* store,
                                         const std::string& profile, const std::atomic<bool>* stop) {
  RowScorer scorer(catalog, against, store, profile);
  std::vector<RowScore> scores;
  scores.reserve(rows.size());
  for (const MeasuredRow& row : rows) {
    if (stop != nullptr && *stop) return fail("nobody waits for it any more");
    TRY_ASSIGN(RowScore score, scorer.score(row));
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace foretrain
