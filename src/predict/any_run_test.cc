#include "predict/any_run.h"

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "spec/catalog.h"
#include "spec/documents_text.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

struct Specs {
  std::vector<Model> models;
  std::vector<Cluster> clusters;
  std::vector<Cluster> of_fewer_bits;  // whose GPUs have such products
  std::vector<Stack> stacks;
  std::vector<Stack> of_experts;  // those that train them
};

// Layers of two kinds in turns, of which one has a narrow MLP and few heads of keys.
Model mixed(Model model) {
  Block narrow = model.blocks.front().block;
  narrow.feed_forward.ffn /= 4;
  narrow.attention.kv_heads = 8;
  const Block wide = model.blocks.front().block;
  model.name = "mixed";
  model.stated_params = 0;
  model.blocks = {{3, wide}, {2, narrow}, {4, wide}, {3, narrow}, {1, wide}};
  return model;
}

// A dense layer, then experts beside a shared one, a window in some, and a layer that predicts further.
Model mixture(Model model) {
  Block experts = model.blocks.front().block;
  experts.feed_forward = {
      .mlp = experts.feed_forward.mlp, .experts = 8, .top_k = 2, .expert_ffn = 1024, .shared_ffn = 2048};
  Block windowed = experts;
  windowed.attention.window = 256;
  model.name = "mixture";
  model.stated_params = 0;
  model.mtp_layers = 1;
  model.blocks = {{1, model.blocks.front().block}, {4, windowed}, {7, experts}};
  return model;
}

const Specs& specs() {
  static const Specs all = [] {
    const Catalog catalog;
    Specs s;
    for (const char* name : {"gpt2", "llama-2-7b", "gpt3-175b", "pythia-1.4b"})
      s.models.push_back(catalog.model(name).value());
    s.models.push_back(mixture(catalog.model("llama-2-7b").value()));
    s.models.push_back(mixed(catalog.model("llama-2-7b").value()));
    for (const char* name : {"perlmutter", "selene", "dgx-h100", "vista"})
      s.clusters.push_back(catalog.cluster(name).value());
    for (const char* name : {"dgx-h100", "vista", "dgx-b200"})
      s.of_fewer_bits.push_back(catalog.cluster(name).value());
    // Those of fine-tuning are others' but for their adapters, which draw_adapters draws.
    for (const std::string& name : catalog.names("stacks"))
      if (name != "hf-peft" && name != "hf-trainer" && name != "torchtune") {
        s.stacks.push_back(catalog.stack(name).value());
        s.stacks.back().rules.clear();  // any plan is timed
      }
    for (const Stack& stack : s.stacks)
      if (!stack.parts.router.empty()) s.of_experts.push_back(stack);
    return s;
  }();
  return all;
}

bool runs_in(const Stack& stack, const std::string& precision) {
  return std::any_of(stack.recipes.begin(), stack.recipes.end(),
                     [&](const Recipe& recipe) { return recipe.name == precision; });
}

template <class T>
std::optional<T> perhaps(T value) {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(value) : std::nullopt;
}

// Legal ones alone: most others would be refused.
void draw_experts(Run& run) {
  Plan& plan = run.plan;
  plan.sp = plan.tp > 1;
  plan.etp = perhaps<std::int64_t>(1);
  std::vector<std::int64_t> degrees;
  for (const std::int64_t ep : {1, 2, 4, 8})
    if (plan.tp * plan.dp % (ep * plan.etp.value_or(plan.tp)) == 0) degrees.push_back(ep);
  plan.ep = *rc::gen::elementOf(degrees);
  const auto dispatcher = static_cast<Dispatcher>(*rc::gen::inRange(0, kDispatcherCount));
  if (has_dispatcher(run.stack, dispatcher)) plan.dispatcher = dispatcher;
  plan.expert_imbalance = perhaps(std::min(1.5, most_imbalance(run.model, plan.ep)));
  plan.overlap_shared = perhaps(*rc::gen::arbitrary<bool>());
  if (has_condition(run.stack, Condition::kPermuteEager))
    plan.permute_fusion = perhaps(*rc::gen::arbitrary<bool>());
  plan.overlap_dispatch = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>())
    plan.capacity_factor = 1.25, plan.capacity_pad = *rc::gen::arbitrary<bool>();
  if (plan.recompute == Recompute::kSelective)
    plan.recompute_modules.bits =
        static_cast<std::uint8_t>(*rc::gen::inRange(0, 1 << kRecomputeModuleNames.size()));
  if (Run checked = run; plan.overlap_dispatch && !check_run(checked)) plan.overlap_dispatch = false;
}

