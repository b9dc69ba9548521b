#include "ask/accuracy.h"

#include <utility>

#include "ask/guard.h"
#include "base/field_mark.h"
#include "validate/row_feature.h"

namespace foretrain {
namespace {

Result<AccuracyReport> accuracy_of(Session& session, const AccuracyRequest& request) {
  if (request.run.runs.size() > 1) return fail_field("runs", "found several runs, expected one");
  PredictRequest words = request.run;
  words.trace = words.html = words.chart = words.path = false;
  TRY_ASSIGN(const PredictAnswer predicted, ask(session, words));
  AccuracyReport report;
  report.run = predicted.runs.front().run;
  report.is_example = predicted.example;
  TRY_ASSIGN(report.figures, published_baseline());
  for (std::size_t by = 0; by < kAlikeByNames.size(); ++by)
    for (std::string& name : alike_names(report.run, static_cast<AlikeBy>(by))) {
      const auto& group = report.figures.alike[by];
      const auto found = group.find(name);
      report.alike.push_back(
          {static_cast<AlikeBy>(by), std::move(name), found == group.end() ? GroupSummary{} : found->second});
    }
  return report;
}

}  // namespace

Result<AccuracyReport> ask(Session& session, const AccuracyRequest& request) {
  return guarded([&] { return accuracy_of(session, request); });
}

}  // namespace foretrain
