#include "validate/row_adapters.h"

#include <doctest/doctest.h>

#include "spec/plan_text.h"

using namespace foretrain;

namespace {

Plan plan_of_row(const MeasuredRow& row) {
  SpecMap map;
  std::vector<std::string> assumed;
  put_adapters(map, row, assumed);
  put_optimizer(map, row);
  const auto plan = parse_plan(map.node());
  REQUIRE(plan.has_value());
  return *plan;
}

}  // namespace

TEST_CASE("sources name the products beside which adapters stand in their own words") {
  CHECK(lora_words("all linears") == "all");
  CHECK(lora_words("all *_proj") == "all");
  CHECK(lora_words("qkv+attn_out") == "linear_qkv+o_proj");
  CHECK(lora_words("q_proj+v_proj+output_proj") == "q_proj+v_proj+o_proj");
  CHECK(lora_words("linear_qkv") == "linear_qkv");
}

TEST_CASE("a row of adapters is a plan with adapters, one of qlora with four bits beside them") {
  MeasuredRow row;
  row.peft = "lora";
  row.lora_rank = 8;
  row.lora_targets = "q_proj+v_proj";
  const Plan lora = plan_of_row(row);
  CHECK(lora.lora == 8);
  CHECK(lora.lora_targets == targets_of({LoraTarget::kQ, LoraTarget::kV}));
  CHECK_FALSE(lora.base.has_value());
  row.peft = "qlora";
  CHECK(plan_of_row(row).base == BaseFormat::kNf4);
  row.peft = "none";
  CHECK(plan_of_row(row) == Plan{});
}

TEST_CASE("an optimizer's name says whether its states are paged and in eight bits") {
  MeasuredRow row;
  row.optimizer = "paged_adamw_8bit";
  CHECK(plan_of_row(row).paged);
  CHECK(plan_of_row(row).optimizer == OptimizerKind::kAdamw8bit);
  row.optimizer = "adam";
  CHECK(plan_of_row(row) == Plan{});
  row.offload = "optimizer";
  CHECK(plan_of_row(row).offload_optimizer);
}
