#include "search/dimension.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/field_mark.h"
#include "base/text.h"
#include "job/context_check.h"
#include "job/job.h"
#include "job/run_check.h"
#include "search/own_words.h"
#include "search/split_dimension.h"
#include "spec/plan_fields.h"
#include "timeline/schedule.h"

namespace foretrain {

Run run_without_plan(const Problem& problem) {
  Run run;
  run.model = problem.model;
  run.cluster = problem.cluster;
  run.stack = problem.stack;
  run.seq = problem.seq;
  run.global_batch = problem.global_batch;
  run.documents = problem.documents;
  run.pauses = problem.pauses;
  return run;
}

namespace {

using Values = std::vector<Value>;
using std::int64_t;

void divisors(int64_t n, Values& out) {
  const std::size_t start = out.size();
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    out.push_back(d);
    if (d != n / d) out.push_back(n / d);
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(start), out.end());
}

int64_t micro_batches(const Problem& problem, const Candidate& c) {
  return micro_batches_of(c.plan, problem.global_batch);
}

void gpus_values(const Problem& problem, const Candidate&, Values& out) { out = problem.gpus; }

void tp_values(const Problem& problem, const Candidate& c, Values& out) {
  divisors(c.gpus, out);
  std::erase_if(out, [&](Value tp) {
    return std::any_of(problem.model.blocks.begin(), problem.model.blocks.end(),
                       [tp](const BlockRun& run) { return tensor_refusal(run.block, tp).has_value(); });
  });
}

void pp_values(const Problem& problem, const Candidate& c, Values& out) {
  divisors(c.gpus / c.plan.tp, out);
  std::erase_if(out, [&](Value pp) { return pp > problem.model.layers() + kStagesBesidesLayers; });
}

// Of the ranks of a stage, laid out on their own: divisors of every block's experts.
void ep_values(const Problem& problem, const Candidate& c, Values& out) {
  int64_t experts = 0;
  for (const BlockRun& run : problem.model.blocks)
    experts = std::gcd(experts, run.block.feed_forward.experts);
  if (experts == 0) {
    out.push_back(1);
    return;
  }
  divisors(std::gcd(experts, mesh_of(c.plan).stage_ranks()), out);
}

bool etp_divides(const Problem& problem, const Candidate& c, int64_t etp) {
  return mesh_of(c.plan).stage_ranks() / c.plan.ep % etp == 0 &&
         std::all_of(problem.model.blocks.begin(), problem.model.blocks.end(),
                     [&](const BlockRun& run) { return run.block.feed_forward.expert_ffn % etp == 0; });
}

// As many as tensor ranks, or one; others only where they are asked for.
void etp_values(const Problem& problem, const Candidate& c, Values& out) {
  const bool experts = has_experts(problem.model);
  if (!experts || etp_divides(problem, c, c.plan.tp)) out.push_back(kUnset);
  if (experts && c.plan.tp > 1) out.push_back(1);
}

void any_etp(const Problem& problem, const Candidate& c, Values& out) {
  if (!has_experts(problem.model)) return etp_values(problem, c, out);
  divisors(mesh_of(c.plan).stage_ranks() / c.plan.ep, out);
  std::erase_if(out, [&](Value etp) { return !etp_divides(problem, c, etp); });
}

void dispatcher_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(kUnset);
  if (!has_experts(problem.model) || c.plan.ep == 1) return;
  for (Value k = 0; k < kDispatcherCount; ++k)
    if (has_dispatcher(problem.stack, static_cast<Dispatcher>(k))) out.push_back(k);
}

void hidden_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(0);
  const bool several = c.plan.pp == 1 || pipeline_of(c.plan).chunks_per_stage > 1;
  if (c.plan.ep > 1 && micro_batches(problem, c) > 1 && several) out.push_back(1);
}

void beside_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(kUnset);
  if (has_experts(problem.model) && c.plan.ep > 1) out.insert(out.end(), {0, 1});
}

// Equal shares of every sequence.
void cp_values(const Problem& problem, const Candidate& c, Values& out) {
  if (problem.stack.context_parallel.types.empty()) {
    out.push_back(1);
    return;
  }
  divisors(std::gcd(c.gpus / (c.plan.tp * c.plan.pp), problem.seq), out);
}

// Of a power of two, the next smaller one: it divides what most lengths are.
Value most_cp(const Problem& problem) {
  if (problem.stack.context_parallel.types.empty()) return 1;
  Value most = 1;
  while (problem.seq / (2 * most) >= kFewestTokens) most *= 2;
  return most;
}

