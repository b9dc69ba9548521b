#include "validate/row_plan.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "validate/example_table.h"

using namespace foretrain;

namespace {

struct Read {
  Result<Plan> plan;
  std::vector<std::string> assumed;
};

Read read(const Cells& replaced, std::string_view stack = "megatron") {
  std::vector<std::string> assumed;
  auto plan = plan_of(example_row(replaced), Catalog().stack(stack).value(), assumed);
  return {std::move(plan), std::move(assumed)};
}

Plan plan(const Cells& replaced) { return read(replaced).plan.value(); }

bool assumes(const Cells& replaced, std::string_view item) {
  const auto list = read(replaced).assumed;
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

TEST_CASE("what runs beside the backward is a list, and what it leaves out does not") {
  CHECK(plan({}).overlap_grad_reduce == std::nullopt);
  CHECK(plan({{"dp_overlap", "grad_reduce+param_gather"}}).overlap_grad_reduce == true);
  CHECK(plan({{"dp_overlap", "grad_reduce+param_gather"}}).overlap_param_gather == true);
  CHECK(plan({{"dp_overlap", "grad_reduce"}}).overlap_param_gather == false);
  CHECK(plan({{"dp_overlap", "none"}}).overlap_grad_reduce == false);
  CHECK(assumes({{"dp_overlap", "grad_reduce+optimizer_step"}}, "no overlap of the optimizer's step"));
}

TEST_CASE("gradients that are added up where they are reduced have one format") {
  const Cells bf16 = {{"grad_reduce_dtype", "bf16"}};
  CHECK(read(bf16, "megatron").plan->reduce_dtype == Dtype::kBf16);
  CHECK(read(bf16, "megatron").plan->grad_dtype == Dtype::kBf16);
  CHECK(read(bf16, "hf-eager").plan->reduce_dtype == Dtype::kBf16);
  CHECK(read(bf16, "hf-eager").plan->grad_dtype == std::nullopt);
  const Cells apart = {{"grad_reduce_dtype", "bf16"}, {"notes", "grad_accum_dtype=fp32"}};
  CHECK(read(apart).plan->grad_dtype == Dtype::kFp32);
}

TEST_CASE("states of the optimizer in bf16 are said in two ways") {
  CHECK(plan({{"opt_state", "fp32"}}).optimizer == OptimizerKind::kAdamw);
  CHECK(plan({{"opt_state", "bf16"}}).optimizer == OptimizerKind::kAdamwBf16);
  CHECK(plan({{"opt_state", "main:fp32+grad:bf16+m:bf16+v:bf16"}}).optimizer == OptimizerKind::kAdamwBf16);
  CHECK(plan({{"opt_state", "precision-aware(dtypes default fp32)"}}).optimizer == OptimizerKind::kAdamw);
}

TEST_CASE("a pipeline's layout gives the layers of each chunk") {
  using Layers = std::vector<std::int64_t>;
  CHECK(plan({{"pp_layout", "even"}}).layers_per_stage.empty());
  CHECK(plan({{"pp_layout", "Et*3|t*5L"}}).layers_per_stage == Layers{3, 5});
  CHECK(plan({{"layers", "6"}, {"vpp", "2"}, {"pp_layout", "embedding and loss count as one layer each"}})
            .layers_per_stage == Layers{1, 2, 2, 1});
  CHECK(read({{"pp_layout", "Et*8L"}}).plan.error().message ==
        "pp_layout has 1 chunks, but pp and vpp make 2");
}

TEST_CASE("layers that are run again in full are counted") {
  CHECK(plan({{"recompute", "full"}, {"recompute_layers", "3"}}).recompute_layers == 3);
  CHECK(plan({{"recompute", "none"}, {"recompute_layers", "3"}}).recompute_layers == 0);
  CHECK(plan({{"recompute", "none"}, {"recompute_modules", "none"}}).recompute == Recompute::kNone);
}

TEST_CASE("what a plan has no key for is assumed away") {
  CHECK(plan({{"tp_overlap", "1"}}).tp_overlap == true);
}

TEST_CASE("a row's fp8 recipe is the stack's of that name, or what the stack means by fp8") {
  const Cells fp8 = {{"precision", "fp8"},
                     {"fp8_recipe", "current"},
                     {"fp8_scope", "linears+attention"},
                     {"fp8_params", "1"},
                     {"bf16_layers", "1-1"}};
  const Plan of_row = plan(fp8);
  CHECK(of_row.precision == "fp8-current");
  CHECK(of_row.fp8_params == true);
  CHECK(of_row.fp8_attention == true);
  CHECK(of_row.fp8_head == std::nullopt);
  CHECK(of_row.bf16_layers == LayerEnds{1, 1});
  CHECK(plan({{"precision", "mxfp8"}, {"fp8_recipe", "mxfp8"}}).precision == "mxfp8");
  CHECK(plan({{"precision", "fp8"}, {"fp8_recipe", "rowwise"}}).precision == "fp8");
  CHECK(assumes({{"precision", "fp8"}, {"fp8_recipe", "rowwise"}}, "fp8-rowwise as the stack's fp8"));
  CHECK(assumes({{"precision", "fp8"}, {"fp8_recipe", ""}}, "fp8 recipe of the stack"));
  CHECK(plan({{"fp8_recipe", "none"}, {"fp8_params", ""}}) == plan({}));
}

TEST_CASE("a dense row has no choices of experts") {
  const Cells words = {{"dispatcher", "none"}, {"routing", "forced"}, {"ep_overlap", "0"}, {"etp", "4"}};
  CHECK(plan(words) == plan({}));
}

TEST_CASE("experts one by one, where the stack has a loop over them") {
  const Cells eager = {{"experts", "8"}, {"notes", "family=olmoe; experts_impl=eager"}};
  CHECK(read(eager, "hf-eager").plan->expert_products == ExpertProducts::kLoop);
  const Cells grouped = {{"experts", "8"}, {"notes", "experts_impl=grouped_mm"}};
  CHECK(read(grouped, "hf-eager").plan->expert_products == read({}, "hf-eager").plan->expert_products);
  const Cells apart = {{"experts", "8"}, {"notes", "experts not grouped (moe_grouped_gemm false)"}};
  CHECK(read(apart, "hf-eager").plan->expert_products == ExpertProducts::kLoop);
  CHECK(assumes(apart, "experts in one grouped product"));
}

namespace {

Cells experts(Cells more) {
  more.insert(more.end(), {{"experts", "8"}, {"top_k", "2"}, {"expert_ffn", "512"}, {"dense_layers", "0"}});
  return more;
}

}  // namespace

TEST_CASE("experts lie on ranks of their own") {
  const Plan plan_of_row = plan(experts({{"ep", "4"}, {"etp", "1"}, {"dispatcher", "deepep"}}));
  CHECK(plan_of_row.ep == 4);
  CHECK(plan_of_row.etp == 1);
  CHECK(plan_of_row.dispatcher == Dispatcher::kDeepEp);
  CHECK(plan(experts({{"etp", "2"}})).etp == std::nullopt);  // as tp
  CHECK(plan(experts({{"notes", "etp=1"}})).etp == 1);
  CHECK(plan(experts({{"dispatcher", "none"}})).dispatcher == std::nullopt);
  CHECK_FALSE(read(experts({{"dispatcher", "pigeons"}})).plan);
}

TEST_CASE("routing is forced, cut at a capacity, or not known") {
  CHECK(plan(experts({{"routing", "forced"}})).expert_imbalance == 1.0);
  CHECK(plan(experts({{"routing", "natural"}})).expert_imbalance == std::nullopt);
  CHECK(plan(experts({{"routing", "natural"}})).capacity_factor == 0.0);
  CHECK(plan(experts({{"routing", "capacity"}})).capacity_factor == 1.0);
  CHECK_FALSE(plan(experts({{"routing", "capacity"}})).capacity_pad);
  CHECK(plan(experts({{"routing", "natural capacity 2"}})).capacity_factor == 2.0);
  const Plan padded = plan(experts({{"routing", "capacity"}, {"notes", "capacity factor 1 with padding"}}));
  CHECK(padded.capacity_factor == 1.0);
  CHECK(padded.capacity_pad);
  const Plan noted = plan(experts({{"notes", "capacity_factor=1.5 with padding (token drop helper)"}}));
  CHECK(noted.capacity_factor == 1.5);
  CHECK(noted.capacity_pad);
}

TEST_CASE("captured modules are as the row says, and what no graph can wait for is not waited for") {
  const auto scope = [](const Plan& of) { return of.cuda_graph.value_or(GraphModules{}).bits; };
  CHECK(plan({{"cuda_graph", "none"}}).cuda_graph == std::nullopt);
  CHECK(scope(plan({{"cuda_graph", "full_iteration"}})) == 1 << static_cast<int>(GraphModule::kFull));
  CHECK(scope(plan({{"cuda_graph", "layer"}})) == 1 << static_cast<int>(GraphModule::kLayer));
  CHECK(scope(plan({{"cuda_graph", "attn+mlp"}})) == 0b11);
  CHECK_FALSE(plan({{"cuda_graph", "full_iteration"}}).expert_sync.has_value());  // dense
  CHECK(plan(experts({{"cuda_graph", "full_iteration"}})).expert_sync == false);
  CHECK_FALSE(plan(experts({{"cuda_graph", "attn+moe_router+moe_preprocess"}})).expert_sync.has_value());
  // NCCL's dispatchers bring another number of rows in every step: what stands before the experts is captured.
  const Plan before = plan(experts({{"cuda_graph", "layer"}, {"dispatcher", "alltoall"}, {"ep", "8"}}));
  CHECK(to_text(before).find("cuda_graph=attn+mlp+moe_router") != std::string::npos);
  const Plan cut = plan(experts({{"cuda_graph", "layer"}, {"routing", "capacity"}}));
  CHECK(cut.capacity_pad);
  CHECK_FALSE(cut.expert_sync.has_value());
  CHECK_FALSE(read({{"cuda_graph", "wheels"}}).plan);
}

TEST_CASE("what runs beside the exchange, and whether the host waits for it") {
  CHECK(plan(experts({{"ep_overlap", "1"}})).overlap_dispatch);
  CHECK_FALSE(plan(experts({{"ep_overlap", "0"}})).overlap_dispatch);
  CHECK(plan(experts({{"shared_overlap", "1"}})).overlap_shared == true);
  CHECK(plan(experts({})).overlap_shared == std::nullopt);
  CHECK(plan(experts({})).expert_sync == std::nullopt);
  // Primus' sync-free stage 1 is its two fusions; DeepEP still waits for counts.
  const Plan fused = plan(experts({{"notes", "+ sync-free MoE stage 1; 4 nodes"}}));
  CHECK(fused.expert_sync == std::nullopt);
  CHECK(fused.permute_fusion == true);
  CHECK(fused.router_fusion == true);
  CHECK(plan(experts({{"notes", "permute fusion; CUDA graph off"}})).permute_fusion == true);
  CHECK(plan(experts({})).permute_fusion == std::nullopt);
}

TEST_CASE("modules that are run again stand in place of the word for them") {
  const Plan modules =
      plan(experts({{"recompute", "selective"}, {"recompute_modules", "layernorm+moe_act"}}));
  CHECK(modules.recompute == Recompute::kSelective);
  CHECK(modules.recompute_modules.has(RecomputeModule::kLayernorm));
  CHECK(modules.recompute_modules.has(RecomputeModule::kMoeActivation));
  CHECK_FALSE(modules.recompute_modules.has(RecomputeModule::kCoreAttention));
  CHECK(plan({{"recompute", "full"}, {"recompute_modules", "mlp"}}).recompute == Recompute::kFull);
}
