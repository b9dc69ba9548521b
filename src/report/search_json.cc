#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "formats/write_launch.h"
#include "job/fine_tuning.h"
#include "job/launch_run.h"
#include "predict/uncertainty.h"
#include "report/calibration_report.h"
#include "report/launch_report.h"
#include "report/plan_json.h"
#include "report/search_curve.h"
#include "report/search_report.h"
#include "report/training.h"
#include "search/list_family.h"
#include "spec/documents_text.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

void put_text(JsonWriter& w, const std::string& text) {
  if (text == "unset")
    w.null();
  else
    w.value(text);
}

void put_plan(JsonWriter& w, const RankedPlan& plan) {
  const Problem none;
  const Candidate candidate{plan.run.gpus, plan.run.plan};
  w.key("plan").value(to_text(plan.run.plan));
  w.key("choices").begin_object();
  for (const Dimension& d : dimensions()) {
    w.key(d.name);
    if (is_split(d)) {
      if (plan.run.plan.layers_per_stage.empty()) {
        w.null();
        continue;
      }
      w.begin_array();
      for (const std::int64_t layers : plan.run.plan.layers_per_stage) w.value(layers);
      w.end_array();
      continue;
    }
    const Value value = d.text != nullptr ? 0 : d.get(none, candidate);
    if (d.text != nullptr)
      put_text(w, d.text(candidate));
    else if (value == kUnset)
      w.null();
    else if (d.words.empty())
      w.value(value);
    else if (d.words.size() == 2 && d.words[0] == "0")
      w.value(value == 1);
    else
      w.value(word_of(d, none, candidate));
  }
  w.end_object();
}

void put_ranked(JsonWriter& w, const SearchAnswer& a, const RankedPlan& plan) {
  const Prediction& p = plan.prediction;
  put_plan(w, plan);
  w.key("gpus").value(plan.run.gpus);
  w.key("step_s").value(p.step.value);
  w.key("step_low_s").value(p.step.low());
  w.key("step_high_s").value(p.step.high());
  w.key("typical_s").value(p.typical.value);
  w.key("tokens_per_s_per_gpu").value(p.tokens_per_s_per_gpu);
  w.key("mfu").value(p.mfu);
  w.key("peak_bytes").value(std::round(p.peak.value));
  w.key("needed_bytes").value(std::round(p.needed.value));
  w.key("headroom_bytes").value(std::round((p.usable - p.needed).value));
  w.key("fits").value(p.fits);
  w.key("verdict").value(verdict_name(p.fit_probability));
  w.key("fit_probability").value(p.fit_probability);
  if (plan.launched_by) {
    w.key("launched_by").begin_array();
    for (const std::string& name : *plan.launched_by) w.value(name);
    w.end_array();
  }
  w.key("gpu_hours_per_billion_tokens").value(gpu_hours_per_billion(plan));
  w.key("usd_per_billion_tokens");
  const auto usd = usd_per_billion(plan);
  usd ? w.value(*usd) : w.null();
  w.key("joules").value(plan.scored.joules);
  if (a.tokens) {
    const Training whole = training(plan.run, p, *a.tokens);
    w.key("training_s").value(whole.duration.value);
    w.key("training_low_s").value(whole.low.value);
    w.key("training_high_s").value(whole.high.value);
    w.key("training_gpu_hours").value(whole.gpu_hours);
    w.key("training_usd");
    whole.usd ? w.value(*whole.usd) : w.null();
  }
  w.key("breakdown_s").begin_object();
  for (std::size_t c = 0; c < kStepCauseCount; ++c)
    w.key(kStepCauseNames[c]).value(told_seconds(p.breakdown[c]));
  w.end_object();
}

void put_tie(JsonWriter& w, const Tie& tie) {
  w.key("tied").value(tie.tied);
  w.key("difference_s").value(tie.difference.value);
  w.key("difference_sigma_s").value(tie.sigma.value);
  w.key("settles").value(tie.settles);
}

void put_near(JsonWriter& w, const SearchAnswer& a, std::string_view key, const std::vector<NearPlan>& near) {
  w.key(key).begin_array();
  for (const NearPlan& n : near) {
    w.begin_object();
    w.key("change").value(n.change);
    put_ranked(w, a, n.plan);
    w.end_object();
  }
  w.end_array();
}

