// Questions about files: what a run means elsewhere, what others measured, how good predictions are.
#include "ask/convert.h"
#include "ask/diagnose.h"
#include "ask/import.h"
#include "ask/validate.h"
#include "base/field_mark.h"
#include "base/json.h"
#include "report/diagnose_report.h"
#include "report/row_check_report.h"
#include "report/validate_report.h"
#include "wire/job_keys.h"
#include "wire/verb.h"

namespace foretrain {
namespace {

class Convert final : public VerbRequest {
 public:
  Convert() { request_.json = true; }
  void declare(RequestKeys& keys) override {
    keys.content("run", run_, kRunHelp, true);
    keys.word("to", request_.to,
              "run (without it), megatron, megatron-bridge, torchtitan, nanotron, deepspeed or accelerate");
    declare_job(keys, request_.given);
    keys.flag("json", request_.json, "false: {\"text\": ...}, a RUN.yaml or a script");
  }
  Result<std::string> answer(Session& session) override {
    if (!run_) return fail_field("file", "found none, expected the run to convert");
    request_.file = *std::move(run_);
    TRY_ASSIGN(std::string text, ask(session, request_));
    return request_.json ? std::move(text) : text_answer(text);
  }

 private:
  ConvertRequest request_;
  std::optional<Source> run_;
};

std::string files_json(const std::vector<OutputFile>& files) {
  JsonWriter w;
  w.begin_array();
  for (const OutputFile& file : files)
    w.begin_object()
        .key("name")
        .value(std::string_view(file.name))
        .key("content")
        .value(std::string_view(file.content))
        .end_object();
  w.end_array();
  return w.text();
}

class Import final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.word("format", request_.format, "log, kineto, topo, nccl-tests or operator-tables");
    keys.contents("logs", request_.logs,
                  "The logs, traces or tables; bytes such as gzip as {\"name\", \"base64\"}");
    keys.word("collective", request_.collective, "Of nccl-tests: what was timed, where no log says it");
    keys.word("ranks", request_.ranks, "Of nccl-tests: how many took part, where no log says it");
    keys.word("ranks_per_node", request_.ranks_per_node, "Of nccl-tests: how many of them share a node");
    keys.word("gpu", request_.gpu, "Of topo: the GPU, which the table does not name");
    keys.flags("views", {{"files", &files_}, {"text", &text_}},
               "{\"files\": true}: also the samples as CSV files; {\"text\": true}: also what the command "
               "line prints");
  }
  Result<std::string> answer(Session& session) override {
    if (request_.is_published())
      return fail_field("format", "found published-samples, which are a folder; expected one that is files");
    TRY_ASSIGN(const ImportAnswer answer, ask(session.catalog(), request_));
    std::vector<std::pair<const char*, std::string>> views;
    // Of samples the files are the answer.
    if (files_ || answer.json.empty()) views.emplace_back("files", files_json(answer.files));
    if (text_ || answer.json.empty()) views.emplace_back("text", json_text(answer.text));
    return with_views(answer.json.empty() ? "null" : answer.json, views);
  }

 private:
  ImportRequest request_;
  bool files_ = false, text_ = false;
};

std::vector<Sources> tables_of(std::vector<Source>& tables) {
  std::vector<Sources> out;
  for (Source& table : tables) {
    std::string name = table.name;
    out.push_back({std::move(name), false, {std::move(table)}});
  }
  return out;
}

std::string notes_json(const std::vector<std::string>& notes) {
  JsonWriter w;
  w.begin_array();
  for (const std::string& note : notes) w.value(std::string_view(note));
  w.end_array();
  return w.text();
}

class Validate final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.contents("tables", tables_, "Tables of measured runs, as text");
    keys.word("profile", request_.profile, "A fitted profile's name, or \"analytic\"");
    keys.word("against", request_.against, "fastest or median");
    keys.word("by", request_.by, "source, gpu, stack, cluster, feature or group");
    keys.file("calibration", request_.calibration, kCalibrationKeyHelp);
    keys.content("baseline", request_.baseline, "An earlier answer, or docs/formats/baseline.md, as text");
    keys.flag("rows", rows_, "Each row as well");
    keys.flag("check", check_, "Only what is wrong with the tables, row by row");
    keys.flags("views", {{"notes", &notes_}},
               "{\"notes\": true}: also which columns and rows were passed over");
  }
  void bound(const VerbBounds& bounds) override { request_.share = {bounds.most_rows, bounds.stop}; }
  Result<std::string> answer(Session& session) override {
    if (check_) {
      TRY_ASSIGN(const CheckRowsAnswer answer,
                 ask(session, CheckRowsRequest{tables_of(tables_), request_.share}));
      return row_check_json(answer.check);
    }
    request_.tables = tables_of(tables_);
    TRY_ASSIGN(const ValidateAnswer answer, ask(session, std::move(request_)));
    std::string text = validate_json(answer.rows, {answer.by, rows_, answer.drift ? &*answer.drift : nullptr,
                                                   answer.standing ? &*answer.standing : nullptr});
    if (!notes_) return text;
    return with_views(std::move(text), {{"notes", notes_json(answer.notes)}});
  }

 private:
  ValidateRequest request_;
  std::vector<Source> tables_;
  bool rows_ = false, check_ = false, notes_ = false;
};

class Diagnose final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.content("measured", measured_, "What the training printed, or a trace of PyTorch's profiler");
    keys.content("run", run_, kRunHelp, true);
    declare_job(keys, request_.run);
    keys.word("time", request_.time,
              "How long to look for a better plan: \"3s\" without it; \"0s\": single changes");
  }
  void bound(const VerbBounds& bounds) override {
    request_.most_seconds = bounds.most_seconds;
    request_.share = {bounds.threads, bounds.stop};
  }
  Result<std::string> answer(Session& session) override {
    if (!measured_) return fail_field("measured", "found none, expected a log or a trace");
    request_.measured = *std::move(measured_);
    if (run_) request_.run.runs.push_back(*std::move(run_));
    TRY_ASSIGN(const DiagnosedRun answer, ask(session, request_));
    return diagnose_json(answer);
  }

 private:
  DiagnoseRequest request_;
  std::optional<Source> measured_, run_;
};

}  // namespace

std::unique_ptr<VerbRequest> convert_verb() { return std::make_unique<Convert>(); }
std::unique_ptr<VerbRequest> import_verb() { return std::make_unique<Import>(); }
std::unique_ptr<VerbRequest> validate_verb() { return std::make_unique<Validate>(); }
std::unique_ptr<VerbRequest> diagnose_verb() { return std::make_unique<Diagnose>(); }

}  // namespace foretrain
