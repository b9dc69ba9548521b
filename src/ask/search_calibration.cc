#include "ask/search_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ask/calibrate.h"
#include "base/field_mark.h"
#include "base/text.h"

namespace foretrain {
namespace {

// Of the kind that all plans of a length are, but for a format that the search chooses.
RunKind kind_at(const AnswerRequest& request, std::int64_t seq) {
  Plan plan = request.problem.given;
  const Constraint* precision = request.constraints.find("precision");
  if (precision != nullptr && precision->set_words.size() == 1) plan.precision = precision->set_words.front();
  return kind_of(request.problem.model, request.problem.stack, plan, seq);
}

// What was learned depends on the format, which all plans of a search share with its cluster; and a figure that is changed was
// measured by nobody.
Result<void> check_questions(const SearchRequest& request, const AnswerRequest& prepared) {
  if (const Constraint* precision = prepared.constraints.find("precision");
      precision != nullptr && precision->set_words.size() != 1)
    return fail_field("calibration",
                      "was learned of one number format at a time, but the search chooses among several: set "
                      "one of them");
  for (const std::string& what_if : request.what_if) {
    const std::string_view key = trim(std::string_view(what_if).substr(0, what_if.find('=')));
    if (key != "gpus" && key != "global_batch" && key != "price_per_gpu_hour")
      return fail_field("what_if", fmt::format("{} would be another cluster or length than was measured; "
                                               "expected gpus, global_batch or price_per_gpu_hour with {}",
                                               printable(key), marked("calibration")));
  }
  return {};
}

// How far a kind of run is from what was measured.
std::string distance_words(const Calibration& calibration, const RunKind& kind) {
  const Lesson* nearest = nullptr;
  for (const Lesson& lesson : calibration.posterior.lessons())
    if (nearest == nullptr || likeness(kind, lesson.kind) > likeness(kind, nearest->kind)) nearest = &lesson;
  if (nearest == nullptr) return "";
  const std::vector<std::string> differs = differences(kind, nearest->kind);
  return fmt::format("; nearest to {}{}", printable(nearest->name),
                     differs.empty() ? ", runs of this kind" : ": " + printable(join(differs, ", ")));
}

Standing stand_plan(const Footing& footing, RankedPlan& plan) {
  Run run = plan.run;
  run.cluster = footing.stated;
  run.cluster.price_per_gpu_hour = plan.run.cluster.price_per_gpu_hour;
  return stand(footing.calibration, run, footing.costs, plan.prediction, StandsOn::kKind);
}

}  // namespace

Result<void> stand_on(Session& session, const SearchRequest& request, AnswerRequest& out) {
  TRY_ASSIGN(const std::optional<Calibration> known,
             of_field("calibration", calibration_of(session, request.calibration)));
  if (!known) return {};
  TRY(of_field("calibration", check_applies(*known, out.problem.cluster, out.profile)));
  TRY(check_questions(request, out));
  const auto calibration = std::make_shared<const Calibration>(*known);
  const Cluster cluster = out.problem.cluster;
  TRY_ASSIGN(const std::shared_ptr<const CostSource> costs, out.costs_for(cluster));
  const auto at = [calibration, cluster, costs](const RunKind& kind) {
    return calibrated(*calibration, calibration->factors_for(kind), cluster, costs);
  };
  const CalibratedCluster first = at(kind_at(out, out.problem.seq));
  out.problem.cluster = first.cluster;
  // At another price, the only figure that a question may change, operators take as long.
  out.costs_for = [costs = first.costs](const Cluster&) -> Result<std::shared_ptr<const CostSource>> {
    return costs;
  };
  if (out.over.several()) {
    std::map<std::int64_t, RunKind> kinds;
    for (const BatchPoint& point : out.over.points) kinds.emplace(point.seq, kind_at(out, point.seq));
    out.at_length = [at, kinds](std::int64_t seq) {
      CalibratedCluster there = at(kinds.at(seq));
      return LengthSetting{std::move(there.cluster), std::move(there.costs)};
    };
  }
  out.assumed.push_back(fmt::format("calibration {}, of {}{}", printable(calibration->name),
                                    calibration->origin_words(),
                                    distance_words(*calibration, kind_at(out, out.problem.seq))));
  return {};
}

Result<std::optional<Footing>> footing(Session& session, SearchRequest request) {
  TRY_ASSIGN(std::optional<Calibration> calibration,
             of_field("calibration", calibration_of(session, request.calibration)));
  if (!calibration) return std::optional<Footing>();
  request.calibration.clear();
  TRY_ASSIGN(const AnswerRequest stated, prepare(session, request));
  TRY_ASSIGN(std::shared_ptr<const CostSource> costs, stated.costs_for(stated.problem.cluster));
  return std::optional<Footing>({*std::move(calibration), stated.problem.cluster, std::move(costs)});
}

std::optional<Standing> stand(const Footing& footing, SearchAnswer& answer) {
  std::optional<Standing> best;
  for (RankedPlan& plan : answer.best) {
    Standing standing = stand_plan(footing, plan);
    if (!best) best = std::move(standing);
  }
  for (ListFamily& family : answer.families) stand_plan(footing, family.best);
  for (RankedPlan& plan : answer.pareto) stand_plan(footing, plan);
  for (Why& why : answer.whys) {
    if (why.plan) stand_plan(footing, *why.plan);
    for (NearPlan& near : why.near) stand_plan(footing, near.plan);
  }
  for (WhatIfAnswer& what_if : answer.what_ifs)
    if (what_if.best) stand_plan(footing, *what_if.best);
  return best;
}

void stand(const Footing& footing, SweepAnswer& answer) {
  for (SweepPoint& point : answer.points) {
    for (RankedPlan& plan : point.answer.best) stand_plan(footing, plan);
    for (RankedPlan& plan : point.answer.pareto) stand_plan(footing, plan);
  }
}

Result<std::optional<Standing>> stand(Session& session, const SearchRequest& request, SearchAnswer& answer) {
  TRY_ASSIGN(const std::optional<Footing> stated, footing(session, request));
  return stated ? stand(*stated, answer) : std::nullopt;
}

Result<void> stand(Session& session, const SearchRequest& request, SweepAnswer& answer) {
  TRY_ASSIGN(const std::optional<Footing> stated, footing(session, request));
  if (stated) stand(*stated, answer);
  return {};
}

}  // namespace foretrain