void put_why(JsonWriter& w, const SearchAnswer& a, const Why& why) {
  w.begin_object();
  w.key("asked").value(why.asked);
  w.key("rejected");
  why.rejected.empty() ? w.null() : w.value(why.rejected);
  w.key("better_plans").value(why.better);
  w.key("better_plans_at_least").value(why.beyond);
  if (why.plan) {
    put_ranked(w, a, *why.plan);
    if (why.tie) put_tie(w, *why.tie);
    if (!a.best.empty()) {
      w.key("more_s").begin_object();
      for (std::size_t c = 0; c < kStepCauseCount; ++c)
        w.key(kStepCauseNames[c])
            .value(told_seconds(why.plan->prediction.breakdown[c] - a.best.front().prediction.breakdown[c]));
      w.end_object();
    }
  }
  put_near(w, a, "near", why.near);
  w.end_object();
}

void put_words(JsonWriter& w, std::string_view key, const std::vector<std::string>& words) {
  w.key(key).begin_array();
  for (const std::string& word : words) w.value(word);
  w.end_array();
}

}  // namespace

void put_search_counts(JsonWriter& w, const SearchAnswer& a) {
  const SearchCounts& c = a.result.counts;
  w.key("candidates").value(c.candidates);
  w.key("evaluated").value(c.evaluated);
  w.key("pruned_memory").value(c.pruned_memory);
  w.key("pruned_bound").value(c.pruned_bound);
  w.key("seconds").value(a.result.seconds);
  w.key("interrupted").value(a.result.interrupted);
  w.key("counted").value(a.result.counted);
  w.key("gap");
  const auto gap = a.gap();
  gap ? w.value(*gap) : w.null();
  w.key("objective").value(kObjectiveNames[static_cast<std::size_t>(a.options.objective)]);
}

void put_problem(JsonWriter& w, const SearchAnswer& a, const BatchPoints* over) {
  w.key("model").value(a.problem.model.name);
  w.key("cluster").value(a.problem.cluster.name);
  w.key("stack").value(a.problem.stack.name);
  w.key("profile").value(a.profile);
  if (over == nullptr) {
    w.key("global_batch").value(a.problem.global_batch);
    w.key("seq").value(a.problem.seq);
  } else {
    put_words(w, "global_batches", over->batches);
    put_words(w, "seqs", over->seqs);
  }
  if (const TrainingTask task = task_of(a.problem.given); task != TrainingTask::kPretrain)
    w.key("task").value(kTaskNames[static_cast<std::size_t>(task)]);
  if (const std::string given = to_text(a.problem.given); !given.empty()) w.key("given").value(given);
  if (a.problem.documents.stated()) w.key("documents").value(to_text(a.problem.documents));
  w.key("memory_limit_bytes").value(std::round(a.options.limits.memory.value));
  put_words(w, "constraints", a.constraints);
  w.key("not_searched").begin_array();
  for (const LeftOut& left : a.left_out) {
    w.begin_object();
    w.key("values").value(left.values);
    w.key("reason").value(left.reason);
    w.end_object();
  }
  w.end_array();
}

namespace {

void put_best(JsonWriter& w, const SearchAnswer& a) {
  w.key("best").begin_array();
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    w.begin_object();
    put_ranked(w, a, a.best[i]);
    for (const TiedPlan& tied : a.ties)
      if (tied.rank == i) put_tie(w, tied.tie);
    w.end_object();
  }
  w.end_array();
}

void put_variant(JsonWriter& w, const FamilyVariant& variant) {
  w.begin_object();
  w.key("change").value(variant.change);
  w.key("plan").value(to_text(variant.plan));
  w.key("step_s").value(variant.scored.step);
  w.key("peak_bytes").value(std::round(variant.scored.peak));
  w.key("joules").value(variant.scored.joules);
  put_tie(w, variant.tie);
  w.end_object();
}

