#include "report/plan_json.h"

#include <algorithm>
#include <cmath>

#include "job/fine_tuning.h"
#include "job/job.h"
#include "spec/documents_text.h"
#include "spec/plan_fields.h"
#include "spec/recipe_text.h"

namespace foretrain {
namespace {

// The plan that runs: with the stack's choices where it left them open, and the schedule that it comes to.
Plan settled(const Run& run) {
  Plan plan = run.plan;
  const Job job = job_of(run);
  const Choices& choices = job.choices;
  plan.shard = plan.zero > 0 ? job.mesh.shards() : 0;
  if (plan.pp > 1) plan.schedule = job.pipeline.schedule;
  if (plan.cp > 1) plan.cp_type = choices.context.type;
  plan.attention = choices.attention;
  plan.expert_products = choices.expert_products;
  plan.loss = choices.loss.kind;
  plan.grad_dtype = choices.grad_dtype;
  plan.reduce_dtype = choices.reduce_dtype;
  plan.master_weights = choices.master_weights;
  plan.sp_gather_again = choices.sp_gather_again;
  if (choices.sp) plan.tp_overlap = choices.tp_overlap;
  plan.overlap_grad_reduce = choices.overlap_grad_reduce;
  plan.overlap_param_gather = choices.overlap_param_gather;
  plan.partition_activations = choices.partition_activations;
  plan.cuda_graph = choices.graphs.scope;
  if (const Recipe* recipe = find_recipe(run.stack, run.plan)) plan.precision = recipe->name;
  if (choices.low.is_narrow()) {
    plan.fp8_params = choices.low.formats.params;
    plan.bf16_layers = choices.low.formats.bf16_layers;
    plan.fp8_attention = choices.low.formats.attention;
    plan.fp8_head = choices.low.formats.head;
  }
  if (plan.lora > 0) {
    plan.lora_targets = choices.adapters.targets;
    plan.lora_dtype = choices.adapters.dtype;
    plan.base = choices.adapters.base;
    if (choices.adapters.base == BaseFormat::kNf4) plan.double_quant = choices.adapters.double_quant;
  }
  if (has_condition(run.stack, Condition::kLossFused)) plan.loss_fusion = choices.loss.fused;
  if (has_experts(run.model)) {
    plan.etp = job.mesh.etp;
    plan.dispatcher = choices.experts.dispatcher;
    plan.dispatch_dtype = choices.experts.dispatch_dtype;
    plan.expert_sync = choices.experts.syncs;
    plan.permute_fusion = choices.experts.permute_fused;
    plan.router_fusion = choices.experts.router_fused;
    plan.overlap_shared = choices.experts.beside;
    if (!plan.expert_imbalance && !plan.capacity_pad)
      plan.expert_imbalance =
          plan.ep == 1 ? 1.0 : std::min(kUsualImbalance, most_imbalance(run.model, plan.ep));
  }
  if (run.documents.stated() && !plan.document_imbalance)
    plan.document_imbalance = usual_document_imbalance(
        packing_of(run.model, run.documents, run.seq),
        static_cast<double>(run.global_batch) / static_cast<double>(plan.dp), plan.dp);
  return plan;
}

void put_value(JsonWriter& w, std::int64_t value, const WholeNumber&) { w.value(value); }
void put_value(JsonWriter& w, double value, const RealNumber&) { w.value(value); }
void put_value(JsonWriter& w, RecomputeModules modules, const SomeOf& kind) {
  w.begin_array();
  for (std::size_t i = 0; i < kind.names.size(); ++i)
    if (modules.has(static_cast<RecomputeModule>(i))) w.value(kind.names[i]);
  w.end_array();
}
void put_value(JsonWriter& w, LoraTargets targets, const LoraModules&) {
  w.begin_array();
  for (std::size_t i = 0; i < kLoraTargetNames.size(); ++i)
    if (targets.has(static_cast<LoraTarget>(i))) w.value(kLoraTargetNames[i]);
  w.end_array();
}
void put_value(JsonWriter& w, GraphModules modules, const GraphScope&) {
  w.begin_array();
  for (std::size_t i = 0; i < kGraphModuleNames.size(); ++i)
    if (modules.has(static_cast<GraphModule>(i))) w.value(kGraphModuleNames[i]);
  w.end_array();
}
void put_value(JsonWriter& w, const std::string& value, const FreeText&) { w.value(value); }
void put_value(JsonWriter& w, const LayerEnds& value, const EndsText&) { w.value(to_text(value)); }
void put_value(JsonWriter& w, bool value, const Flag&) { w.value(value); }
template <class E>
requires std::is_enum_v<E>
void put_value(JsonWriter& w, E value, const OneOf& kind) {
  w.value(kind.names[static_cast<std::size_t>(value)]);
}
template <class T, class Kind>
void put_value(JsonWriter& w, const std::optional<T>& value, const Kind& kind) {
  if (value)
    put_value(w, *value, kind);
  else
    w.null();
}
void put_value(JsonWriter& w, const std::vector<std::int64_t>& stages, const LayerList&) {
  if (stages.empty()) {
    w.null();
    return;
  }
  w.begin_array();
  for (const std::int64_t layers : stages) w.value(layers);
  w.end_array();
}

// As in the table, but for four that JSON has always told a little earlier.
std::vector<std::string_view> plan_keys() {
  std::vector<std::string_view> keys = keys_of(kPlanFields);
  const auto move_before = [&keys](std::string_view key, std::string_view next) {
    std::erase(keys, key);
    keys.insert(std::find(keys.begin(), keys.end(), next), key);
  };
  move_before(plan_field<&Plan::offload>.key, plan_field<&Plan::schedule>.key);
  move_before(plan_field<&Plan::optimizer>.key, plan_field<&Plan::attention>.key);
  move_before(plan_field<&Plan::master_weights>.key, plan_field<&Plan::attention>.key);
  move_before(plan_field<&Plan::sp_gather_again>.key, plan_field<&Plan::attention>.key);
  return keys;
}

}  // namespace

void put_plan(JsonWriter& w, const Run& run) {
  const Plan plan = settled(run);
  w.begin_object();
  for (const std::string_view key : plan_keys())
    for_each_field(kPlanFields, [&](const auto& f) {
      if (f.key != key) return;
      w.key(key);
      put_value(w, plan.*f.member, f.kind);
    });
  w.end_object();
}

void put_run(JsonWriter& w, const Run& run) {
  w.key("run").begin_object();
  w.key("model").value(run.model.name);
  w.key("cluster").value(run.cluster.name);
  w.key("gpu").value(run.cluster.gpu.name);
  w.key("gpus").value(run.gpus);
  w.key("stack").value(run.stack.name);
  w.key("profile").value(run.profile);
  if (const TrainingTask task = task_of(run); task != TrainingTask::kPretrain)
    w.key("task").value(kTaskNames[static_cast<std::size_t>(task)]);
  w.key("dropout").value(dropout_of(run.model, run.stack));
  w.key("seq").value(run.seq);
  if (run.documents.stated()) w.key("documents").value(to_text(run.documents));
  w.key("global_batch").value(run.global_batch);
  w.key("micro_batches").value(run.micro_batches());
  w.key("plan");
  put_plan(w, run);
  w.end_object();
}

double told_seconds(Seconds seconds) {
  constexpr double kNothing = 1e-12;
  return std::abs(seconds.value) < kNothing ? 0.0 : seconds.value;
}

}  // namespace foretrain
