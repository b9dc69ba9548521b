#include "job/launch_run.h"

#include <algorithm>

#include "job/job.h"
#include "job/precision.h"
#include "job/split.h"
#include "spec/documents_text.h"

namespace foretrain {
namespace {

bool has_shared(const Model& model) {
  return std::any_of(model.blocks.begin(), model.blocks.end(),
                     [](const BlockRun& run) { return run.block.feed_forward.shared_ffn > 0; });
}

void state_experts(const Run& run, const Job& job, Plan& plan) {
  if (!has_experts(run.model)) {
    plan.etp.reset(), plan.dispatcher.reset(), plan.expert_products.reset(), plan.dispatch_dtype.reset();
    plan.permute_fusion.reset(), plan.router_fusion.reset(), plan.overlap_shared.reset(),
        plan.expert_sync.reset();
    return;
  }
  const ExpertChoices& c = job.choices.experts;
  plan.etp = job.mesh.etp;
  plan.dispatcher = c.dispatcher;
  plan.expert_products = job.choices.expert_products;
  if (plan.dispatch_dtype == job.choices.precision) plan.dispatch_dtype.reset();
  plan.permute_fusion = c.permute_fused;
  plan.router_fusion = c.router_fused;
  plan.overlap_shared.reset();
  if (has_shared(run.model)) plan.overlap_shared = c.beside;
  if (plan.expert_sync == run.stack.experts.syncs || plan.capacity_pad) plan.expert_sync.reset();
}

void state_precision(const Run& run, const Job& job, Plan& plan) {
  if (const Recipe* recipe = find_recipe(run.stack, plan)) plan.precision = recipe->name;
  plan.grad_dtype = job.choices.grad_dtype;
  plan.reduce_dtype = job.choices.reduce_dtype;
  plan.master_weights = job.choices.master_weights;
  const RecipeFormats& formats = job.choices.low.formats;
  const bool narrow = job.choices.low.is_narrow();
  plan.fp8_params.reset(), plan.bf16_layers.reset(), plan.fp8_attention.reset(), plan.fp8_head.reset();
  if (!narrow) return;
  plan.fp8_params = formats.params;
  plan.fp8_attention = formats.attention;
  plan.fp8_head = formats.head;
  if (formats.bf16_layers.any()) plan.bf16_layers = formats.bf16_layers;
}

}  // namespace

Plan stated_plan(const Run& run) {
  const Job job = job_of(run);
  const Choices& c = job.choices;
  Plan plan = run.plan;
  plan.cp_type.reset();
  if (plan.cp > 1) plan.cp_type = c.context.type;
  plan.sp = c.sp;
  plan.attention = c.attention;
  plan.loss = c.loss.kind;
  plan.loss_fusion = c.loss.fused;
  plan.sp_gather_again.reset(), plan.tp_overlap.reset();
  if (c.sp) plan.sp_gather_again = c.sp_gather_again, plan.tp_overlap = c.tp_overlap;
  plan.overlap_grad_reduce.reset(), plan.overlap_param_gather.reset();
  if (job.mesh.data_ranks() > 1) plan.overlap_grad_reduce = c.overlap_grad_reduce;
  if (c.sharding.gathers_by_step) plan.overlap_param_gather = c.overlap_param_gather;
  plan.partition_activations.reset();
  if (job.partitions_activations()) plan.partition_activations = true;
  plan.cuda_graph = c.graphs.scope;
  if (plan.shard == job.mesh.data_ranks()) plan.shard = 0;
  state_experts(run, job, plan);
  state_precision(run, job, plan);
  return plan;
}

// The plan with every choice left to the stack that can be.
static Plan left_to_the_stack(Plan plan) {
  const Plan none;
  plan.cp_type = none.cp_type, plan.attention = none.attention, plan.attention_kernel = none.attention_kernel;
  plan.expert_products = none.expert_products, plan.grad_dtype = none.grad_dtype,
  plan.reduce_dtype = none.reduce_dtype;
  plan.loss = none.loss, plan.master_weights = none.master_weights,
  plan.sp_gather_again = none.sp_gather_again;
  plan.tp_overlap = none.tp_overlap, plan.overlap_grad_reduce = none.overlap_grad_reduce;
  plan.overlap_param_gather = none.overlap_param_gather, plan.dispatcher = none.dispatcher;
  plan.dispatch_dtype = none.dispatch_dtype, plan.expert_sync = none.expert_sync,
  plan.loss_fusion = none.loss_fusion;
  plan.permute_fusion = none.permute_fusion, plan.router_fusion = none.router_fusion;
  plan.overlap_shared = none.overlap_shared, plan.cuda_graph = none.cuda_graph;
  plan.fp8_params = none.fp8_params, plan.bf16_layers = none.bf16_layers;
  plan.fp8_attention = none.fp8_attention, plan.fp8_head = none.fp8_head;
  return plan;
}

LaunchRun launch_run_of(const Run& run) {
  LaunchRun out;
  out.model = run.model;
  out.model.dropout = dropout_of(run.model, run.stack);
  out.plan = stated_plan(run);
  Run unasked = run;
  unasked.plan = left_to_the_stack(run.plan);
  out.own = stated_plan(unasked);
  const Pipeline pipeline = pipeline_of(run.plan);
  out.schedule = pipeline.schedule;
  out.layers = layers_by_chunk(run.model, run.stack.pipeline.split, pipeline, run.plan.layers_per_stage);
  out.replicas = mesh_of(run.plan).replicas();
  out.gpus = run.gpus;
  out.gpus_per_node = run.cluster.gpus_per_node;
  out.seq = run.seq;
  out.global_batch = run.global_batch;
  out.stack = run.stack.name;
  if (run.documents.stated()) out.documents = to_text(run.documents);
  out.one_connection = !takes_any_layout(run.cluster.gpu);
  return out;
}

}  // namespace foretrain
