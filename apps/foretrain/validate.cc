// foretrain validate: measured runs against what is predicted for them.
#include "ask/validate.h"

#include <array>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "job_options.h"
#include "output.h"
#include "report/row_check_report.h"
#include "report/scoreboard_html.h"
#include "report/validate_report.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostBaseline = std::size_t{1} << 20;

class Validate final : public Command {
 public:
  const char* name() const override { return "validate"; }
  const char* what() const override { return "Predictions against measured runs"; }
  const char* example() const override {
    return "foretrain validate runs.csv --by source\n"
           "  foretrain validate runs.csv --html scoreboard.html --baseline last.json\n"
           "  foretrain validate --check mine.csv";
  }
  void declare(Options& options) override {
    options.argument("FILE.csv|FOLDER", inputs_, "Measured runs", Takes::kFile);
    options.option("--profile", "P", request_.profile, kProfileHelp, Takes::kProfile);
    options.option("--against", "A", request_.against,
                   "Which measured step to compare with: fastest or median", {"fastest", "median"});
    options.option(
        "--by", "KEY", request_.by,
        "Group by source, gpu, stack, cluster, feature (dense, experts, latent-attention, low-precision, "
        "context-parallel, fine-tuning), or group: rows of nearly one configuration",
        {"source", "gpu", "stack", "cluster", "feature", "group"});
    options.option("--calibration", "FOLDER", request_.calibration, kCalibrationHelp, Takes::kFolder);
    options.flag("--rows", rows_, "Each row as well");
    options.flag("--json", json_, "Answer in JSON");
    options.option("--csv", "F.csv", csv_,
                   "Also the figures by source, gpu, stack, cluster and feature, one a row", Takes::kFile);
    options.option("--html", "F.html", html_, "Also the scoreboard, a page of its own", Takes::kFile);
    options.option("--baseline", "F.json", baseline_,
                   "What got better and worse since these figures: an earlier --json, or --write-baseline",
                   Takes::kFile);
    options.option("--write-baseline", "F.json", write_baseline_,
                   "Also the figures by source, for a later --baseline", Takes::kFile);
    options.flag("--check", check_,
                 "Only look at the tables: what is wrong and where, what a row lacks to be scored, what is "
                 "assumed; exit status 2 where a row has to be mended");
  }
  std::string word(std::string_view field) const override {
    return field == "tables" ? "validate" : Command::word(field);
  }
  Result<int> run(Session& session, Team*) override {
    TRY(check_files());
    std::vector<Sources> tables;
    for (const std::string& input : inputs_) {
      TRY_ASSIGN(Sources more, measured_sources(session.files(), input));
      tables.push_back(std::move(more));
    }
    if (check_) return check_rows(session, std::move(tables));
    request_.tables = std::move(tables);
    if (!baseline_.empty()) {
      TRY_ASSIGN(std::string text, session.files().read(baseline_, kMostBaseline));
      request_.baseline = Source{baseline_, std::move(text)};
    }
    TRY_ASSIGN(const ValidateAnswer answer, ask(session, std::move(request_)));
    for (const std::string& note : answer.notes) std::fprintf(stderr, "foretrain: %s\n", note.c_str());
    return show(answer);
  }

 private:
  std::array<std::pair<const char*, const std::string*>, 3> written() const {
    return {{{"csv", &csv_}, {"html", &html_}, {"write_baseline", &write_baseline_}}};
  }

  // Everything that can be known to be wrong with the files before the work begins.
  Result<void> check_files() const {
    const auto files = written();
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto& [field, path] = files[i];
      if (path->empty()) continue;
      if (check_) return fail_field(field, "found with " + marked("check") + ", which writes nothing");
      for (std::size_t other = 0; other < i; ++other)
        if (same_file(*path, *files[other].second))
          return fail_field(field, "found the file of " + marked(files[other].first) + ", expected another");
      for (const std::string& input : inputs_)
        if (!is_stdout(*path) && same_file(*path, input))
          return fail_field(field, "found a table to be read, expected another file");
      TRY(check_output(*path));
    }
    if (check_ && !baseline_.empty())
      return fail_field("baseline", "found with " + marked("check") + ", which compares nothing");
    return {};
  }

  Result<int> check_rows(Session& session, std::vector<Sources> tables) const {
    TRY_ASSIGN(const CheckRowsAnswer answer, ask(session, CheckRowsRequest{std::move(tables)}));
    for (const std::string& column : answer.check.unknown)
      std::fprintf(stderr, "foretrain: column passed over: %s\n", quoted(column).c_str());
    const int told = json_ ? tell(row_check_json(answer.check)) : show_text(row_check_text(answer.check));
    return told == 0 && answer.faulty ? 2 : told;
  }

  Result<int> show(const ValidateAnswer& answer) const {
    const Drift* drift = answer.drift ? &*answer.drift : nullptr;
    const RowsStanding* standing = answer.standing ? &*answer.standing : nullptr;
    if (!csv_.empty()) TRY(write_output(csv_, validate_csv(answer.rows)));
    if (!html_.empty()) TRY(write_output(html_, scoreboard_html(answer.rows, drift, standing)));
    if (!write_baseline_.empty()) TRY(write_file(write_baseline_, baseline_json(baseline_of(answer.rows))));
    if (is_stdout(csv_) || is_stdout(html_)) return 0;
    const ValidateReport report{answer.by, rows_, drift, standing};
    return json_ ? tell(validate_json(answer.rows, report)) : show_text(validate_text(answer.rows, report));
  }

  ValidateRequest request_;
  std::vector<std::string> inputs_;
  std::string csv_, html_, baseline_, write_baseline_;
  bool rows_ = false, json_ = false, check_ = false;
};

}  // namespace

std::unique_ptr<Command> validate_command() { return std::make_unique<Validate>(); }

}  // namespace foretrain
