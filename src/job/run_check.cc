#include "job/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "job/alignment_check.h"
#include "job/context_check.h"
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

// What a module is made of, where no block of the model has it; empty: one has.
std::string_view lacks(const Model& model, RecomputeModule module) {
  const auto any = [&model](auto has) {
    return std::any_of(model.blocks.begin(), model.blocks.end(),
                       [&](const BlockRun& run) { return has(run.block); });
  };
  switch (module) {
    case RecomputeModule::kMoeActivation:
    case RecomputeModule::kMoe:
      return has_experts(model) ? "" : "experts";
    case RecomputeModule::kSharedExperts:
      return any([](const Block& b) { return b.feed_forward.shared_ffn > 0; }) ? "" : "shared experts";
    case RecomputeModule::kLatentUp:
      return any([](const Block& b) { return b.attention.is_latent(); }) ? "" : "latent attention";
    case RecomputeModule::kMlp:
      return any([](const Block& b) { return !b.feed_forward.has_experts(); }) ? "" : "a dense MLP";
    case RecomputeModule::kCoreAttention:
    case RecomputeModule::kLayernorm:
      break;
  }
  return "";
}

// Kernels of attention that were written for one architecture: FlashAttention 3 for wgmma and TMA of compute capability
// 9.0 (Shah et al. 2024, arXiv 2407.08608), cuDNN's for NVIDIA's parts, its fp8 for Hopper and later.
Result<void> check_attention_kernel(const Run& run) {
  const Gpu& gpu = run.cluster.gpu;
  const auto kernel = run.plan.attention_kernel;
  const auto is = [&gpu] { return fmt::format("{} ({})", quoted(gpu.name), name(gpu.architecture)); };
  if (kernel == AttentionKernel::kFlash3 && gpu.architecture != Architecture::kHopper)
    return fail(fmt::format("attention_kernel flash3 needs a Hopper GPU, which {} is not, expected flash2{}",
                            is(), is_nvidia(gpu.architecture) ? " or cudnn" : ""));
  if (kernel == AttentionKernel::kCudnn && !is_nvidia(gpu.architecture))
    return fail(fmt::format(
        "attention_kernel cudnn needs a GPU of NVIDIA's, which {} is not, expected flash2", is()));
  if (!low_precision_of(run.stack, run.plan).formats.attention) return {};
  if (kernel == AttentionKernel::kFlash2)
    return fail("fp8_attention: FlashAttention 2 has no fp8, expected attention_kernel cudnn or flash3");
  if (gpu.architecture < Architecture::kHopper)
    return fail(
        fmt::format("fp8_attention needs a Hopper GPU or a later one, which {} is not, expected "
                    "fp8_attention=0",
                    is()));
  return {};
}

// A stack that launches the same either way says so by having no operators for it.
Result<void> check_fusion(const Stack& stack, std::string_view key, std::optional<bool> fused,
                          const std::array<Condition, 2>& when) {
  if (!fused || has_condition(stack, when[*fused ? 1 : 0])) return {};
  return fail(fmt::format("{}={}: stack {} does not say what it launches then", key, *fused ? 1 : 0,
                          quoted(stack.name)));
}

// Megatron Core stores the input of SwiGLU alone so (transformer_config.py).
Result<void> check_activation_store(const Run& run) {
  if (!run.stack.low_precision.offers_activation_store)
    return fail(fmt::format("fp8_activation_store: stack {} keeps what activations read as it is",
                            quoted(run.stack.name)));
  for (const BlockRun& blocks : run.model.blocks)
    if (blocks.block.feed_forward.mlp != MlpKind::kSwiglu)
      return fail(fmt::format("fp8_activation_store needs an mlp of swiglu, and model {} has {}",
                              quoted(run.model.name),
                              kMlpNames[static_cast<std::size_t>(blocks.block.feed_forward.mlp)]));
  return {};
}

// What the model does not time is said.
Result<void> check_choices(Run& run) {
  const Plan& plan = run.plan;
  if (plan.recompute_layers > 0 && plan.recompute != Recompute::kFull)
    return fail("recompute_layers needs recompute=full");
  if (!plan.recompute_modules.empty() && plan.recompute != Recompute::kSelective)
    return fail("recompute_modules needs recompute=selective");
  for (std::size_t i = 0; i < kRecomputeModuleNames.size(); ++i)
    if (const auto module = static_cast<RecomputeModule>(i); plan.recompute_modules.has(module))
      if (const auto lacking = lacks(run.model, module); !lacking.empty())
        return fail(fmt::format("recompute_modules {} needs {}, and model {} has none",
                                kRecomputeModuleNames[i], lacking, quoted(run.model.name)));
  if (plan.attention_kernel && attention_of(run.stack, plan) != AttentionKind::kFlash)
    return fail("attention_kernel needs attention flash");
  TRY(check_attention_kernel(run));
  TRY(check_fusion(run.stack, "loss_fusion", plan.loss_fusion,
                   {Condition::kLossEager, Condition::kLossFused}));
  if (plan.fp8_activation_store) TRY(check_activation_store(run));
  return {};
}

// Of one block with experts: why they cannot be divided so.
std::optional<std::string> expert_refusal(const FeedForward& f, const Mesh& mesh) {
  if (f.experts % mesh.ep != 0) return fmt::format("ep {} does not divide experts {}", mesh.ep, f.experts);
  if (f.expert_ffn % mesh.etp != 0)
    return fmt::format("etp {} does not divide expert_ffn {}", mesh.etp, f.expert_ffn);
  return std::nullopt;
}

