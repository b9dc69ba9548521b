// foretrain fit: samples of one GPU become a profile; with --cluster, samples of a fabric's collectives a
// cluster.
#include "ask/fit.h"

#include <fmt/format.h>

#include <optional>

#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "command.h"
#include "fit/profile_fit.h"
#include "output.h"
#include "samples/sample_table.h"

namespace foretrain {
namespace {

class Fit final : public Command {
 public:
  const char* name() const override { return "fit"; }
  const char* what() const override {
    return "Samples of a GPU's operators become a profile, samples of a fabric's collectives a cluster";
  }
  const char* example() const override { return "foretrain fit samples --gpu a100-80gb-sxm -o my-profile"; }
  void declare(Options& options) override {
    options.argument("SAMPLES", samples_, "A table of samples, or a folder of them", Takes::kFile);
    options.option("--gpu", "G", gpu_,
                   "The GPU that was sampled: a name (foretrain list gpus) or a YAML file", Takes::kGpu);
    options.option("--cluster", "C", cluster_,
                   "Instead: the cluster whose collectives were sampled, a name, a YAML file or a folder of "
                   "this command",
                   Takes::kCluster);
    options.option("-o,--out", "FOLDER", out_, "The folder to write the profile or the cluster into",
                   Takes::kFolder);
    options.option("--name", "N", name_, "The name of the profile or the cluster; without it, the folder's");
    options.option("--source", "TEXT", source_, "Where the samples come from, in words");
    options.option("--derive-from", "P", derive_from_, "A profile for operators that this one lacks",
                   Takes::kProfile);
    options.option(
        "--against", "SAMPLES", against_,
        "Samples of the same tables on the GPU of --derive-from: its profile's times, by the ratio",
        Takes::kFile);
    options.flag("--study", study_, "Errors on samples held out in three ways");
    options.flag("--learning-curve", learning_curve_, "Errors by the number of samples");
    options.option("--html", "F.html", html_, "Also pictures: predicted against measured", Takes::kFile);
    options.option("--csv", "F.csv", csv_,
                   "Also the models (their errors where none is made) or the layouts as CSV; - is stdout",
                   Takes::kFile);
    options.flag("--force", force_, "Also where that folder holds a profile or a cluster");
    options.flag("--json", json_, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    if (field == "out") return "-o";
    return field == "samples" ? "fit" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    TRY(check_rows_output(csv_, json_));
    out_ = without_slashes(out_);
    if (name_.empty()) name_ = file_name(out_);
    return cluster_.empty() ? fit_profile(session) : fit_cluster(session);
  }

 private:
  // Whether the profile may be written there: a folder that is not there yet or, with `force`, one that
  // holds a profile.
  Result<void> check_profile_folder() const {
    TRY(check_replaceable(out_, force_, "the profile in it"));
    if (exists(out_)) {
      if (is_file(out_ + "/profile.yaml")) return {};
      return fail_field("out", fmt::format("{} holds no profile.yaml; {} replaces profiles only",
                                           foretrain::quoted(out_), marked("force")));
    }
    const std::string parent = folder_of(out_);
    if (parent.empty() || is_folder(parent)) return {};
    return fail_field("out", "found no folder " + foretrain::quoted(parent) + " to write into");
  }

  // What the files to be written can be known to lack before the work begins.
  Result<void> check_outputs() const {
    if (out_.empty() && !study_ && !learning_curve_)
      return fail_field("out", "found no folder, expected where the profile goes");
    if (!out_.empty()) TRY(check_profile_folder());
    const std::string folder = is_stdout(html_) ? "" : folder_of(html_);
    if (folder.empty() || is_folder(folder)) return {};
    return fail_field("html", "found no folder " + foretrain::quoted(folder) + " to write into");
  }

  Result<int> fit_profile(Session& session) {
    FitRequest request;
    request.gpu = gpu_;
    request.name = name_;
    request.source = source_;
    request.derive_from = derive_from_;
    request.profile = !out_.empty();
    request.scatters = !html_.empty();
    request.study = study_;
    request.learning_curve = learning_curve_;
    if (!samples_.empty() && !gpu_.empty()) TRY(check_outputs());
    if (!samples_.empty()) {
      TRY_ASSIGN(request.samples, read_fit_samples(session.files(), samples_));
    }
    if (!against_.empty()) {
      TRY_ASSIGN(request.against, read_fit_samples(session.files(), against_));
    }
    std::optional<ProgressBar> bar;
    std::string stage;
    const auto progress = [&](std::string_view now, std::size_t done, std::size_t all) {
      if (!bar || stage != now) {
        bar.emplace(std::string(now), "samples");
        stage = now;
      }
      bar->update(done, all);
    };
    TRY_ASSIGN(FitAnswer answer, ask(session, std::move(request), progress));
    bar.reset();
    if (!html_.empty()) TRY(write_output(html_, fit_html(answer.report)));
    if (!out_.empty()) {
      TRY(check_profile_folder());
      TRY(replace_folder(out_, answer.files, kProfileEntries));
      answer.report.written = out_;
    }
    TRY(write_rows(csv_, fit_json(answer.report), rows_key()));
    if (is_stdout(csv_) || is_stdout(html_)) return 0;
    return json_ ? tell(fit_json(answer.report)) : show_text(fit_text(answer.report));
  }

  // The models; where none are made, what is told of them.
  std::string_view rows_key() const {
    return !out_.empty() ? "operators" : study_ ? "study" : "learning_curve";
  }

  // What only a profile can have.
  Result<void> check_cluster_options() const {
    if (!gpu_.empty())
      return fail_field("cluster",
                        fmt::format("found {} beside it, expected one of them: a cluster's collectives or a "
                                    "GPU's operators",
                                    marked("gpu")));
    for (const auto& [given, field] :
         {std::pair(!html_.empty(), "html"), std::pair(learning_curve_, "learning_curve"),
          std::pair(!derive_from_.empty(), "derive_from"), std::pair(!against_.empty(), "against")})
      if (given)
        return fail_field(
            field, fmt::format("found beside {}, expected with {} only", marked("cluster"), marked("gpu")));
    if (out_.empty() && !study_) return fail_field("out", "found no folder, expected where the cluster goes");
    return out_.empty() ? Result<void>() : check_replaceable(out_, force_, "its cluster.yaml");
  }

  Result<int> fit_cluster(Session& session) {
    FitClusterRequest request{{}, cluster_, name_, source_, out_, study_};
    if (!samples_.empty()) {
      TRY(check_cluster_options());
      TRY_ASSIGN(request.samples, sample_sources(session.files(), samples_));
    }
    TRY_ASSIGN(FitClusterAnswer answer, ask(session, std::move(request)));
    if (!out_.empty()) {
      TRY(write_folder(out_, answer.files));
      answer.report.written = out_;
    }
    TRY(write_rows(csv_, collective_fit_json(answer.report), "layouts"));
    if (is_stdout(csv_)) return 0;
    return json_ ? tell(collective_fit_json(answer.report)) : show_text(collective_fit_text(answer.report));
  }

  std::string samples_, gpu_, cluster_, out_, name_, source_, derive_from_, against_, html_, csv_;
  bool study_ = false, learning_curve_ = false, force_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> fit_command() { return std::make_unique<Fit>(); }

}  // namespace foretrain
