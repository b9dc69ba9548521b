#include "ask/over.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ask/calibrate.h"
#include "ask/guard.h"
#include "ask/over_axes.h"
#include "ask/run_file.h"
#include "ask/words.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cost/memo.h"
#include "report/calibration_report.h"
#include "spec/cluster_figures.h"

namespace foretrain {
namespace {

constexpr std::string_view kPrice = "price_per_gpu_hour";  // the one figure that no step follows

class Sweep {
 public:
  Sweep(Session& session, const OverRequest& request) : session_(session), request_(request) {}

  Result<OverAnswer> answer() {
    TRY(prepare());
    for (std::size_t i = 0; i < points_; ++i) {
      const std::size_t across = out_.columns();
      std::vector<std::string> words = {out_.axes[0].words[i / across]};
      if (out_.axes.size() == 2) words.push_back(out_.axes[1].words[i % across]);
      TRY(add_point(words));
    }
    if (!found_) return nothing_runs();
    note_gpu();
    note_calibration();
    return std::move(out_);
  }

 private:
  Result<void> prepare() {
    const PredictRequest& predict = request_.predict;
    if (predict.runs.size() > 1)
      return fail_field("over", fmt::format("found {} runs, expected one", predict.runs.size()));
    TRY_ASSIGN(out_.axes, parse_axes(request_.over));
    points_ = out_.axes[0].words.size() * out_.columns();
    TRY_ASSIGN(calibration_, of_field("calibration", calibration_of(session_, predict.calibration)));
    TRY(check_calibrated());
    out_.example = predict.is_example();
    if (!predict.tokens.empty()) {
      TRY_ASSIGN(tokens_, amount_word("tokens", predict.tokens));
    }
    TRY_ASSIGN(options_, run_options(predict));
    if (const auto source = run_source(predict)) {
      TRY_ASSIGN(RunFile file, read_run_file(*source, session_.catalog()));
      node_ = std::move(file.node);
    }
    return {};
  }

  // A cluster that is changed was measured by nobody.
  Result<void> check_calibrated() const {
    if (!calibration_) return {};
    for (const OverAxis& axis : out_.axes)
      if (axis.key == "cluster" || (find_cluster_figure(axis.key) != nullptr && axis.key != kPrice))
        return fail_field("over",
                          fmt::format("{} would be another cluster than was measured; expected keys of "
                                      "the run or its plan with {}",
                                      axis.key, marked("calibration")));
    return {};
  }

  const Node* node() const { return node_ ? &*node_ : nullptr; }

  // Model, cluster and stack are read once, unless they are what changes.
  Result<Run> specs(const RunOptions& options) {
    const std::string key = fmt::format("{}\n{}\n{}", options.model, options.cluster, options.stack);
    const auto found = specs_.find(key);
    if (found != specs_.end()) return found->second;
    TRY_ASSIGN(Run read, parse_specs(node(), options, session_.catalog()));
    return specs_.emplace(key, std::move(read)).first->second;
  }

  // What the point cannot have is its refusal; a name that leads nowhere is the request's.
  Result<void> add_point(const std::vector<std::string>& words) {
    RunOptions options = options_;
    std::vector<std::pair<const ClusterFigure*, double>> figures;
    for (std::size_t i = 0; i < words.size(); ++i)
      if (!put_word(options, out_.axes[i].key, words[i]))
        figures.emplace_back(find_cluster_figure(out_.axes[i].key), parse_number(words[i]).value());
    auto read_specs = specs(options);
    if (!read_specs && names_a_spec(read_specs.error().field))
      for (const OverAxis& axis : out_.axes)
        if (read_specs.error().field == axis.key) read_specs.error().field = "over";
    TRY_ASSIGN(Run read, std::move(read_specs));
    OverPoint& point = out_.points.emplace_back();
    for (const auto& [figure, value] : figures)
      if (auto set = set_figure(read.cluster, *figure, value); !set) return refuse(point, set.error());
    auto run = parse_run(node(), options, std::move(read));
    if (!run) return refuse(point, run.error());
    return evaluate(*run, point);
  }