std::string why_not_more_cp(const Problem& problem) {
  if (problem.stack.context_parallel.types.empty())
    return fmt::format("stack {} has no context parallelism", problem.stack.name);
  return fmt::format("a rank would have fewer than {} tokens of a sequence; {} cp=1..{} brings it in",
                     with_commas(kFewestTokens), marked("range"), problem.gpus.back());
}

// The stack's own first.
void cp_type_values(const Problem& problem, const Candidate& c, Values& out) {
  const Stack::ContextParallel& has = problem.stack.context_parallel;
  if (c.plan.cp == 1) {
    out.push_back(kUnset);
    return;
  }
  if (has.types.has(has.type)) out.push_back(static_cast<Value>(has.type));
  for (Value k = 0; k < kCpTypeCount; ++k)
    if (const auto type = static_cast<CpType>(k); type != has.type && has.types.has(type)) out.push_back(k);
}

void cp_a2a_values(const Problem& problem, const Candidate& c, Values& out) {
  if (c.plan.cp_type != CpType::kHierarchical) {
    out.push_back(0);
    return;
  }
  // All-to-alls stay inside an NVLink domain, as large as they can be: that is what the hierarchy is for.
  const Cluster& cluster = problem.cluster;
  const int64_t domain = std::max(cluster.nvlink_domain, cluster.gpus_per_node);
  if (c.plan.tp * c.plan.cp <= domain) return;
  divisors(c.plan.cp, out);
  std::erase_if(out, [&](Value ranks) {
    return ranks == 1 || ranks == c.plan.cp || domain % (c.plan.tp * ranks) != 0 ||
           std::any_of(problem.model.blocks.begin(), problem.model.blocks.end(), [&](const BlockRun& run) {
             return a2a_refusal(run.block.attention, c.plan.tp, ranks,
                                problem.stack.context_parallel.copies_kv)
                 .has_value();
           });
  });
  if (out.size() > 1) out.erase(out.begin(), out.end() - 1);
}

void dp_values(const Problem&, const Candidate& c, Values& out) {
  out.push_back(c.gpus / (c.plan.tp * c.plan.pp * c.plan.cp));
}

void micro_batch_values(const Problem& problem, const Candidate& c, Values& out) {
  if (problem.global_batch % c.plan.dp == 0) divisors(problem.global_batch / c.plan.dp, out);
}

int64_t most_chunks(const Problem& problem, const Candidate& c) {
  return (problem.model.layers() + kStagesBesidesLayers) / c.plan.pp;
}

void schedule_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(static_cast<Value>(ScheduleKind::k1f1b));
  if (c.plan.pp == 1) return;
  for (int k = 0; k < kScheduleCount; ++k) {
    const auto kind = static_cast<ScheduleKind>(k);
    const int64_t vpp = kind == ScheduleKind::kInterleaved ? 2 : 1;
    if (kind == ScheduleKind::k1f1b || refusal(kind, c.plan.pp, vpp, micro_batches(problem, c))) continue;
    const int64_t chunks = runs_both_ways(kind) ? 1 : chunks_per_rank(kind, vpp);
    if (chunks <= most_chunks(problem, c)) out.push_back(k);
  }
}

// One chunk is 1f1b, which is there already. Chunks of equal size: divisors of a stage's layers, with or
// without embedding and head counted as layers (as in a model of 126 layers on 16 stages).
void vpp_values(const Problem& problem, const Candidate& c, Values& out) {
  if (c.plan.schedule != ScheduleKind::kInterleaved) {
    out.push_back(1);
    return;
  }
  const int64_t layers = problem.model.layers(), pp = c.plan.pp;
  const auto divides = [pp](int64_t all, Value vpp) { return (all + pp - 1) / pp % vpp == 0; };
  for (Value vpp = 2; vpp <= most_chunks(problem, c); ++vpp)
    if (divides(layers, vpp) || divides(layers + kStagesBesidesLayers, vpp)) out.push_back(vpp);
}

void sp_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(0);
  if (c.plan.tp > 1 && problem.seq / c.plan.cp % c.plan.tp == 0) out.push_back(1);
}

bool is_alone(const Candidate& c) {
  const Mesh mesh = mesh_of(c.plan);
  return mesh.data_ranks() == 1 && mesh.data_ranks(WeightClass::kExperts) == 1;
}

void zero_values(const Problem&, const Candidate& c, Values& out) {
  out.push_back(0);
  if (!is_alone(c)) out.insert(out.end(), {1, 2, 3});
}

// 0: all data parallel ranks; a group of one would shard nothing.
void shard_values(const Problem&, const Candidate& c, Values& out) {
  const int64_t ranks = mesh_of(c.plan).data_ranks();
  if (c.plan.zero > 0) divisors(ranks, out);
  std::erase_if(out, [&](Value shard) { return shard == 1 || shard == ranks; });
  out.insert(out.begin(), 0);
}