// The loss and the MLP in pieces of tokens.
void draw_pieces(const Run& run, Plan& plan) {
  std::vector<LossKind> kinds;
  for (const LossKind kind : {LossKind::kWhole, LossKind::kChunked, LossKind::kFused})
    if (offers(run.stack, kind) && (kind != LossKind::kFused || plan.tp == 1)) kinds.push_back(kind);
  plan.loss = *rc::gen::elementOf(kinds);
  if (plan.loss != LossKind::kWhole) plan.loss_chunks = *rc::gen::element<std::int64_t>(0, 3, 16);
  plan.mlp_chunks = *rc::gen::element<std::int64_t>(1, 3, 8);
}

// Packed sequences: a mean, or a list that fills them.
void draw_documents(Run& run) {
  if (*rc::gen::inRange(0, 3) > 0) return;
  if (*rc::gen::arbitrary<bool>()) {
    run.documents.mean = *rc::gen::element(64.0, 300.0, 5000.0);
    run.plan.document_imbalance = perhaps(1.25);
    return;
  }
  for (std::int64_t left = run.seq; left > 0; left -= run.documents.lengths.back())
    run.documents.lengths.push_back(*rc::gen::inRange<std::int64_t>(1, left + 1));
}

// One way of the stack's, where it is legal.
void draw_context(Run& run) {
  const Run whole = run;
  Plan& plan = run.plan;
  plan.cp = *rc::gen::element<std::int64_t>(1, 1, 2, 4);
  const auto type = static_cast<CpType>(*rc::gen::inRange(0, kCpTypeCount));
  if (plan.cp == 1) return;
  plan.cp_type = perhaps(type);
  if (plan.cp_type == CpType::kHierarchical) plan.cp_a2a = 2;
  run.gpus = mesh_of(plan).gpus();
  if (Run checked = run; !check_run(checked)) run = whole;
}

std::vector<std::int64_t> any_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> dealt;
  for (std::int64_t s = stages; s > 1; --s) {
    dealt.push_back(*rc::gen::inRange<std::int64_t>(0, std::min(layers, 2 * layers / s) + 1));
    layers -= dealt.back();
  }
  dealt.push_back(layers);
  return dealt;
}

void choose_adapters(Run& run) {
  Plan& plan = run.plan;
  plan.lora = *rc::gen::element<std::int64_t>(4, 16, 256);
  plan.lora_dtype =
      perhaps(*rc::gen::element(Dtype::kFp32, plan.precision == "fp16" ? Dtype::kFp16 : Dtype::kBf16));
  plan.lora_dropout = *rc::gen::arbitrary<bool>();
  if (!run.stack.parts.dequantise.empty()) plan.base = perhaps(BaseFormat::kNf4);
}

// As `change` leaves it, where that is legal.
template <class Change>
void perhaps_change(Run& run, Change change) {
  Run changed = run;
  change(changed);
  if (Run checked = changed; check_run(checked)) run = changed;
}

// Each of these half of the time, where the stack has it.
void draw_modern(Run& run) {
  if (*rc::gen::arbitrary<bool>())
    perhaps_change(run, [](Run& r) {
      r.plan.attention.reset();  // as the recipe's kernels ask for
      r.plan.precision = (*rc::gen::elementOf(r.stack.recipes)).name;
    });
  if (*rc::gen::arbitrary<bool>() && !run.stack.cuda_graphs.offers.empty())
    perhaps_change(run, [](Run& r) {
      const auto some = static_cast<std::uint8_t>(*rc::gen::inRange(1, 1 << kGraphModuleCount));
      r.plan.cuda_graph = GraphModules{static_cast<std::uint8_t>(some & r.stack.cuda_graphs.offers.bits)};
    });
  if (*rc::gen::arbitrary<bool>() && !run.stack.parts.adapter.empty()) perhaps_change(run, choose_adapters);
}

std::string text_of(const Run& run) {
  return run.model.name + " on " + run.cluster.name + ", " + run.stack.name + ", batch " +
         std::to_string(run.global_batch) + ", seq " + std::to_string(run.seq) + " of " +
         to_text(run.documents) + ": " + to_text(run.plan);
}

}  // namespace

