// Handles of one run (foretrain.h): what all plans have in common is read once; each call that is under way scores with an
// evaluator of its own.
#include "library/run.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/field_mark.h"
#include "job/run_check.h"
#include "library/border.h"
#include "predict/uncertainty.h"
#include "report/predict_report.h"
#include "search/nearest.h"
#include "spec/plan_text.h"
#include "wire/error_json.h"
#include "wire/job_keys.h"
#include "wire/verb.h"

namespace foretrain {
namespace {

// An evaluator's memos grow with the shapes that it meets: after so many plans it is made anew.
constexpr std::size_t kPlansEach = 100'000;

static_assert(FORETRAIN_FITS == static_cast<int>(Verdict::kFits));
static_assert(FORETRAIN_MAY_NOT_FIT == static_cast<int>(Verdict::kMayNotFit));
static_assert(FORETRAIN_DOES_NOT_FIT == static_cast<int>(Verdict::kDoesNotFit));

foretrain_score score_of(const PlanEstimate& estimate) {
  foretrain_score score{};
  score.step_s = estimate.step.value;
  score.step_low_s = estimate.step.low();
  score.step_high_s = estimate.step.high();
  score.needed_bytes = estimate.needed.value;
  score.fit_probability = estimate.fit_probability;
  score.verdict = static_cast<std::int32_t>(verdict_of(estimate.fit_probability));
  return score;
}

foretrain_score refused_score() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {kNone, kNone, kNone, kNone, kNone, -1, 0};
}

void put(const foretrain_score& score, std::int32_t status, const foretrain_scores& out, std::size_t i) {
  if (out.step_s != nullptr) out.step_s[i] = score.step_s;
  if (out.step_low_s != nullptr) out.step_low_s[i] = score.step_low_s;
  if (out.step_high_s != nullptr) out.step_high_s[i] = score.step_high_s;
  if (out.needed_bytes != nullptr) out.needed_bytes[i] = score.needed_bytes;
  if (out.fit_probability != nullptr) out.fit_probability[i] = score.fit_probability;
  if (out.verdict != nullptr) out.verdict[i] = score.verdict;
  if (out.status != nullptr) out.status[i] = status;
}

}  // namespace

Result<std::unique_ptr<OpenRun>> OpenRun::make(std::shared_ptr<Place> place, std::string_view text) {
  HeldFiles held(place->files());
  Session session(held, place->presets());
  PredictRequest request;
  std::optional<Source> file;
  RequestKeys keys(held);
  keys.content("run", file, kRunHelp, true);
  declare_job(keys, request);
  keys.word("tokens", request.tokens, kTokensKeyHelp);
  TRY(keys.read(text, kMostRequestBytes));
  request.path = true;
  if (file) request.runs.push_back(*std::move(file));
  TRY_ASSIGN(Run start, unchecked_run_of(request, session.catalog()));
  TRY_ASSIGN(const ProfileStore::Choice choice, costs_of(session, request, start));
  start.profile = choice.profile;
  return std::unique_ptr<OpenRun>(new OpenRun(std::move(request), std::move(start), choice.costs));
}

OpenRun::OpenRun(PredictRequest request, Run start, std::shared_ptr<const CostSource> costs)
    : request_(std::move(request)),
      start_(std::move(start)),
      costs_(std::move(costs)),
      memos_([this] { return std::make_unique<Memo>(start_, costs_); }) {}

Result<Run> OpenRun::changed(std::string_view plan) const {
  Run run = start_;
  TRY_ASSIGN(run.plan, of_field("plan", parse_plan(plan, run.plan)));
  if (auto checked = check_run(run); !checked) return in_field("plan", std::move(checked).error());
  return run;
}

Result<std::string> OpenRun::predict(std::string_view plan) {
  TRY_ASSIGN(Run run, changed(plan));
  return memos_.with([&](Memo& memo) -> Result<std::string> {
    TRY_ASSIGN(const PredictedRun one,
               predicted_run(request_, std::move(run), [&](const Run& checked, StepTrace* trace) {
                 return predict_or_nearest(checked, memo.evaluator(), trace);
               }));
    return predict_json(one.run, one.prediction, one.whole ? &*one.whole : nullptr,
                        one.view ? &*one.view : nullptr);
  });
}

Result<foretrain_score> OpenRun::score(std::string_view plan) {
  TRY_ASSIGN(const Run run, changed(plan));
  return memos_.with([&](Memo& memo) -> Result<foretrain_score> {
    return score_of(memo.evaluator().estimate(run.plan, run.global_batch));
  });
}

