// foretrain import: samples that others took, in our formats.
#include "ask/import.h"

#include <fmt/format.h>

#include "base/file.h"
#include "command.h"
#include "output.h"
#include "samples/published.h"
#include "samples/published_collectives.h"

namespace foretrain {
namespace {

class Import final : public Command {
 public:
  const char* name() const override { return "import"; }
  const char* what() const override {
    return "What others measured: training logs, traces, tables of links, logs of nccl-tests, samples";
  }
  const char* example() const override {
    return "foretrain import log train.log --json\n"
           "  foretrain import kineto trace.json.gz -o measured\n"
           "  foretrain import topo topo.txt > mine.yaml\n"
           "  foretrain import nccl-tests *.log -o comm\n"
           "  foretrain import published-samples Perlmutter -o samples\n"
           "  foretrain import operator-tables deepep.csv nccl.csv -o exchanges";
  }
  void declare(Options& options) override {
    options.argument("FORMAT", request_.format,
                     "log: the steady step of a training run, from what Megatron-LM and its forks, "
                     "torchtitan, nanotron, NeMo, "
                     "GPT-NeoX, DeepSpeed, Hugging Face Trainer, MaxText or MLPerf print; kineto: a trace of "
                     "PyTorch's profiler, "
                     "by stream and step, its operators as samples; topo: a cluster file from nvidia-smi "
                     "topo -m; nccl-tests: "
                     "collectives, from the text that NVIDIA's tests print; published-samples: operators and "
                     "collectives in the "
                     "layout of arXiv 2509.22832; operator-tables: published tables of operators "
                     "(aiconfigurator, SimuMax) and of "
                     "exchanges (NCCL, DeepEP, NVLink)",
                     {"log", "kineto", "topo", "nccl-tests", "published-samples", "operator-tables"});
    options.argument("PATH", paths_, "The logs or tables; for published-samples the folder of one site",
                     Takes::kFile);
    options.option(
        "-o,--out", "FOLDER", out_,
        "Where samples are written: the folder to write collectives.csv (and operators.csv) into; "
        "for kineto timeline.csv and operators.csv; for operator-tables GPU.csv and GPU/operators.csv",
        Takes::kFolder);
    options.option("--collective", "NAME", request_.collective,
                   "nccl-tests: what was timed, where neither a log nor its name says it");
    options.option("--ranks", "N", request_.ranks,
                   "nccl-tests: how many took part, where a log has no lines of ranks");
    options.option("--ranks-per-node", "N", request_.ranks_per_node,
                   "nccl-tests: how many of them share a node (all)");
    options.option("--gpu", "NAME", request_.gpu, "topo: the GPU, which the table does not name",
                   Takes::kGpu);
    options.flag("--json", is_json_,
                 "log, kineto and topo: as JSON (docs/formats/training-log.md, kineto.md, topo.md)");
    options.option("--csv", "F.csv", csv_,
                   "log: also a row a log; kineto: also time by operator; - is stdout", Takes::kFile);
    options.flag("--force", force_, "Also where that folder exists");
  }
  std::string word(std::string_view field) const override {
    if (field == "out") return "-o";
    return field == "format" || field == "logs" || field == "paths" ? "import" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    TRY(check(request_));
    if (is_json_ && request_.needs_folder())
      return fail_field("json", "found with " + request_.format + ", expected with log, kineto and topo");
    const std::string out = without_slashes(out_);
    if (out.empty() && request_.needs_folder())
      return fail_field("out", "found no folder, expected where the samples go");
    if (!out.empty() && !request_.may_write())
      return fail_field("out", "found with " + request_.format + ", which writes no folder");
    if (!out.empty()) TRY(check_replaceable(out, force_, "its samples"));
    if (!csv_.empty() && request_.format != "log" && request_.format != "kineto")
      return fail_field("csv", "found with " + request_.format + ", expected with log and kineto");
    TRY(check_rows_output(csv_, is_json_));
    TRY(read(session.files()));
    TRY_ASSIGN(ImportAnswer answer, ask(session.catalog(), request_));
    if (!csv_.empty()) TRY(write_csv(answer.json));
    if (is_stdout(csv_)) return 0;
    const bool is_file = request_.format == "topo";
    if (out.empty() && (is_json_ || is_file)) return tell(is_json_ ? answer.json : answer.text);
    if (out.empty()) return show_text(answer.text);
    TRY(write_folder(out, answer.files));
    if (is_json_) return tell(answer.json);
    for (const OutputFile& file : answer.files)
      answer.text += fmt::format("written: {}/{}\n", out, file.name);
    return show_text(answer.text);
  }

 private:
  Result<void> write_csv(const std::string& json) const {
    return write_rows(csv_, json, request_.format == "log" ? "" : "operators");
  }

  Result<void> read(const Files& files) {
    if (!request_.is_published()) {
      for (const std::string& path : paths_) {
        TRY_ASSIGN(std::string text, files.read(path, request_.most_bytes()));
        request_.logs.push_back({path == "-" ? "stdin" : path, std::move(text)});
      }
      return {};
    }
    if (paths_.size() != 1)
      return fail_field("paths",
                        fmt::format("found {} paths, expected the folder of one site", paths_.size()));
    TRY_ASSIGN(request_.operators, published_sources(files, paths_.front()));
    TRY_ASSIGN(request_.collectives, published_collective_sources(files, paths_.front()));
    return {};
  }

  ImportRequest request_;
  std::string out_, csv_;
  std::vector<std::string> paths_;
  bool force_ = false, is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> import_command() { return std::make_unique<Import>(); }

}  // namespace foretrain