void draw_plan(Run& run, std::int64_t fewest, Draw draw) {
  Plan plan;
  plan.tp = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  plan.pp = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 8);
  plan.dp = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 16);
  plan.sp = plan.tp > 1 && *rc::gen::arbitrary<bool>();
  plan.zero = *rc::gen::inRange(0, 4);
  if (plan.zero > 0 && plan.dp % 2 == 0 && *rc::gen::arbitrary<bool>()) plan.shard = 2;
  plan.micro_batch = *rc::gen::element<std::int64_t>(1, 2, 8);
  plan.recompute = *rc::gen::element(Recompute::kNone, Recompute::kSelective, Recompute::kFull);
  if (plan.recompute == Recompute::kFull && *rc::gen::inRange(0, 4) == 0)
    plan.recompute_layers = *rc::gen::inRange<std::int64_t>(1, 8);
  plan.schedule = *rc::gen::element(ScheduleKind::kGpipe, ScheduleKind::k1f1b);
  if (draw != Draw::kTwoSchedules)
    plan.schedule = static_cast<ScheduleKind>(*rc::gen::inRange(0, kScheduleCount));
  if (plan.schedule == ScheduleKind::kInterleaved) plan.vpp = *rc::gen::inRange<std::int64_t>(1, 4);
  plan.precision = "bf16";
  if (const std::string half = *rc::gen::element(std::string("bf16"), std::string("fp16"));
      runs_in(run.stack, half))
    plan.precision = half;
  plan.attention = perhaps(*rc::gen::element(AttentionKind::kFlash, AttentionKind::kUnfused));
  plan.grad_dtype = perhaps(*rc::gen::element(Dtype::kFp32, Dtype::kBf16));
  plan.reduce_dtype = perhaps(*rc::gen::element(Dtype::kFp32, Dtype::kBf16));
  plan.offload = *rc::gen::inRange(0, 4) == 0;
  if (*rc::gen::inRange(0, 3) == 0) draw_pieces(run, plan);
  plan.optimizer = static_cast<OptimizerKind>(*rc::gen::inRange(0, static_cast<int>(kOptimizerNames.size())));
  plan.master_weights = perhaps(*rc::gen::arbitrary<bool>());
  plan.sp_gather_again = perhaps(*rc::gen::arbitrary<bool>());
  plan.overlap_grad_reduce = perhaps(*rc::gen::arbitrary<bool>());
  plan.overlap_param_gather = perhaps(*rc::gen::arbitrary<bool>());
  plan.partition_activations = perhaps(*rc::gen::arbitrary<bool>());
  if (*rc::gen::inRange(0, 4) == 0) plan.layers_per_stage = any_layers(run.model.layers(), plan.pp);
  run.plan = plan;
  run.gpus = plan.tp * plan.pp * plan.dp;
  run.global_batch = plan.dp * plan.micro_batch * *rc::gen::inRange<std::int64_t>(fewest, 24);
  // Schedules that ask for more micro-batches, or for a multiple, get them.
  if (refusal(pipeline_of(plan).schedule, plan.pp, plan.vpp, run.micro_batches()))
    run.global_batch = plan.dp * plan.micro_batch * 2 * plan.pp * *rc::gen::inRange<std::int64_t>(1, 4);
  if (has_experts(run.model)) draw_experts(run);
  draw_context(run);
}

void draw_adapters(Run& run) {
  RC_PRE(!run.stack.parts.adapter.empty());
  choose_adapters(run);
  RC_PRE(check_run(run).has_value());
}

Run any_run(std::int64_t fewest, Draw draw) {
  Run run;
  run.model = *rc::gen::elementOf(specs().models);
  run.cluster = *rc::gen::elementOf(draw == Draw::kEverything ? specs().of_fewer_bits : specs().clusters);
  run.stack = *rc::gen::elementOf(has_experts(run.model) ? specs().of_experts : specs().stacks);
  run.seq = *rc::gen::element<std::int64_t>(512, run.model.default_seq);
  draw_plan(run, fewest, draw);
  draw_documents(run);
  RC_PRE(check_run(run).has_value());
  if (draw == Draw::kEverything) draw_modern(run);
  RC_LOG() << text_of(run) << '\n';
  return run;
}

}  // namespace foretrain
