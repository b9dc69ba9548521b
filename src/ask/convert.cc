#include "ask/convert.h"

#include "ask/guard.h"
#include "ask/run_file.h"
#include "base/did_you_mean.h"
#include "base/text.h"
#include "job/parse_run.h"
#include "report/run_report.h"

namespace foretrain {
namespace {

Result<std::string> converted(const Session& session, const ConvertRequest& request) {
  const std::string targets[] = {"run"};
  if (request.to != targets[0])
    return fail_field("to", "unknown format " + quoted(request.to) + suggestion(request.to, targets));
  TRY_ASSIGN(const RunFile file, read_run_file(request.file, session.catalog()));
  if (!file.foreign) TRY(check_run_keys(file.node));
  UnderstoodRun run{.format = file.foreign ? file.foreign->format : "a RUN.yaml", .run = file.node};
  if (file.foreign) {
    run.unknown_flags = file.foreign->unknown_flags;
    run.not_modelled = file.foreign->not_modelled;
    run.contradictions = file.foreign->contradictions;
    run.assumed = file.foreign->assumed;
  }
  // A model that is known as a whole is told with its sizes.
  if (const Node* model = file.node.find("model"))
    if (auto read = session.catalog().model(*model)) run.model = *std::move(read);
  return request.json ? run_json(run) : run_text(run);
}

}  // namespace

Result<std::string> ask(Session& session, const ConvertRequest& request) {
  return guarded([&] { return converted(session, request); });
}

}  // namespace foretrain
