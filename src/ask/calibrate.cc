#include "ask/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ask/guard.h"
#include "ask/measured_file.h"
#include "ask/words.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "calibrate/calibration_text.h"
#include "calibrate/measured_rows.h"
#include "calibrate/run_identity.h"
#include "calibrate/sensitivity.h"
#include "validate/logged_memory.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostMeasurementBytes = kMaxTraceBytes;

struct Gathered {
  std::vector<Measured> all;
  std::vector<Remark> left_out;
};

// A table has a header with the columns of measured runs; whatever else a file is, it is a log or a trace.
bool is_table(const Source& file) {
  const std::string_view header = std::string_view(file.text).substr(0, file.text.find('\n'));
  const std::vector<std::string_view> columns = split(header, ',');
  return std::find_if(columns.begin(), columns.end(),
                      [](std::string_view c) { return trim(c) == "step_s"; }) != columns.end() ||
         file.name.ends_with(".csv");
}

Result<void> add_table(Session& session, const CalibrateRequest& request, Source file, Gathered& out) {
  std::vector<std::string> notes;
  const std::string name = file.name;
  TRY_ASSIGN(const std::vector<MeasuredRow> rows, measured_rows_of({.files = {std::move(file)}}, notes));
  const std::string wanted = request.run.cluster;
  RowScorer scorer(session.catalog(), Against::kMedian, &session.profiles(), request.run.profile);
  std::size_t others = 0;
  for (const MeasuredRow& row : rows) {
    TRY_ASSIGN(const RowScore score, scorer.score(row));
    const std::string row_name = fmt::format("{}:{}: {}", file_name(name), row.at.line, row.id);
    if (const std::string why = unfit_to_teach(score); !why.empty()) {
      out.left_out.push_back({row_name, why, true});
      continue;
    }
    if (!wanted.empty() && score.run->cluster.name != wanted && score.cluster != wanted) {
      ++others;
      continue;
    }
    TRY_ASSIGN(ProfileStore::Choice choice, session.costs_for(score.run->cluster, request.run.profile));
    Measured measured = measured_of(score, row, choice.costs);
    Run run = *measured.run;
    run.profile = choice.profile;
    measured.run = std::make_shared<const Run>(std::move(run));
    out.all.push_back(std::move(measured));
  }
  if (others > 0)
    out.left_out.push_back(
        {name,
         fmt::format("{} of other clusters than {}",
                     others == 1 ? "1 row is" : fmt::format("{} rows are", others), wanted),
         true});
  return {};
}

// Kernels of a trace stand beside its step; a trace that names no step tells of its kernels alone.
std::vector<MeasuredFigure> figures_of(const MeasuredRun& measured) {
  std::vector<MeasuredFigure> out;
  if (!measured.profiled || measured.profiled->is_named)
    out.push_back({MeasuredPart::kStep, measured.step.value});
  if (!measured.profiled || !measured.profiled->is_named) return out;
  const auto of = [&](KernelFamily family) {
    return measured.profiled->families[static_cast<std::size_t>(family)].value;
  };
  const double products = of(KernelFamily::kMatmul) + of(KernelFamily::kAttention);
  const double streaming = of(KernelFamily::kNorm) + of(KernelFamily::kElementwise) +
                           of(KernelFamily::kLoss) + of(KernelFamily::kOptimizer);
  if (products > 0) out.push_back({MeasuredPart::kMatrixProducts, products});
  if (streaming > 0) out.push_back({MeasuredPart::kStreaming, streaming});
  return out;
}

Result<void> add_file(Session& session, const CalibrateRequest& request, Source file, Gathered& out) {
  const std::string name = file.name;
  TRY_ASSIGN(MeasuredFile measured, read_measured_file(session, request.run, file));
  TRY_ASSIGN(const ProfileStore::Choice choice, costs_of(session, request.run, measured.run));
  measured.run.profile = choice.profile;
  Measured one;
  one.name = file_name(name);
  one.costs = choice.costs;
  one.figures = figures_of(measured.figures);
  if (measured.figures.memory > Bytes(0)) {
    one.memory = measured.figures.memory;
    one.counter = stated_counter(measured.figures.memory_counter);
  }
  one.run = std::make_shared<const Run>(std::move(measured.run));
  if (one.figures.empty())
    out.left_out.push_back(
        {one.name, "it names no step (ProfilerStep), so that nothing says what it is of", true});
  else
    out.all.push_back(std::move(one));
  return {};
}