void recompute_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(static_cast<Value>(Recompute::kNone));
  if (repeats_selectively(problem.model, problem.stack, c.plan))  // otherwise it is the same as none
    out.push_back(static_cast<Value>(Recompute::kSelective));
  out.push_back(static_cast<Value>(Recompute::kFull));
}

// Of full recomputation, the first so many layers of each chunk; 0: all of them.
void recompute_layers_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(0);
  if (c.plan.recompute != Recompute::kFull) return;
  const int64_t chunks = pipeline_of(c.plan).model_chunks(),
                most = (problem.model.layers() + chunks - 1) / chunks;
  for (Value n = 1; n < most; ++n) out.push_back(n);
}

// Checkpoints that sp does not split already.
void partition_values(const Problem&, const Candidate& c, Values& out) {
  out.push_back(kUnset);
  if (c.plan.recompute == Recompute::kFull && c.plan.tp > 1 && !c.plan.sp) out.push_back(1);
}

void attention_values(const Problem& problem, const Candidate&, Values& out) {
  out.push_back(kUnset);
  for (Value k = 0; k < static_cast<Value>(kAttentionNames.size()); ++k)
    if (!problem.stack.parts.attention[static_cast<std::size_t>(k)].empty()) out.push_back(k);
}

void optimizer_values(const Problem&, const Candidate&, Values& out) {
  for (Value k = 0; k < static_cast<Value>(kOptimizerNames.size()); ++k) out.push_back(k);
}

// What the stack offers; a fused kernel takes whole rows of logits.
void loss_values(const Problem& problem, const Candidate& c, Values& out) {
  out.push_back(kUnset);
  for (Value k = 0; k < static_cast<Value>(kLossNames.size()); ++k) {
    const auto kind = static_cast<LossKind>(k);
    if (offers(problem.stack, kind) && (kind != LossKind::kFused || c.plan.tp == 1)) out.push_back(k);
  }
}

void mlp_chunks_values(const Problem&, const Candidate&, Values& out) {
  for (Value pieces = 1; pieces <= 256; ++pieces) out.push_back(pieces);
}

void offload_values(const Problem&, const Candidate&, Values& out) { out.insert(out.end(), {0, 1}); }

void flag_values(const Problem&, const Candidate&, Values& out) { out.insert(out.end(), {kUnset, 0, 1}); }

void gather_again_values(const Problem& problem, const Candidate& c, Values& out) {
  if (c.plan.sp)
    flag_values(problem, c, out);
  else
    out.push_back(kUnset);
}

template <auto kMember>
void dtype_values(const Problem&, const Candidate&, Values& out) {
  out.push_back(kUnset);
  for (Value k = 0; k < kDtypeCount; ++k) {
    Plan plan;
    plan.*kMember = static_cast<Dtype>(k);
    if (!not_modelled(plan)) out.push_back(k);
  }
}

// Under ZeRO 2 and 3 it says whether scatters stop compute.
void overlap_reduce_values(const Problem&, const Candidate& c, Values& out) {
  if (is_alone(c))
    out.push_back(kUnset);
  else
    out.insert(out.end(), {0, 1});
}

void overlap_gather_values(const Problem& problem, const Candidate& c, Values& out) {
  if (!sharding_of(problem.stack, c.plan).gathers_by_step || problem.stack.data_parallel.bucket_elements == 0)
    out.push_back(kUnset);
  else
    out.insert(out.end(), {0, 1});
}

template <auto kMember>
void put_number(const Problem&, Candidate& c, Value value) {
  c.plan.*kMember = static_cast<std::remove_reference_t<decltype(c.plan.*kMember)>>(value);
}
template <auto kMember>
Value get_number(const Problem&, const Candidate& c) {
  return static_cast<Value>(c.plan.*kMember);
}
template <auto kMember>
void put_open(const Problem&, Candidate& c, Value value) {
  using Kept = typename std::remove_reference_t<decltype(c.plan.*kMember)>::value_type;
  c.plan.*kMember = value == kUnset ? std::nullopt : std::optional<Kept>(static_cast<Kept>(value));
}
template <auto kMember>
Value get_open(const Problem&, const Candidate& c) {
  return c.plan.*kMember ? static_cast<Value>(*(c.plan.*kMember)) : kUnset;
}

constexpr std::array<std::string_view, 2> kFlags = {"0", "1"};

constexpr std::span<const std::string_view> words_of(const WholeNumber&) { return {}; }
constexpr std::span<const std::string_view> words_of(const Flag&) { return kFlags; }
constexpr std::span<const std::string_view> words_of(const OneOf& kind) { return kind.names; }

