#include <cmath>

#include "base/json.h"
#include "predict/uncertainty.h"
#include "report/calibration_report.h"
#include "report/memory_report.h"
#include "report/plan_json.h"
#include "report/predict_report.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

// Bytes are whole numbers.
void put(JsonWriter& w, std::string_view key, Bytes bytes) { w.key(key).value(std::round(bytes.value)); }

void put(JsonWriter& w, std::string_view key, Seconds seconds) { w.key(key).value(told_seconds(seconds)); }

template <class T>
void put(JsonWriter& w, std::string_view key, const T& value) {
  w.key(key).value(value);
}

// A stage's step by what it does; sums to the step.
void put_times(JsonWriter& w, const StepView* view, std::size_t r) {
  w.key("time_s");
  if (view == nullptr) {
    w.null();
    w.key("critical_path_s").null();
    return;
  }
  const RankTime& time = view->times[r];
  w.begin_object();
  put(w, "passes", time.passes);
  put(w, "messages", time.messages);
  put(w, "wait_activation", time.wait_activation);
  put(w, "wait_gradient", time.wait_gradient);
  put(w, "gradient_reduce", time.reduce);
  put(w, "embedding_exchange", time.exchange);
  put(w, "stage_wait", time.wait_stages);
  put(w, "optimizer", time.optimizer);
  put(w, "parameter_gather", time.gather);
  w.end_object();
  put(w, "critical_path_s", view->path.by_rank[r]);
}

// What the activations at the peak consist of, and all that nvidia-smi counts; each sums to its whole.
void put_peak(JsonWriter& w, const StagePrediction& stage) {
  w.key("peak").begin_object();
  put(w, "when", peak_words(stage));
  w.key("saved_bytes").begin_object();
  for (std::size_t k = 0; k < kOperatorKindCount; ++k)
    if (stage.saved[k] > Bytes(0)) put(w, kOperatorKindNames[k], stage.saved[k]);
  w.end_object();
  put(w, "kept_for_weights_bytes", stage.waiting);
  put(w, "gathered_bytes", stage.gathered);
  put(w, "sp_buffers_bytes", stage.shared_buffers);
  put(w, "working_bytes", stage.working);
  w.key("parts_bytes").begin_object();
  for (const MemoryPart& part : memory_parts(stage)) put(w, part.key, part.bytes);
  w.end_object();
  w.end_object();
}

void put_stage(JsonWriter& w, const StagePrediction& stage, const StepView* view, std::size_t r) {
  w.begin_object();
  put(w, "layers", stage.layers);
  put(w, "parameters", stage.parameters);
  put(w, "forward_s", stage.forward);
  put(w, "backward_s", stage.backward);
  put(w, "busy_s", stage.busy);
  put(w, "idle_s", stage.idle);
  if (stage.clock_mhz) put(w, "clock_mhz", *stage.clock_mhz);
  put(w, "in_flight", stage.in_flight);
  put(w, "weights_bytes", stage.states.weights);
  put(w, "gradients_bytes", stage.states.gradients);
  put(w, "optimizer_bytes", stage.states.optimizer);
  put(w, "buffers_bytes", stage.states.buffers);
  if (stage.states.host > Bytes(0)) put(w, "host_bytes", stage.states.host);
  if (stage.states.paged > Bytes(0)) {
    put(w, "paged_bytes", stage.states.paged);
    put(w, "paged_out_bytes", stage.paged_out);
  }
  put(w, "activations_bytes", stage.activations);
  put(w, "allocated_bytes", stage.memory.allocated);
  put(w, "reserved_bytes", stage.memory.reserved);
  put(w, "total_bytes", stage.memory.total);
  put(w, "needed_bytes", stage.memory.needed);
  put_peak(w, stage);
  put_times(w, view, r);
  w.end_object();
}

void put_training(JsonWriter& w, const Training& whole) {
  w.key("training").begin_object();
  put(w, "tokens", whole.tokens);
  put(w, "steps", whole.steps);
  put(w, "seconds", whole.duration);
  put(w, "seconds_low", whole.low);
  put(w, "seconds_high", whole.high);
  put(w, "pauses_s", whole.pauses);
  put(w, "days", whole.days());
  put(w, "gpu_hours", whole.gpu_hours);
  if (whole.usd) put(w, "usd", *whole.usd);
  w.end_object();
}