// One a way to split model and data: its best plan's keys, and what its other plans change.
void put_families(JsonWriter& w, const SearchAnswer& a) {
  w.key("families").begin_array();
  for (const ListFamily& family : a.families) {
    w.begin_object();
    const Candidate candidate{family.best.run.gpus, family.best.run.plan};
    for (const std::string_view key : kFamilyKeys)
      w.key(key).value(find_dimension(key)->get(a.problem, candidate));
    w.key("plans").value(family.plans);
    w.key("last_step_s").value(family.last.step);
    put_ranked(w, a, family.best);
    if (family.tie) put_tie(w, *family.tie);
    w.key("variants").begin_array();
    for (const FamilyVariant& variant : family.variants) put_variant(w, variant);
    w.end_array();
    w.end_object();
  }
  w.end_array();
}

// Of several GPU counts the fastest plan of each.
void put_curve(JsonWriter& w, const OverAnswer& curve) {
  const double best = best_per_gpu(curve);
  w.key("curve").begin_array();
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const OverPoint& point = curve.points[i];
    w.begin_object();
    w.key("gpus").value(*parse_integer(curve.axes.front().words[i]));
    if (point.runs()) {
      const OverFigures& f = point.figures;
      w.key("plan").value(f.plan);
      w.key("step_s").value(f.step.value);
      w.key("step_low_s").value(f.step.low());
      w.key("step_high_s").value(f.step.high());
      w.key("tokens_per_s").value(f.tokens_per_s_per_gpu * static_cast<double>(f.gpus));
      w.key("tokens_per_s_per_gpu").value(f.tokens_per_s_per_gpu);
      w.key("efficiency").value(f.tokens_per_s_per_gpu / best);
      w.key("limit").value(name(f.most()));
      w.key("limit_share").value(f.share(f.most()));
      const auto beside = f.most_beside();
      w.key("beside_compute");
      beside ? w.value(name(*beside)) : w.null();
      w.key("beside_compute_share").value(beside ? f.share(*beside) : 0.0);
    } else {
      w.key("refused").value(point.refused);
    }
    w.end_object();
  }
  w.end_array();
}

void put_pareto(JsonWriter& w, const SearchAnswer& a) {
  w.key("pareto").begin_array();
  for (const RankedPlan& plan : a.pareto) {
    w.begin_object();
    put_ranked(w, a, plan);
    w.end_object();
  }
  w.end_array();
}

void put_smallest(JsonWriter& w, const SearchAnswer& a) {
  w.key("smallest").begin_object();
  put_ranked(w, a, *a.smallest);
  w.end_object();
  put_near(w, a, "would_fit", a.would_fit);
}

void put_whys(JsonWriter& w, const SearchAnswer& a) {
  w.key("why").begin_array();
  for (const Why& why : a.whys) put_why(w, a, why);
  w.end_array();
}

void put_what_ifs(JsonWriter& w, const SearchAnswer& a) {
  w.key("what_if").begin_array();
  for (const WhatIfAnswer& what : a.what_ifs) {
    w.begin_object();
    w.key("change").value(what.text);
    w.key("candidates").value(what.counts.candidates);
    w.key("changes").value(what.changes);
    if (what.best)
      put_ranked(w, a, *what.best);
    else
      w.key("refused").value(what.refused);
    w.end_object();
  }
  w.end_array();
}

}  // namespace

std::string search_json(const SearchAnswer& a, const WholeLaunch* launch, const Standing* standing) {
  JsonWriter w;
  w.begin_answer();
  put_search_counts(w, a);
  put_problem(w, a);
  put_best(w, a);
  put_families(w, a);
  put_pareto(w, a);
  if (const auto curve = search_curve(a)) put_curve(w, *curve);
  if (!a.best.empty())
    put_words(w, "megatron_flags", megatron_plan_flags(launch_run_of(a.best.front().run)).flags);
  if (launch != nullptr) write_launch(w.key("launch"), *launch);
  if (a.smallest) put_smallest(w, a);
  if (!a.whys.empty()) put_whys(w, a);
  if (!a.what_ifs.empty()) put_what_ifs(w, a);
  if (standing != nullptr) {
    w.key("calibration");
    put_standing(w, *standing);
  }
  put_words(w, "assumed", a.assumed);
  w.end_object();
  return w.text();
}

}  // namespace foretrain
