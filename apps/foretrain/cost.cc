// foretrain cost: what one operator takes, or a table of samples beside what is predicted for them.
#include "ask/cost.h"

#include "base/text.h"
#include "command.h"
#include "job_options.h"
#include "output.h"
#include "samples/sample_table.h"

namespace foretrain {
namespace {

class Cost final : public Command {
 public:
  const char* name() const override { return "cost"; }
  const char* what() const override { return "What operators take, one or a table of samples"; }
  const char* example() const override {
    return "foretrain cost linear m=8192 k=4096 n=11008 --gpu h200-141gb-sxm";
  }
  void declare(Options& options) override {
    options.argument("OPERATOR key=value...|FILE.csv", request_.words,
                     "An operator and its sizes, or samples to compare with", Takes::kOperator);
    options.option("--impl", "I", request_.impl,
                   "aten, fused, eager, ... (docs/formats/samples.md); without it, what the profile has");
    options.option("--pass", "PASS", request_.pass,
                   "fwd, bwd, dgrad, wgrad or step; without it, all that there are",
                   {"fwd", "bwd", "dgrad", "wgrad", "step"});
    options.option("--dtype", "D", request_.dtype, "bf16 (without it), fp16, fp32, ...");
    options.option("--gpu", "G", request_.gpu,
                   "A name (foretrain list gpus) or a YAML file; without it, the profile's", Takes::kGpu);
    options.option("--profile", "P", request_.profile,
                   "Where seconds come from: a name (foretrain list profiles), a folder, or analytic",
                   Takes::kProfile);
    options.flag("--rows", rows_, "Of a table, each row as well");
    options.option("--csv", "F.csv", csv_, kCsvHelp, Takes::kFile);
    options.flag("--json", json_, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    return field == "words" ? "cost" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    TRY(check_rows_output(csv_, json_));
    std::vector<std::string>& words = request_.words;
    const bool table = !words.empty() && is_table(session.files(), words.front());
    if (table && words.size() > 1)
      return fail_field("words", "unexpected argument " + foretrain::quoted(words[1]) + " after a table");
    if (!words.empty() && !table && rows_) return fail_field("rows", "is for a table of samples");
    if (table) {
      TRY_ASSIGN(request_.samples, sample_sources(session.files(), words.front()));
      words.clear();
    }
    TRY_ASSIGN(const CostReport report, ask(session, std::move(request_)));
    TRY(write_rows(csv_, cost_json(report), "rows"));
    if (is_stdout(csv_)) return 0;
    if (json_) return tell(cost_json(report));
    return show_text(table ? sample_cost_text(report, rows_) : operator_cost_text(report));
  }

 private:
  // A path, unless it is the name of an operator.
  static bool is_table(const Files& files, const std::string& word) {
    if (is_operator(word)) return false;
    return word.ends_with(".csv") || word.find('/') != std::string::npos || files.is_file(word) ||
           files.is_folder(word);
  }

  CostRequest request_;
  std::string csv_;
  bool rows_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> cost_command() { return std::make_unique<Cost>(); }

}  // namespace foretrain
