#include "job/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "job/alignment_check.h"
#include "job/choice_check.h"
#include "job/context_check.h"
#include "job/expert_check.h"
#include "job/fine_tuning.h"
#include "job/graph_check.h"
#include "job/job.h"
#include "job/launch_check.h"
#include "job/length_check.h"
#include "job/precision.h"

namespace foretrain {

namespace {

constexpr std::int64_t kMaxTokens = 1'000'000'000'000;       // a step
constexpr double kMaxTensorBytes = 9'007'199'254'740'992.0;  // 2^53: a tensor's bytes stay countable
constexpr std::int64_t kMaxPasses = 10'000'000;              // a step, each simulated: some 10 ms

Result<void> check_degrees(Run& run) {
  Plan& plan = run.plan;
  const std::int64_t replica = plan.tp * plan.pp * plan.cp;
  if (run.gpus % replica != 0)
    return fail(fmt::format("gpus {} is not a multiple of tp*pp*cp = {}", run.gpus, replica));
  const std::int64_t dp = run.gpus / replica;
  if (plan.dp != 0 && plan.dp != dp)
    return fail(
        fmt::format("dp {} is stated, but gpus/(tp*pp*cp) = {}/{} = {}", plan.dp, run.gpus, replica, dp));
  plan.dp = dp;
  if (plan.shard > 0 && plan.zero == 0) return fail("shard needs zero 1, 2 or 3");
  if (const std::int64_t ranks = mesh_of(plan).data_ranks(); plan.shard > 0 && ranks % plan.shard != 0)
    return fail(fmt::format("shard {} does not divide dp*cp = {}", plan.shard, ranks));
  const std::int64_t share = plan.dp * plan.micro_batch;
  if (run.global_batch % share != 0)
    return fail(fmt::format("global_batch {} is not a multiple of dp*micro_batch = {}*{} = {}",
                            run.global_batch, plan.dp, plan.micro_batch, share));
  return {};
}

Result<void> check_tensor_parallel(const Run& run) {
  const Plan& plan = run.plan;
  for (const BlockRun& blocks : run.model.blocks) {
    if (const auto reason = tensor_refusal(blocks.block, plan.tp)) return fail(*reason);
    if (blocks.block.feed_forward.has_experts() && plan.tp > 1 && !plan.sp)
      return fail("experts with tp > 1 need sp");
  }
  if (!plan.sp) return {};
  if (plan.tp == 1) return fail("sp needs tp > 1");
  if (run.seq % plan.tp != 0)
    return fail(fmt::format("tp {} does not divide seq {}, which sp needs", plan.tp, run.seq));
  if (run.seq / plan.cp % plan.tp != 0)
    return fail(
        fmt::format("tp {} does not divide seq/cp = {}/{}, which sp needs", plan.tp, run.seq, plan.cp));
  return {};
}

Result<void> check_stages(const Run& run) {
  const Plan& plan = run.plan;
  const std::int64_t layers = run.model.layers();
  const Pipeline pipeline = pipeline_of(plan);
  const std::int64_t chunks = pipeline.model_chunks();
  if (chunks > layers + kStagesBesidesLayers) {
    if (chunks == plan.pp)
      return fail(fmt::format("pp {} is more than layers {} with embedding and head", plan.pp, layers));
    return fail(fmt::format("pp {} with {} chunks a stage is more than layers {} with embedding and head",
                            plan.pp, pipeline.chunks_per_stage, layers));
  }
  if (const auto reason = refusal(pipeline.schedule, plan.pp, plan.vpp, run.micro_batches()))
    return fail(*reason);
  const auto& stages = plan.layers_per_stage;
  if (stages.empty()) return {};
  const auto entries = static_cast<std::int64_t>(stages.size());
  if (entries != plan.pp && entries != chunks) {
    const std::string by_chunk =
        chunks == plan.pp ? "" : fmt::format(", in {} chunks a stage {}", pipeline.chunks_per_stage, chunks);
    return fail(fmt::format("layers_per_stage has {} entries, but pp is {}{}", entries, plan.pp, by_chunk));
  }
  if (std::any_of(stages.begin(), stages.end(), [](std::int64_t count) { return count < 0; }))
    return fail("layers_per_stage has a negative entry");
  const std::int64_t sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
  if (sum != layers)
    return fail(fmt::format("layers_per_stage sums to {}, but the model has {} layers", sum, layers));
  return {};
}

Result<void> check_cluster(const Run& run) {
  const Cluster& cluster = run.cluster;
  if (run.gpus > cluster.gpus_per_node && run.gpus % cluster.gpus_per_node != 0)
    return fail(fmt::format("gpus {} is more than one node, but not a multiple of gpus_per_node {}", run.gpus,
                            cluster.gpus_per_node));
  if (run.gpus > cluster.nvlink_domain && cluster.inter.bandwidth == BytesPerSecond())
    return fail(fmt::format("gpus {} is more than {}, and cluster {} states no 'inter' links", run.gpus,
                            cluster.nvlink_domain, quoted(cluster.name)));
  return {};
}

Result<void> check_stack(const Run& run) {
  const Model& model = run.model;
  const Stack& stack = run.stack;
  const auto need = [&stack](const Part& part, std::string_view kind,
                             std::string_view variant) -> Result<void> {
    if (!part.empty()) return {};
    return fail(fmt::format("stack {} has no part {}{}{}", quoted(stack.name), kind,
                            variant.empty() ? "" : ".", variant));
  };
  const auto need_variant = [&need](std::span<const Part> parts, std::string_view kind,
                                    std::span<const std::string_view> names, auto choice) {
    const auto i = static_cast<std::size_t>(choice);
    return need(parts[i], kind, names[i]);
  };
  TRY(need_variant(stack.parts.norm, "norm", kNormNames, model.norm));
  TRY(need_variant(stack.parts.attention, "attention", kAttentionNames, attention_of(stack, run.plan)));
  TRY(need_variant(stack.parts.residual, "residual", kResidualNames, model.residual));
  for (const BlockRun& blocks : model.blocks) {
    const FeedForward& f = blocks.block.feed_forward;
    if (!f.has_experts() || f.shared_ffn > 0) TRY(need_variant(stack.parts.mlp, "mlp", kMlpNames, f.mlp));
    if (f.has_experts()) {
      const bool loop = run.plan.expert_products == ExpertProducts::kLoop;
      TRY(loop ? need_variant(stack.parts.experts_loop, "experts_loop", kMlpNames, f.mlp)
               : need_variant(stack.parts.experts, "experts", kMlpNames, f.mlp));
      TRY(need(stack.parts.router, "router", ""));
      const Dispatcher dispatcher = choices_of(model, stack, run.plan).experts.dispatcher;
      if (!has_dispatcher(stack, dispatcher))
        return fail(fmt::format("stack {} has no parts for dispatcher {}", quoted(stack.name),
                                kDispatcherNames[static_cast<std::size_t>(dispatcher)]));
    }
    if (blocks.block.attention.is_latent()) {
      TRY(need(stack.parts.latent_down, "latent_down", ""));
      TRY(need(stack.parts.latent_up, "latent_up", ""));
    } else if (model.positions == Positions::kRope) {
      TRY(need(stack.parts.rope, "rope", ""));
    }
  }
  return {};
}

Result<void> check_positions(const Run& run) {
  const Model& model = run.model;
  if (model.positions == Positions::kLearned && run.seq > model.max_positions)
    return fail(
        fmt::format("seq {} is beyond the model's {} learned positions", run.seq, model.max_positions));
  return {};
}

// Sizes that later arithmetic relies on; each field alone is bounded where it is read.
Result<void> check_sizes(const Run& run) {
  if (run.global_batch > kMaxTokens / run.seq)
    return fail(
        fmt::format("global_batch {} * seq {} is more than 10^12 tokens a step", run.global_batch, run.seq));
  const std::int64_t chunks = pipeline_of(run.plan).chunks_per_stage;
  if (run.micro_batches() > kMaxPasses / (run.plan.pp * chunks))
    return fail(fmt::format("{} micro-batches a step * pp {}{} is more than 10^7; raise micro_batch or dp",
                            run.micro_batches(), run.plan.pp,
                            chunks > 1 ? fmt::format(" * {} chunks", chunks) : ""));
  const double tokens = static_cast<double>(run.plan.micro_batch) * static_cast<double>(run.seq);
  std::int64_t width = std::max(run.model.vocab, run.model.hidden);
  for (const BlockRun& blocks : run.model.blocks) {
    const FeedForward& f = blocks.block.feed_forward;
    width = std::max({width, 2 * f.ffn, 2 * f.shared_ffn, 2 * f.expert_ffn * f.top_k,
                      3 * blocks.block.attention.q_width(), blocks.block.attention.heads * run.seq});
  }
  if (tokens * static_cast<double>(width) * bytes_of(Dtype::kFp32) > kMaxTensorBytes)
    return fail(fmt::format("micro_batch {} * seq {} makes a tensor of more than 2^53 bytes",
                            run.plan.micro_batch, run.seq));
  return {};
}

// What the prediction leaves out or rests on though nobody stated it. A run checked twice says it once.
void add_assumptions(Run& run) {
  const auto assume = [&run](std::string line) {
    if (std::find(run.assumed.begin(), run.assumed.end(), line) == run.assumed.end())
      run.assumed.push_back(std::move(line));
  };
  const Stack& stack = run.stack;
  if (run.gpus > run.cluster.nvlink_domain && run.cluster.inter.assumed)
    assume(fmt::format("inter-node links of {}: assumed", run.cluster.name));
  if (run.plan.recompute == Recompute::kSelective && !repeats_selectively(run.model, run.stack, run.plan)) {
    const auto attention = static_cast<std::size_t>(attention_of(stack, run.plan));
    assume(fmt::format("recompute=selective repeats nothing with {} attention", kAttentionNames[attention]));
  }
  const bool sinks = std::any_of(run.model.blocks.begin(), run.model.blocks.end(),
                                 [](const BlockRun& blocks) { return blocks.block.attention.sinks; });
  if (sinks) assume("sinks of attention: not timed");
  if (mtp_layers_of(run.model, stack) < run.model.mtp_layers)
    assume(fmt::format("multi-token prediction left out: stack {} has none", stack.name));
  for (std::string& line : assumed_of_documents(run)) assume(std::move(line));
  if (leaves_dropout_out(run.model, stack))
    assume(fmt::format("dropout left out: stack {} has none", stack.name));
}

}  // namespace

std::optional<std::string> tensor_refusal(const Block& block, std::int64_t tp) {
  const Attention& a = block.attention;
  const FeedForward& f = block.feed_forward;
  const auto undivided = [tp](std::string_view what, std::int64_t width) {
    return fmt::format("tp {} does not divide {} {}", tp, what, width);
  };
  if (a.heads % tp != 0) return undivided("heads", a.heads);
  if (a.kv_heads % tp != 0 && tp % a.kv_heads != 0)
    return fmt::format("tp {} neither divides kv_heads {} nor is a multiple of it", tp, a.kv_heads);
  if (f.ffn % tp != 0) return undivided("ffn", f.ffn);
  if (f.shared_ffn % tp != 0) return undivided("shared_ffn", f.shared_ffn);
  return std::nullopt;
}

std::optional<std::string> not_modelled(const Plan& plan) {
  const auto summable = [](Dtype dtype) { return is_half(dtype) || dtype == Dtype::kFp32; };
  if (plan.grad_dtype && !summable(*plan.grad_dtype))
    return fmt::format("grad_dtype {}", name(*plan.grad_dtype));
  if (plan.reduce_dtype && !summable(*plan.reduce_dtype))
    return fmt::format("reduce_dtype {}", name(*plan.reduce_dtype));
  return std::nullopt;
}

Result<void> check_run(Run& run) {
  const Plan& plan = run.plan;
  CHECK_THAT(run.gpus > 0 && run.seq > 0 && run.global_batch > 0);
  CHECK_THAT(plan.tp > 0 && plan.pp > 0 && plan.cp > 0 && plan.dp >= 0 && plan.micro_batch > 0);
  if (const auto reason = not_modelled(plan)) return fail("not modelled yet: " + *reason);
  TRY(check_cluster(run));
  TRY(check_precision(run));
  TRY(check_degrees(run));
  TRY(check_choices(run));
  if (const auto reason = context_refusal(run)) return fail(*reason);
  TRY(check_pieces(run));
  TRY(check_documents(run));
  TRY(check_fine_tuning(run));
  TRY(check_experts(run));
  if (const auto reason = graph_refusal(run)) return fail(*reason);
  TRY(check_tensor_parallel(run));
  TRY(check_stages(run));
  if (const auto reason = alignment_refusal(run)) return fail(*reason);
  TRY(check_stack(run));
  TRY(check_positions(run));
  TRY(check_sizes(run));
  if (auto reason = launch_refusal(run)) return fail(*std::move(reason));
  add_assumptions(run);
  return {};
}

}  // namespace foretrain
