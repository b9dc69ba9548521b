#include "ask/convert.h"

#include <fmt/format.h>

#include "ask/guard.h"
#include "ask/launch.h"
#include "ask/run_file.h"
#include "base/field_mark.h"
#include "job/parse_run.h"
#include "report/run_report.h"

namespace foretrain {
namespace {

// A file of a framework knows no cluster. For the rules that ask for one, this has all formats; GPUs a node are as usual.
constexpr std::string_view kAnyCluster = "dgx-b200";

bool says(const RunFile& file, const std::string& given, std::string_view key) {
  return !given.empty() || file.node.find(key) != nullptr;
}

// The run under one of the format's stacks: another's ways are not what the framework does where nobody says.
Result<Run> run_for(const LaunchFormat& format, const ConvertRequest& request, RunFile& file,
                    const Catalog& catalog, std::vector<std::string>& about) {
  TRY_ASSIGN(RunOptions given, run_options(request.given));
  if (given.global_batch == 0 && given.global_batch_tokens == 0) file.complete(given.gpus);
  if (!says(file, given.cluster, "cluster")) {
    given.cluster = kAnyCluster;
    about.emplace_back("no cluster is stated: nodes of 8 GPUs are assumed");
  }
  std::string stated;
  if (!given.stack.empty()) {
    TRY_ASSIGN(const Stack stack, of_field("stack", catalog.stack(given.stack)));
    stated = stack.name;
  } else if (const Node* node = file.node.find("stack")) {
    TRY_ASSIGN(const Stack stack, catalog.stack(*node));
    stated = stack.name;
  }
  if (!format.has_stack(stated)) {
    given.stack = format.usual_stack();
    if (!stated.empty())
      about.push_back(fmt::format("the run is of stack {}: what its plan leaves open is as stack {} has it",
                                  stated, given.stack));
  }
  return parse_run(&file.node, given, catalog);
}

Result<std::string> launched(const Session& session, const ConvertRequest& request) {
  TRY_ASSIGN(const LaunchFormat* format, launch_format("to", request.to, {"run"}));
  TRY_ASSIGN(RunFile file, read_run_file(request.file, session.catalog()));
  if (!file.foreign) TRY(check_run_keys(file.node));
  std::vector<std::string> about;
  TRY_ASSIGN(const Run run, run_for(*format, request, file, session.catalog(), about));
  TRY_ASSIGN(WholeLaunch whole, launch_of(session.catalog(), run, *format, "to"));
  // No cluster, no word on its GPUs.
  whole.about.insert(whole.about.end(), about.begin(), about.end());
  for (const std::string& line : file.assumed()) whole.about.push_back("assumed: " + line);
  return launch_text(whole, request.json);
}

Result<std::string> converted(const Session& session, const ConvertRequest& request) {
  if (request.to != "run") return launched(session, request);
  const PredictRequest& given = request.given;
  for (const auto& [field, word] :
       {std::pair("model", &given.model), std::pair("cluster", &given.cluster),
        std::pair("gpus", &given.gpus), std::pair("plan", &given.plan),
        std::pair("global_batch", &given.global_batch), std::pair("seq", &given.seq),
        std::pair("stack", &given.stack), std::pair("documents", &given.documents),
        std::pair("task", &given.task), std::pair("profile", &given.profile)})
    if (!word->empty()) return fail_field(field, "is for a launch that is written, not for what a file says");
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