// What the plan says of experts, where the model has none.
std::optional<std::string_view> said_of_experts(const Plan& plan) {
  if (plan.ep > 1) return "ep";
  if (plan.etp) return "etp";
  if (plan.dispatcher) return "dispatcher";
  if (plan.dispatch_dtype) return "dispatch_dtype";
  if (plan.capacity_factor > 0) return "capacity_factor";
  if (plan.capacity_pad) return "capacity_pad";
  if (plan.expert_imbalance) return "expert_imbalance";
  if (plan.expert_sync) return "expert_sync";
  if (plan.permute_fusion) return "permute_fusion";
  if (plan.router_fusion) return "router_fusion";
  if (plan.expert_products) return "expert_products";
  if (plan.overlap_dispatch) return "overlap_dispatch";
  if (plan.overlap_shared) return "overlap_shared";
  return std::nullopt;
}

// Work of another micro-batch runs beside tokens on their way where passes of two alternate, as in Megatron-LM
// (overlap-moe-expert-parallel-comm) and DualPipe.
Result<void> check_overlap(const Run& run) {
  const Plan& plan = run.plan;
  const Choices choices = choices_of(run.model, run.stack, plan);
  if (plan.ep == 1 || run.micro_batches() < 2)
    return fail("overlap_dispatch needs ep > 1 and two micro-batches");
  const Pipeline pipeline = pipeline_of(plan);
  if (plan.pp > 1 && pipeline.chunks_per_stage < 2)
    return fail("overlap_dispatch with pp > 1 needs several chunks a stage");
  if (plan.recompute == Recompute::kFull || choices.modules.has(RecomputeModule::kMoe))
    return fail("overlap_dispatch does not go with recomputing whole layers of experts");
  if (choices.experts.dispatcher == Dispatcher::kAllGather || choices.experts.beside)
    return fail("overlap_dispatch goes neither with dispatcher allgather nor with overlap_shared");
  return {};
}

Result<void> check_imbalance(const Plan& plan, double most) {
  if (!plan.expert_imbalance || *plan.expert_imbalance <= most) return {};
  return fail(fmt::format("expert_imbalance {} is more than {}: all tokens choose the fullest rank's experts",
                          *plan.expert_imbalance, most));
}

Result<void> check_experts(Run& run) {
  const Plan& plan = run.plan;
  const Mesh mesh = mesh_of(plan);
  TRY(check_expert_choices(run));
  if (!has_experts(run.model)) return {};
  if (mesh.stage_ranks() % mesh.expert_ranks() != 0)
    return fail(fmt::format("ep*etp = {}*{} does not divide the {} ranks of a stage, tp*cp*dp", mesh.ep,
                            mesh.etp, mesh.stage_ranks()));
  for (const BlockRun& blocks : run.model.blocks)
    if (const FeedForward& f = blocks.block.feed_forward; f.has_experts())
      if (const auto reason = expert_refusal(f, mesh)) return fail(*reason);
  if (plan.dispatch_dtype && *plan.dispatch_dtype != precision_of(run.stack, plan) &&
      *plan.dispatch_dtype != Dtype::kFp8)
    return fail(
        fmt::format("dispatch_dtype {} is neither the precision nor fp8", name(*plan.dispatch_dtype)));
  const Dispatcher dispatcher = choices_of(run.model, run.stack, plan).experts.dispatcher;
  const bool copies_once = dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
  if (plan.dispatch_dtype == Dtype::kFp8 && !copies_once)
    return fail("dispatch_dtype fp8 needs dispatcher deepep or hybridep");
  if (plan.expert_products == ExpertProducts::kLoop && mesh.expert_ranks() > 1)
    return fail("expert_products loop needs ep 1 and etp 1");
  // A rank that holds all experts has every row, however they are spread.
  if (plan.ep > 1) TRY(check_imbalance(plan, most_imbalance(run.model, plan.ep)));
  if (plan.overlap_dispatch) TRY(check_overlap(run));
  TRY(check_fusion(run.stack, "permute_fusion", plan.permute_fusion,
                   {Condition::kPermuteEager, Condition::kPermuteFused}));
  TRY(check_fusion(run.stack, "router_fusion", plan.router_fusion,
                   {Condition::kRouterEager, Condition::kRouterFused}));
  const std::string routing =
      fmt::format("expert_imbalance={}: how tokens are routed is not known", kUsualImbalance);
  const bool said = std::find(run.assumed.begin(), run.assumed.end(), routing) != run.assumed.end();
  if (plan.ep > 1 && !plan.expert_imbalance && !plan.capacity_pad && !said) run.assumed.push_back(routing);
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

Result<void> check_expert_choices(const Run& run, bool any_ep) {
  const Plan& plan = run.plan;
  if (!has_experts(run.model)) {
    if (const auto key = said_of_experts(plan))
      return fail(fmt::format("{} needs experts, and model {} has none", *key, quoted(run.model.name)));
    return {};
  }
  if (plan.capacity_pad && plan.capacity_factor == 0) return fail("capacity_pad needs capacity_factor");
  if (!any_ep) return {};
  // On as many ranks as there are experts to a token's, or more, a token's choice is spread no further.
  double most = 1;
  for (const BlockRun& blocks : run.model.blocks)
    if (const FeedForward& f = blocks.block.feed_forward; f.has_experts())
      most = std::max(most, static_cast<double>(f.experts) / static_cast<double>(f.top_k));
  return check_imbalance(plan, most);
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
