#include "ask/diagnose.h"

#include <fmt/format.h>

#include "ask/guard.h"
#include "ask/measured_file.h"
#include "ask/words.h"
#include "base/field_mark.h"
#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostChanges = 5;  // that are told

Result<double> search_seconds(const DiagnoseRequest& request) {
  const std::string& word = request.time;
  if (word.empty()) return kSearchSeconds;
  if (word == "0" || word == "0s") return 0.0;
  TRY_ASSIGN(const double seconds, duration_word("time", word));
  if (seconds > request.most_seconds)
    return fail_field("time",
                      fmt::format("found {}, expected at most {:.0f}s", quoted(word), request.most_seconds));
  return seconds;
}

Result<DiagnosedRun> diagnosed(Session& session, const DiagnoseRequest& request) {
  TRY_ASSIGN(const double seconds, search_seconds(request));
  TRY_ASSIGN(MeasuredFile file, read_measured_file(session, request.run, request.measured, request.ranks));
  DiagnosedRun out;
  out.run = std::move(file.run);
  TRY_ASSIGN(const ProfileStore::Choice choice, costs_of(session, request.run, out.run));
  out.run.profile = choice.profile;
  const Run& run = out.run;
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, choice.costs, run.documents);
  out.prediction = predict(run, evaluator);
  out.diagnosis = diagnose(std::move(file.figures), run, out.prediction, evaluator, file.not_modelled);
  out.better =
      better_plans(run, out.prediction, evaluator, choice.costs, seconds, kMostChanges, request.share);
  return out;
}

}  // namespace

Result<DiagnosedRun> ask(Session& session, const DiagnoseRequest& request) {
  return guarded([&] { return diagnosed(session, request); });
}

}  // namespace foretrain