void put_path(JsonWriter& w, const Prediction& p, const StepView* view) {
  put(w, "bubble_fraction", bubble_fraction(p));
  w.key("critical_path_s");
  if (view == nullptr) {
    w.null();
    return;
  }
  w.begin_object();
  for (std::size_t i = 0; i < view->path.by_cause.size(); ++i)
    put(w, kStepCauseNames[i], view->path.by_cause[i]);
  w.end_object();
}

void put_shares(JsonWriter& w, const Prediction& p) {
  // Every cause, so that scripts need not ask which are there; of the operators those that run.
  w.key("breakdown_s").begin_object();
  for (std::size_t i = 0; i < p.breakdown.size(); ++i) put(w, kStepCauseNames[i], p.breakdown[i]);
  w.end_object();
  w.key("operators_s").begin_object();
  for (std::size_t i = 0; i < p.operators.size(); ++i)
    if (p.operators[i].value != 0) put(w, kOperatorKindNames[i], p.operators[i]);
  w.end_object();
  w.key("origin_shares").begin_object();
  for (std::size_t i = 0; i < p.origin_shares.size(); ++i)
    put(w, name(static_cast<Origin>(i)), p.origin_shares[i]);
  w.end_object();
}

void put_prediction(JsonWriter& w, const Run& run, const Prediction& p, const Training* whole,
                    const StepView* view, const Standing* standing) {
  w.begin_answer();
  put(w, "step_s", p.step.value);
  put(w, "step_low_s", p.step.low());
  put(w, "step_high_s", p.step.high());
  put(w, "typical_s", p.typical);
  if (p.jitter) {
    w.key("jitter_s").begin_object();
    put(w, "fastest", p.jitter->fastest);
    put(w, "median", p.jitter->median);
    put(w, "p90", p.jitter->p90);
    w.end_object();
  }
  put(w, "tokens_per_s_per_gpu", p.tokens_per_s_per_gpu);
  put(w, "mfu", p.mfu);
  put(w, "params", p.params);
  if (p.frozen) put(w, "trained_params", p.trained);
  put(w, "fits", p.fits);
  put(w, "verdict", verdict_name(p.fit_probability));
  put(w, "fit_probability", p.fit_probability);
  put(w, "peak_bytes", p.peak);
  put(w, "usable_bytes", p.usable);
  put(w, "needed_bytes", p.needed);
  put(w, "allocated_bytes", p.peak_allocated);
  put(w, "reserved_bytes", p.peak_reserved);
  put(w, "worst_stage", p.worst_stage);
  if (p.host > Bytes(0)) put(w, "host_bytes_a_node", p.host);
  if (p.frozen) put(w, "loading_bytes", p.loading);
  if (whole != nullptr) put_training(w, *whole);
  put_shares(w, p);
  put_path(w, p, view);
  w.key("stages").begin_array();
  for (std::size_t r = 0; r < p.stages.size(); ++r) put_stage(w, p.stages[r], view, r);
  w.end_array();
  w.key("would_fit").begin_array();
  for (const FittingPlan& plan : p.would_fit) {
    w.begin_object();
    put(w, "change", changes(run.plan, plan.plan));
    put(w, "plan", to_text(plan.plan));
    if (const auto other = training_change(run.plan, plan.plan); !other.empty()) put(w, "trains", other);
    put(w, "step_s", plan.score.step);
    put(w, "needed_bytes", plan.score.needed);
    put(w, "fit_probability", plan.fit_probability);
    w.end_object();
  }
  w.end_array();
  if (standing != nullptr) {
    w.key("calibration");
    put_standing(w, *standing);
  }
  put_run(w, run);
  w.key("assumed").begin_array();
  for (const std::string& line : p.assumed) w.value(line);
  w.end_array();
  w.end_object();
}

}  // namespace

std::string predict_json(const Run& run, const Prediction& p, const Training* whole, const StepView* view,
                         const Standing* standing) {
  JsonWriter w;
  put_prediction(w, run, p, whole, view, standing);
  return w.text();
}

std::string predict_json(std::span<const PredictedRun> runs) {
  JsonWriter w;
  w.begin_array();
  for (const PredictedRun& r : runs)
    put_prediction(w, r.run, r.prediction, r.whole ? &*r.whole : nullptr, r.view ? &*r.view : nullptr,
                   r.standing ? &*r.standing : nullptr);
  w.end_array();
  return w.text();
}

}  // namespace foretrain