Result<void> add_seconds(Session& session, const CalibrateRequest& request, Gathered& out) {
  if (request.measured.empty()) return {};
  const auto seconds = parse_number(request.measured);
  if (!seconds || *seconds <= 0 || *seconds > 1e9)
    return fail_field("measured", fmt::format("found {}, expected the seconds of a step, such as 36.2",
                                              foretrain::quoted(request.measured)));
  if (request.run.runs.empty() && request.run.model.empty())
    return fail_field("measured", fmt::format("found no run that it was measured of: give {} or {}",
                                              marked("run"), marked("model")));
  TRY_ASSIGN(RunFile file, request.run.runs.empty()
                               ? Result<RunFile>(RunFile{})
                               : read_run_file(request.run.runs.front(), session.catalog()));
  if (request.run.runs.empty()) file.node.kind = Node::Kind::kMap;
  TRY_ASSIGN(Run run, run_of(request.run, std::move(file), session.catalog()));
  TRY_ASSIGN(const ProfileStore::Choice choice, costs_of(session, request.run, run));
  run.profile = choice.profile;
  Measured one;
  one.name = fmt::format("{} s", request.measured);
  one.costs = choice.costs;
  one.figures = {{MeasuredPart::kStep, *seconds}};
  one.run = std::make_shared<const Run>(std::move(run));
  out.all.push_back(std::move(one));
  return {};
}

// Factors are of one cluster's machines: several clusters are several calibrations.
Result<void> check_one_cluster(const std::vector<Measured>& all) {
  std::map<std::string, std::size_t> clusters;
  for (const Measured& one : all)
    ++clusters[fmt::format("{} ({})", one.run->cluster.name, one.run->cluster.gpu.name)];
  if (clusters.size() <= 1) {
    for (const Measured& one : all)
      if (const std::string differs =
              first_difference(state_of(one.run->cluster), state_of(all.front().run->cluster));
          !differs.empty())
        return fail_field("measurements", fmt::format("found two clusters {}: of {} it has {}; expected one",
                                                      foretrain::quoted(one.run->cluster.name),
                                                      printable(one.name), differs));
    return {};
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : clusters) words.push_back(fmt::format("{} of {}", count, name));
  return fail_field("measurements",
                    fmt::format("found measurements of {} clusters, expected one: {}; {} chooses one",
                                clusters.size(), join(words, ", "), marked("cluster")));
}

// A run that is asked about, with its costs.
struct AskedRun {
  std::string name;
  Run run;
  std::shared_ptr<const CostSource> costs;
  std::string profile;
};

Result<AskedRun> asked_run(Session& session, const CalibrateRequest& request, const Source& source) {
  TRY_ASSIGN(RunFile file, read_run_file(source, session.catalog()));
  PredictRequest words = request.run;
  if (!request.measured.empty()) {  // then words tell what was measured, which these runs are not
    words = {};
    words.cluster = request.run.cluster, words.stack = request.run.stack, words.profile = request.run.profile;
  }
  AskedRun out{.name = source.name};
  TRY_ASSIGN(out.run, run_of(words, std::move(file), session.catalog()));
  TRY_ASSIGN(const ProfileStore::Choice choice, costs_of(session, words, out.run));
  out.costs = choice.costs;
  out.profile = choice.profile;
  return out;
}

// Two runs that something can tell apart, and to which the same factors apply.
Result<void> check_contest(const AskedRun& a, const AskedRun& b) {
  if (a.run.cluster.name != b.run.cluster.name || a.run.cluster.gpu.name != b.run.cluster.gpu.name)
    return fail_field(
        "next", fmt::format("found runs on clusters {} and {}, expected two of one cluster",
                            foretrain::quoted(a.run.cluster.name), foretrain::quoted(b.run.cluster.name)));
  if (const std::string differs = first_difference(state_of(b.run.cluster), state_of(a.run.cluster));
      !differs.empty())
    return fail_field("next", fmt::format("found two clusters {}, the second with {}; expected one",
                                          foretrain::quoted(a.run.cluster.name), differs));
  if (run_identity(a.run) == run_identity(b.run))
    return fail_field("next", fmt::format("found the same run in {} and {}, expected two that differ",
                                          printable(a.name), printable(b.name)));
  return {};
}

// What a run's prediction says of itself, as the calibration has it; and what it takes.
Lesson asked(const AskedRun& one, const Calibration& calibration) {
  Lesson out;
  out.name = one.name;
  out.run = run_identity(one.run);
  out.kind = kind_of(one.run);
  const ClusterFactors factors = calibration.factors_for(out.kind, out.run);
  const Prediction prediction = predict_with(one.run, one.costs, factors);
  out.gpus = one.run.gpus;
  out.plan = file_name(one.name);
  out.predicted = prediction.step.value;
  out.slope = step_slope(one.run, one.costs, factors);
  out.spread = prediction.step.spread;
  return out;
}