// A key of the plan with one value, and one that the plan may leave open.
template <auto kMember>
constexpr Dimension number(decltype(Dimension::values) values, Scope scope = Scope::kSearched) {
  const auto& f = plan_field<kMember>;
  return {f.key, words_of(f.kind), scope, false, values, put_number<kMember>, get_number<kMember>};
}
template <auto kMember>
constexpr Dimension open(decltype(Dimension::values) values, Scope scope = Scope::kSearched,
                         bool inner = false) {
  const auto& f = plan_field<kMember>;
  return {f.key, words_of(f.kind), scope, inner, values, put_open<kMember>, get_open<kMember>};
}

template <auto kMember>
constexpr Dimension up_to(decltype(Dimension::values) values, decltype(Dimension::most) most,
                          decltype(Dimension::why_not_more) why) {
  Dimension dimension = number<kMember>(values);
  dimension.most = most;
  dimension.why_not_more = why;
  return dimension;
}

constexpr Dimension asked_for(Dimension dimension, decltype(Dimension::values) asked) {
  dimension.asked = asked;
  return dimension;
}

constexpr Dimension inside(Dimension dimension) {
  dimension.inner = true;
  return dimension;
}

const std::array kDimensions = {
    Dimension{"gpus",
              {},
              Scope::kSearched,
              false,
              gpus_values,
              [](const Problem&, Candidate& c, Value value) { c.gpus = value; },
              [](const Problem&, const Candidate& c) { return c.gpus; }},
    number<&Plan::tp>(tp_values),
    number<&Plan::pp>(pp_values),
    up_to<&Plan::cp>(cp_values, most_cp, why_not_more_cp),
    open<&Plan::cp_type>(cp_type_values),
    number<&Plan::cp_a2a>(cp_a2a_values),
    number<&Plan::dp>(dp_values),
    number<&Plan::ep>(ep_values),
    asked_for(open<&Plan::etp>(etp_values), any_etp),
    number<&Plan::micro_batch>(micro_batch_values),
    number<&Plan::schedule>(schedule_values),
    number<&Plan::vpp>(vpp_values),
    number<&Plan::sp>(sp_values),
    number<&Plan::zero>(zero_values),
    number<&Plan::shard>(shard_values),
    open<&Plan::dispatcher>(dispatcher_values, Scope::kAllowed),
    number<&Plan::overlap_dispatch>(hidden_values, Scope::kAllowed),
    open<&Plan::overlap_shared>(beside_values, Scope::kAllowed),
    precision_dimension(),
    graph_dimension(),
    open<&Plan::attention>(attention_values, Scope::kAllowed),
    open<&Plan::grad_dtype>(dtype_values<&Plan::grad_dtype>, Scope::kAllowed),
    open<&Plan::reduce_dtype>(dtype_values<&Plan::reduce_dtype>, Scope::kAllowed),
    number<&Plan::optimizer>(optimizer_values, Scope::kAllowed),
    open<&Plan::master_weights>(flag_values, Scope::kAllowed),
    open<&Plan::sp_gather_again>(gather_again_values, Scope::kAllowed),
    open<&Plan::loss>(loss_values, Scope::kAllowed),
    number<&Plan::mlp_chunks>(mlp_chunks_values, Scope::kAllowed),
    number<&Plan::offload>(offload_values, Scope::kAllowed),
    number<&Plan::recompute>(recompute_values),
    inside(number<&Plan::recompute_layers>(recompute_layers_values)),
    open<&Plan::partition_activations>(partition_values, Scope::kSearched, true),
    split_dimension(),
    open<&Plan::overlap_grad_reduce>(overlap_reduce_values, Scope::kSearched, true),
    open<&Plan::overlap_param_gather>(overlap_gather_values, Scope::kSearched, true),
};

}  // namespace

std::span<const Dimension> dimensions() { return kDimensions; }

std::size_t outer_count() {
  static const auto count = static_cast<std::size_t>(
      std::find_if(kDimensions.begin(), kDimensions.end(), [](const Dimension& d) { return d.inner; }) -
      kDimensions.begin());
  return count;
}

const Dimension* find_dimension(std::string_view name) {
  const auto found = std::find_if(kDimensions.begin(), kDimensions.end(),
                                  [name](const Dimension& d) { return d.name == name; });
  return found == kDimensions.end() ? nullptr : &*found;
}

std::string word_of(const Dimension& dimension, const Problem& problem, const Candidate& candidate) {
  if (dimension.text != nullptr) return dimension.text(candidate);
  const Value value = dimension.get(problem, candidate);
  if (value == kUnset) return "unset";
  if (!dimension.words.empty()) return std::string(dimension.words[static_cast<std::size_t>(value)]);
  return std::to_string(value);
}

}  // namespace foretrain
