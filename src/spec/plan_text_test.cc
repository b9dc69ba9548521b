#include "spec/plan_text.h"

#include <doctest/doctest.h>

#include <string>

#include "spec/testing.h"

using namespace foretrain;

namespace {

Result<Plan> plan_of(const std::string& yaml) {
  return parse_yaml(yaml, "p.yaml").and_then([](const Node& node) { return parse_plan(node); });
}

}  // namespace

TEST_CASE("a file and an option state the same plan") {
  const auto from_file = plan_of(
      "{tp: 4, sp: true, pp: 4, zero: 1, micro_batch: 2, recompute: full, layers_per_stage: [11, 12, 12, "
      "9]}");
  const auto from_text =
      parse_plan("tp=4,sp=1, pp=4,zero=1,micro_batch=2,recompute=full,layers_per_stage=11-12-12-9");
  REQUIRE_MESSAGE(from_file.has_value(), error_of(from_file));
  REQUIRE_MESSAGE(from_text.has_value(), error_of(from_text));
  CHECK(*from_file == *from_text);
  CHECK(from_text->layers_per_stage == std::vector<std::int64_t>{11, 12, 12, 9});
  CHECK(*plan_of("{layers_per_stage: 11-12}") == *plan_of("{layers_per_stage: [11, 12]}"));
}

TEST_CASE("a plan overrides only what it states") {
  Plan start;
  start.tp = 8;
  start.pp = 2;
  const Plan plan = *parse_plan("pp=4", start);
  CHECK(plan.tp == 8);
  CHECK(plan.pp == 4);
  CHECK(*parse_plan("", start) == start);
}

TEST_CASE("a plan written as text reads back equal") {
  CHECK(to_text(Plan{}) == "");
  for (const std::string text :
       {"tp=4,sp=1,pp=2", "pp=4,vpp=2,cp=2,ep=8,dp=16,zero=3,shard=8,micro_batch=4",
        "recompute=selective,schedule=gpipe,precision=fp16,attention=unfused,grad_dtype=bf16,"
        "reduce_dtype=fp32,overlap_grad_reduce=0,overlap_param_gather=1,partition_activations=1,layers_per_"
        "stage=11-12-12-9"}) {
    const auto plan = parse_plan(text);
    REQUIRE_MESSAGE(plan.has_value(), error_of(plan));
    CHECK(to_text(*plan) == text);
  }
}

TEST_CASE("a wrong plan is refused, by option and by file") {
  CHECK(error_of(parse_plan("tpp=4")) == "foretrain: error: unknown key 'tpp'; did you mean 'tp'?");
  CHECK(error_of(parse_plan("tp=4,tp=2")) == "foretrain: error: duplicate key 'tp'");
  CHECK(error_of(parse_plan("tp")) == "foretrain: error: expected key=value, found 'tp'");
  CHECK(error_of(parse_plan("tp=4,,pp=2")) == "foretrain: error: expected key=value, found ''");
  CHECK(error_of(parse_plan("schedule=none")) ==
        "foretrain: error: schedule: unknown word 'none'; expected one of gpipe, 1f1b, interleaved, "
        "zb-h1, zb-h2, zbv, dualpipe, dualpipev");
  CHECK(error_of(plan_of("tp: 4\ntpp: 4\n")) == "p.yaml:2:1: error: unknown key 'tpp'; did you mean 'tp'?");
  CHECK(error_of(plan_of("4")) == "p.yaml:1:1: error: expected a map that describes a plan");
  for (const char* text :
       {"tp=0", "tp=-1", "tp=1000001", "tp=", "tp=four", "tp=1e3", "dp=0", "zero=4", "micro_batch=0",
        "sp=perhaps", "layers_per_stage=", "layers_per_stage=3--4", "layers_per_stage=1,2"}) {
    CAPTURE(text);
    const std::string error = error_of(parse_plan(text));
    const std::string key = std::string(text).substr(0, std::string(text).find('='));
    if (std::string(text) == "layers_per_stage=1,2")
      CHECK(error == "foretrain: error: expected key=value, found '2'");
    else
      CHECK(error.starts_with("foretrain: error: " + key + ": "));
  }
  CHECK(error_of(plan_of("layers_per_stage: []")) ==
        "p.yaml:1:19: error: layers_per_stage: expected 1 to 20000 stages, found 0");
}

TEST_CASE("memory's keys read back as they are written") {
  const std::string text =
      "tp=2,sp=1,recompute=full,recompute_layers=3,optimizer=adamw_8bit,master_weights=0,sp_gather_again=1";
  const auto plan = parse_plan(text);
  REQUIRE(plan.has_value());
  CHECK(plan->optimizer == OptimizerKind::kAdamw8bit);
  CHECK(plan->master_weights == false);
  CHECK(plan->sp_gather_again == true);
  CHECK(plan->recompute_layers == 3);
  CHECK(to_text(*plan) == text);
  const auto wrong = parse_plan("optimizer=adamv");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message.find("adamw") != std::string::npos);
}

TEST_CASE("modules of recompute are joined by + or commas, in a file as in an option") {
  for (const char* yaml : {"{recompute: 'moe_act,layernorm'}", "{recompute: moe_act+layernorm}",
                           "{recompute: [moe_act, layernorm]}"}) {
    const auto plan = plan_of(yaml);
    REQUIRE_MESSAGE(plan.has_value(), error_of(plan));
    CHECK(*plan == *parse_plan("recompute=moe_act,layernorm"));
    CHECK(plan->recompute == Recompute::kSelective);
  }
}

TEST_CASE("recompute overrides the modules and layers that it leaves no place for") {
  const Plan modules = *parse_plan("recompute=moe_act"),
             layers = *parse_plan("recompute=full,recompute_layers=3");
  CHECK(parse_plan("recompute=full", modules)->recompute_modules.empty());
  CHECK(parse_plan("recompute=none", modules)->recompute_modules.empty());
  CHECK(*parse_plan("recompute=selective", modules) == modules);
  CHECK(parse_plan("recompute=none", layers)->recompute_layers == 0);
  CHECK(*parse_plan("recompute=full", layers) == layers);
  // Both in one place contradict each other, which the run's check tells.
  CHECK_FALSE(parse_plan("recompute=full,recompute_modules=moe_act")->recompute_modules.empty());
}

TEST_CASE("an optimizer whose word says paged is not stated otherwise") {
  CHECK(*parse_plan("optimizer=paged_adamw_8bit,paged=1") == *parse_plan("optimizer=paged_adamw_8bit"));
  CHECK(error_of(parse_plan("optimizer=paged_adamw_8bit,paged=0"))
            .find("optimizer paged_adamw_8bit has its states paged, but paged=0 is stated") !=
        std::string::npos);
}

TEST_CASE("attention by the name of its kernel is tiled, by that one") {
  const Plan plan = *parse_plan("attention=flash3");
  CHECK(plan.attention == AttentionKind::kFlash);
  CHECK(plan.attention_kernel == AttentionKernel::kFlash3);
  CHECK(plan == *parse_plan("attention=flash,attention_kernel=flash3"));
  CHECK(plan == *plan_of("{attention: flash3}"));
  CHECK_FALSE(parse_plan("attention=flash")->attention_kernel.has_value());
  CHECK(error_of(parse_plan("attention=flash4")).find("did you mean 'flash'") != std::string::npos);
}