  Result<void> refuse(OverPoint& point, const Error& error) {
    // What breaks a rule is said to be the plan's, which here is only one of what may have broken it.
    const bool named = !error.field.empty() && error.field != "plan";
    point.refused = named ? marked(error.field) + ": " + error.message : error.message;
    if (!first_refusal_) first_refusal_ = error;
    return {};
  }

  Result<void> evaluate(Run& run, OverPoint& point) {
    TRY_ASSIGN(const ProfileStore::Choice choice,
               of_field("profile", session_.costs_for(run.cluster, run.profile)));
    run.profile = choice.profile;
    auto& memo = memos_[choice.costs.get()];
    if (memo == nullptr) memo = std::make_shared<const MemoCost>(choice.costs);
    TRY_ASSIGN(const Prediction prediction, predicted(run, memo));
    std::optional<Training> whole;
    if (tokens_) whole = training(run, prediction, *tokens_);
    point.figures = figures_of(run, prediction, whole);
    if (found_) return {};
    found_ = true;
    out_.assumed = prediction.assumed;
    out_.base = std::move(run);
    return {};
  }

  Result<Prediction> predicted(const Run& run, const std::shared_ptr<const CostSource>& costs) {
    if (!calibration_) return session_.predict(run, costs, nullptr, false);
    TRY(of_field("calibration", check_applies(*calibration_, run.cluster, run.profile)));
    const CalibratedRun there = calibrated(*calibration_, run, costs);
    Prediction out = session_.predict(there.run, there.costs, nullptr, false);
    const Standing standing = stand(*calibration_, run, costs, out);
    if (!standing_) standing_ = standing;
    least_settled_ = std::min(least_settled_, standing.settled);
    most_settled_ = std::max(most_settled_, standing.settled);
    return out;
  }

  // Of the first point, and how it is with the others.
  void note_calibration() {
    if (!standing_) return;
    out_.notes.push_back(
        "calibration " + standing_words(*standing_) +
        (most_settled_ - least_settled_ < 0.005
             ? ""
             : fmt::format("; of all points {:.0f} to {:.0f} %", 100 * least_settled_, 100 * most_settled_)));
  }

  // A rule that every point breaks is broken by what changes, whatever a file says; what is missing is not.
  tl::unexpected<Error> nothing_runs() {
    Error error = *std::move(first_refusal_);
    if (error.field.empty() || error.field == "plan") {
      error.field = "over";
      error.at = {};
    }
    return tl::unexpected<Error>(std::move(error));
  }

  // Fitted times are those of the GPU as it is.
  void note_gpu() {
    for (const OverAxis& axis : out_.axes)
      if (const ClusterFigure* figure = find_cluster_figure(axis.key);
          figure != nullptr && figure->of_gpu && out_.base.profile != kAnalyticProfile)
        out_.notes.push_back(
            fmt::format("{}: profile {} was fitted to the GPU as it is; its times follow the figure as their "
                        "physical terms do",
                        axis.key, out_.base.profile));
  }

  Session& session_;
  const OverRequest& request_;
  OverAnswer out_;
  std::size_t points_ = 0;
  RunOptions options_;
  std::optional<Node> node_;
  std::optional<double> tokens_;
  std::map<std::string, Run> specs_;
  std::map<const CostSource*, std::shared_ptr<const MemoCost>> memos_;  // each holds its source
  std::optional<Calibration> calibration_;
  std::optional<Standing> standing_;
  double least_settled_ = 1, most_settled_ = 0;
  bool found_ = false;
  std::optional<Error> first_refusal_;
};

}  // namespace

Result<OverAnswer> ask(Session& session, const OverRequest& request) {
  return guarded([&] { return Sweep(session, request).answer(); });
}

}  // namespace foretrain
