// foretrain convert: a run in any format, as it is understood, or as another framework is launched with it.
#include "ask/convert.h"

#include "command.h"
#include "job_options.h"
#include "output.h"
#include "run_source.h"

namespace foretrain {
namespace {

class Convert final : public Command {
 public:
  const char* name() const override { return "convert"; }
  const char* what() const override {
    return "What a framework is launched with, as the run that it means, or a run as what a framework is "
           "launched with";
  }
  const char* example() const override { return "foretrain convert run.yaml --to megatron > train.sh"; }
  void declare(Options& options) override {
    options.argument("FILE", file_,
                     "A launch script or command line of Megatron-LM and its forks, the arguments in its "
                     "log, a configuration "
                     "of torchtitan, nanotron, NeMo, Megatron-Bridge, GPT-NeoX, DeepSpeed, MaxText, axolotl, "
                     "LLaMA-Factory, "
                     "accelerate or LLM Foundry, or a RUN.yaml, told by its content; - is stdin",
                     Takes::kFile);
    options.option(
        "--to", "FORMAT", to_,
        "run (without it): a RUN.yaml; or a launch, as a script that starts: megatron, megatron-bridge, "
        "torchtitan, nanotron, deepspeed or accelerate",
        {"run", "megatron", "megatron-bridge", "torchtitan", "nanotron", "deepspeed", "accelerate"});
    declare_job(options, request_.given, "Of a launch: GPUs in all");
    options.group("What is told");
    options.flag("--json", request_.json, "Answer in JSON");
  }
  Result<int> run(Session& session, Team*) override {
    if (file_.empty()) return fail_field("file", "no file given; - is stdin");
    if (!to_.empty()) request_.to = to_;
    TRY_ASSIGN(request_.file, read_run_source(session, file_));
    TRY_ASSIGN(const std::string text, ask(session, request_));
    return tell(text);
  }
  std::string word(std::string_view field) const override {
    return field == "file" ? "convert" : Command::word(field);
  }

 private:
  ConvertRequest request_;
  std::string file_, to_;
};

}  // namespace

std::unique_ptr<Command> convert_command() { return std::make_unique<Convert>(); }

}  // namespace foretrain