Result<int> OpenRun::score(PlanColumns columns, const foretrain_scores& out) {
  return memos_.with([&](Memo& memo) -> Result<int> {
    Run run = start_;
    const std::size_t assumed = run.assumed.size();
    for (std::size_t i = 0; i < columns.plans(); ++i) {
      const auto plan = columns.plan(i);
      if (plan) run.plan = **plan;
      if (plan && check_run(run)) {
        put(score_of(memo.evaluator().estimate(run.plan, run.global_batch)), FORETRAIN_SCORED, out, i);
      } else {
        put(refused_score(), FORETRAIN_REFUSED, out, i);
      }
      run.assumed.resize(assumed);
    }
    return 0;
  });
}

Result<std::optional<Error>> OpenRun::refusal(PlanColumns columns, std::size_t i) const {
  if (i >= columns.plans())
    return fail_field("i", fmt::format("found {}, expected less than {}", i, columns.plans()));
  const auto plan = columns.plan(i);
  if (!plan) return std::optional(plan.error());
  Run run = start_;
  run.plan = **plan;
  if (const auto checked = check_run(run); !checked) return std::optional(checked.error());
  return std::optional<Error>();
}

OpenRun::Memo::Memo(const Run& run, std::shared_ptr<const CostSource> costs)
    : run_(run), costs_(std::move(costs)) {}

Evaluator& OpenRun::Memo::evaluator() {
  if (!evaluator_ || asked_ == kPlansEach) {
    evaluator_.emplace(run_.model, run_.cluster, run_.stack, run_.seq, costs_, run_.documents);
    asked_ = 0;
  }
  ++asked_;
  return *evaluator_;
}

namespace {

Result<PlanColumns> columns_of(const OpenRun& run, std::size_t plans, const foretrain_column* column,
                               std::size_t columns) {
  if (columns > 0) TRY(present(column, "column"));
  std::vector<PlanColumn> stated;
  for (std::size_t c = 0; c < columns; ++c) {
    const foretrain_column& one = column[c];
    TRY(present(one.key, "key"));
    PlanColumn& out = stated.emplace_back();
    out.key = one.key;
    if ((one.whole == nullptr) == (one.real == nullptr) && plans > 0)
      return fail(fmt::format("{}: expected whole or real, one of them", out.key));
    if (one.real != nullptr) {
      out.values = std::span(one.real, plans);
    } else {
      out.values = std::span(one.whole, plans);
    }
    if (one.words == nullptr) continue;
    if (one.word_count == 0) return fail(fmt::format("{}: found no words", out.key));
    for (std::size_t w = 0; w < one.word_count; ++w) {
      TRY(present(one.words[w], "words"));
      out.words.emplace_back(one.words[w]);
    }
  }
  return PlanColumns::make(std::move(stated), run.start().plan, plans);
}

}  // namespace
}  // namespace foretrain

using namespace foretrain;

foretrain_run* foretrain_run_open(foretrain_session* session, const char* request) {
  return at_border<foretrain_run*>(nullptr, [&]() -> Result<foretrain_run*> {
    TRY(present(session, "session"));
    TRY_ASSIGN(auto run, OpenRun::make(session->place, request == nullptr ? "" : request));
    return new foretrain_run{std::move(run)};
  });
}

void foretrain_run_close(foretrain_run* run) { delete run; }

char* foretrain_run_predict(foretrain_run* run, const char* plan) {
  return at_border<char*>(nullptr, [&]() -> Result<char*> {
    TRY(present(run, "run"));
    TRY_ASSIGN(const std::string answer, run->open->predict(plan == nullptr ? "" : plan));
    return given_away(answer);
  });
}

int foretrain_run_score(foretrain_run* run, const char* plan, foretrain_score* score) {
  return at_border<int>(-1, [&]() -> Result<int> {
    TRY(present(run, "run"));
    TRY(present(score, "score"));
    TRY_ASSIGN(*score, run->open->score(plan == nullptr ? "" : plan));
    return 0;
  });
}

int foretrain_run_score_plans(foretrain_run* run, size_t plans, const foretrain_column* column,
                              size_t columns, const foretrain_scores* scores) {
  return at_border<int>(-1, [&]() -> Result<int> {
    TRY(present(run, "run"));
    TRY(present(scores, "scores"));
    TRY_ASSIGN(PlanColumns stated, columns_of(*run->open, plans, column, columns));
    return run->open->score(std::move(stated), *scores);
  });
}

int foretrain_run_refusal(foretrain_run* run, size_t plans, const foretrain_column* column, size_t columns,
                          size_t i, char** why) {
  return at_border<int>(-1, [&]() -> Result<int> {
    TRY(present(run, "run"));
    TRY(present(why, "why"));
    *why = nullptr;
    TRY_ASSIGN(PlanColumns stated, columns_of(*run->open, plans, column, columns));
    TRY_ASSIGN(const std::optional<Error> found, run->open->refusal(std::move(stated), i));
    if (!found) return 0;
    TRY_ASSIGN(*why, given_away(error_json(*found)));
    return 0;
  });
}

char* foretrain_plan_fields() {
  return at_border<char*>(nullptr, [] { return given_away(plan_fields_json()); });
}
