// Of the tables of fields: that they leave no member out, and what they have to say of each.
#include "spec/field.h"

#include <doctest/doctest.h>

#include <set>

#include "spec/plan_fields.h"
#include "spec/plan_text.h"
#include "spec/stack_fields.h"

using namespace foretrain;

namespace {

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

// Stands for the initial value of any member; an optional's own constructors take it from there.
struct Anything {
  template <class T>
  requires(!kIsOptional<T>) operator T() const;
};

// Members of an aggregate: as many as there are values that initialise it, and no more.
template <class T, class... Values>
consteval std::size_t member_count() {
  if constexpr (requires { T{Values{}..., Anything{}}; })
    return member_count<T, Values..., Anything>();
  else
    return sizeof...(Values);
}

template <class... Fields>
consteval std::size_t field_count(const std::tuple<Fields...>&) {
  return sizeof...(Fields);
}

static_assert(member_count<Plan>() == field_count(kPlanFields));
static_assert(member_count<Stack::Gradients>() == field_count(kGradientFields));
static_assert(member_count<Stack::States>() == field_count(kStateFields));
static_assert(member_count<Stack::Recomputation>() == field_count(kRecomputationFields));
static_assert(member_count<Stack::TensorParallel>() == field_count(kTensorParallelFields));
static_assert(member_count<Stack::ContextParallel>() == field_count(kContextParallelFields));
static_assert(member_count<Stack::Pipeline>() == field_count(kPipelineFields));
static_assert(member_count<Stack::DataParallel>() == field_count(kDataParallelFields));
static_assert(member_count<Stack::MemoryLog>() == field_count(kMemoryLogFields));
static_assert(member_count<Stack::Host>() == field_count(kHostFields));
constexpr std::size_t kParts = 1, kRecipes = 1, kRules = 1;
static_assert(member_count<Stack::LowPrecision>() == field_count(kLowPrecisionFields));
static_assert(member_count<RecipeFormats>() == field_count(kFormatFields));
static_assert(member_count<Stack>() ==
              field_count(kStackFields) + field_count(kStackSections) + kParts + kRecipes + kRules);

template <class Table>
void check_table(const Table& table) {
  std::set<std::string_view> keys;
  for_each_field(table, [&](const auto& f) {
    INFO(f.key);
    CHECK(keys.insert(f.key).second);
    CHECK_FALSE(f.words.empty());
    CHECK(f.words.find('\n') == std::string_view::npos);
    CHECK(f.words.find('|') == std::string_view::npos);
  });
}

}  // namespace

TEST_CASE("a table has each key once, with a line of words") {
  check_table(kPlanFields);
  check_table(kStackFields);
  for_each_field(kStackSections, [](const auto& section) { check_table(section.fields); });
}

TEST_CASE("a member leads to its field") {
  CHECK(plan_field<&Plan::tp>.key == "tp");
  CHECK(plan_field<&Plan::reduce_dtype>.key == "reduce_dtype");  // one of two members of the same type
  CHECK(plan_field<&Plan::zero>.kind.high == 3);
  CHECK(keys_of(kPlanFields).front() == "tp");
  CHECK(keys_of(kPlanFields).back() == "layers_per_stage");
}

TEST_CASE("what a plan says in text, its reader takes, key by key") {
  std::size_t keys = 0;
  for (const std::string_view text : {"tp=2",
                                      "sp=1",
                                      "pp=2",
                                      "vpp=2",
                                      "cp=2",
                                      "cp_type=a2a+p2p",
                                      "cp_a2a=2",
                                      "ep=2",
                                      "dp=2",
                                      "zero=3",
                                      "shard=2",
                                      "micro_batch=2",
                                      "recompute=full",
                                      "recompute_layers=2",
                                      "schedule=zbv",
                                      "precision=fp16",
                                      "fp8_params=1",
                                      "bf16_layers=1-2",
                                      "fp8_attention=1",
                                      "fp8_head=1",
                                      "attention=flash",
                                      "expert_products=loop",
                                      "attention_kernel=cudnn",
                                      "grad_dtype=bf16",
                                      "reduce_dtype=fp16",
                                      "loss=fused",
                                      "loss_chunks=16",
                                      "mlp_chunks=4",
                                      "document_imbalance=1.5",
                                      "offload=1",
                                      "optimizer=muon",
                                      "master_weights=0",
                                      "tp_overlap=1",
                                      "sp_gather_again=1",
                                      "overlap_grad_reduce=0",
                                      "overlap_param_gather=1",
                                      "partition_activations=0",
                                      "etp=2",
                                      "dispatcher=deepep",
                                      "dispatch_dtype=fp8",
                                      "capacity_factor=1.5",
                                      "capacity_pad=1",
                                      "expert_imbalance=1.25",
                                      "expert_sync=0",
                                      "permute_fusion=0",
                                      "router_fusion=1",
                                      "loss_fusion=1",
                                      "fp8_activation_store=1",
                                      "overlap_dispatch=1",
                                      "overlap_shared=1",
                                      "recompute_modules=moe_act+layernorm",
                                      "paged=1",
                                      "offload_optimizer=1",
                                      "lora=16",
                                      "lora_targets=q_proj+v_proj",
                                      "lora_dtype=fp32",
                                      "lora_dropout=1",
                                      "base=nf4",
                                      "double_quant=0",
                                      "cuda_graph=attn+moe_router",
                                      "layers_per_stage=3-4"}) {
    CHECK(to_text(parse_plan(text).value()) == text);
    ++keys;
  }
  CHECK(keys == field_count(kPlanFields));
}
