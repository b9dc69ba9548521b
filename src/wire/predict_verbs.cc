// Predictions: of one run, over the values of a key, of several runs side by side.
#include "ask/accuracy.h"
#include "ask/over.h"
#include "ask/predict.h"
#include "base/field_mark.h"
#include "report/over_report.h"
#include "report/predict_report.h"
#include "report/timeline_json.h"
#include "wire/error_json.h"
#include "wire/job_keys.h"
#include "wire/verb.h"

namespace foretrain {
namespace {

class Predict final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.content("run", run_, kRunHelp, true);
    declare_job(keys, request_);
    keys.file("calibration", request_.calibration, kCalibrationKeyHelp);
    keys.word("tokens", request_.tokens, kTokensKeyHelp);
    keys.flags("views", {{"timeline", &request_.trace}},
               "{\"timeline\": true}: also the step's events; the answer is then {\"answer\", \"timeline\"}");
  }
  Result<std::string> answer(Session& session) override {
    if (run_) request_.runs.push_back(*std::move(run_));
    request_.path = true;
    TRY_ASSIGN(const PredictAnswer answer, ask(session, request_));
    const PredictedRun& one = answer.runs.front();
    const StepView* view = one.view ? &*one.view : nullptr;
    std::string text = predict_json(one.run, one.prediction, one.whole ? &*one.whole : nullptr, view,
                                    one.standing ? &*one.standing : nullptr);
    if (!request_.trace) return text;
    return with_views(std::move(text), {{"timeline", timeline_json(*view)}});
  }

 private:
  PredictRequest request_;
  std::optional<Source> run_;
};

class Over final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.content("run", run_, kRunHelp, true);
    declare_job(keys, request_.predict);
    keys.file("calibration", request_.predict.calibration, kCalibrationKeyHelp);
    keys.word("tokens", request_.predict.tokens, kTokensKeyHelp);
    keys.word("over", request_.over,
              "One or two keys of run, plan, cluster or GPU: \"inter_gbps=100..3200,seq=4k..128k\"");
  }
  Result<std::string> answer(Session& session) override {
    if (run_) request_.predict.runs.push_back(*std::move(run_));
    TRY_ASSIGN(OverAnswer answer, ask(session, request_));
    for (OverPoint& point : answer.points) point.refused = spelled(point.refused, option_of_field);
    return over_json(answer);
  }

 private:
  OverRequest request_;
  std::optional<Source> run_;
};

class Compare final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.contents("runs", request_.runs,
                  "A list of runs, each as `run` of predict; with names: {\"name\", \"text\"}", true);
    declare_job(keys, request_);
    keys.file("calibration", request_.calibration, kCalibrationKeyHelp);
    keys.word("tokens", request_.tokens, kTokensKeyHelp);
  }
  Result<std::string> answer(Session& session) override {
    if (request_.runs.empty()) return fail_field("runs", "found none, expected runs to compare");
    request_.path = true;
    TRY_ASSIGN(const PredictAnswer answer, ask(session, request_));
    return predict_json(answer.runs);
  }

 private:
  PredictRequest request_;
};

class Accuracy final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.content("run", run_, kRunHelp, true);
    declare_job(keys, request_.run);
  }
  Result<std::string> answer(Session& session) override {
    if (run_) request_.run.runs.push_back(*std::move(run_));
    TRY_ASSIGN(const AccuracyReport report, ask(session, request_));
    return accuracy_json(report);
  }

 private:
  AccuracyRequest request_;
  std::optional<Source> run_;
};

}  // namespace

std::unique_ptr<VerbRequest> accuracy_verb() { return std::make_unique<Accuracy>(); }
std::unique_ptr<VerbRequest> predict_verb() { return std::make_unique<Predict>(); }
std::unique_ptr<VerbRequest> over_verb() { return std::make_unique<Over>(); }
std::unique_ptr<VerbRequest> compare_verb() { return std::make_unique<Compare>(); }

}  // namespace foretrain