Result<void> add_next(Session& session, const CalibrateRequest& request, CalibrationReport& report) {
  if (request.next.empty()) return {};
  if (request.next.size() != 2)
    return fail_field("next", fmt::format("found {} run{}, expected two to be told apart",
                                          request.next.size(), request.next.size() == 1 ? "" : "s"));
  TRY_ASSIGN(const AskedRun a, asked_run(session, request, request.next[0]));
  TRY_ASSIGN(const AskedRun b, asked_run(session, request, request.next[1]));
  TRY(check_contest(a, b));
  if (!report.calibration.cluster.empty())
    for (const AskedRun* one : {&a, &b})
      TRY(of_field("next", check_applies(report.calibration, one->run.cluster, one->profile)));
  Contest contest{asked(a, report.calibration), asked(b, report.calibration)};
  contest.difference = std::log(contest.b.predicted / contest.a.predicted);
  const Posterior& learned = report.calibration.posterior;
  report.next =
      next_measurement(learned.lessons().empty() ? Posterior({}, {}, {}, {contest.a, contest.b}) : learned,
                       contest, a.run.cluster.gpus_per_node);
  return {};
}

Result<CalibrateAnswer> calibrated_by(Session& session, CalibrateRequest& request) {
  if (request.measurements.empty() && request.measured.empty() && !request.next.empty()) {
    CalibrateAnswer answer;
    TRY_ASSIGN(std::optional<Calibration> known,
               of_field("calibration", calibration_of(session, request.calibration)));
    if (known) answer.report.calibration = *std::move(known);
    TRY(add_next(session, request, answer.report));
    return answer;
  }
  if (!request.calibration.empty())
    return fail_field("calibration",
                      fmt::format("found beside measurements, expected it with {} alone", marked("next")));
  if (request.measurements.empty() && request.measured.empty())
    return fail_field("measurements",
                      fmt::format("found no measurement, expected a log, a trace, a table of measured "
                                  "runs, or {} beside a run",
                                  marked("measured")));
  Gathered gathered;
  for (Sources& sources : request.measurements)
    for (Source& file : sources.files) {
      if (is_table(file))
        TRY(add_table(session, request, std::move(file), gathered));
      else
        TRY(add_file(session, request, std::move(file), gathered));
    }
  TRY(add_seconds(session, request, gathered));
  TRY(check_one_cluster(gathered.all));
  if (gathered.all.empty())
    return fail_field("measurements",
                      gathered.left_out.empty()
                          ? "found no measurement to learn from"
                          : fmt::format("found no measurement to learn from; {}: {}",
                                        gathered.left_out.front().name, gathered.left_out.front().words));
  TRY_ASSIGN(Learned learned, of_field("measurements", learn(gathered.all)));
  CalibrateAnswer answer;
  answer.report.calibration = std::move(learned.calibration);
  Calibration& calibration = answer.report.calibration;
  calibration.name = request.name.empty() ? calibration.cluster : request.name;
  for (const Sources& sources : request.measurements) calibration.origin.push_back(file_name(sources.name));
  if (!request.measured.empty()) calibration.origin.push_back(request.measured + " s of a run");
  answer.report.remarks = std::move(gathered.left_out);
  answer.report.remarks.insert(answer.report.remarks.end(), learned.remarks.begin(), learned.remarks.end());
  TRY(add_next(session, request, answer.report));
  answer.files = {{kCalibrationFile, calibration_yaml(calibration)}};
  return answer;
}

}  // namespace

Result<CalibrateAnswer> ask(Session& session, CalibrateRequest request) {
  return guarded([&] { return calibrated_by(session, request); });
}

Result<Sources> measured_files(const Files& files, const std::string& path) {
  if (files.is_folder(path)) return measured_sources(files, path);
  TRY_ASSIGN(std::string text, files.read(path, kMostMeasurementBytes));
  Sources out;
  out.name = path;
  out.files.push_back({path, std::move(text)});
  return out;
}

Result<std::optional<Calibration>> calibration_of(Session& session, const std::string& word) {
  if (word.empty()) return std::optional<Calibration>();
  TRY_ASSIGN(Calibration read, read_calibration(session.files(), word));
  return std::optional<Calibration>(std::move(read));
}

}  // namespace foretrain
