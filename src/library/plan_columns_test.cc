#include "library/plan_columns.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/json_node.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

using Whole = std::vector<std::int64_t>;
using Real = std::vector<double>;

PlanColumn column(const char* key, const Whole& values, std::vector<std::string_view> words = {}) {
  return {key, std::span<const std::int64_t>(values), std::move(words)};
}
PlanColumn column(const char* key, const Real& values) { return {key, std::span<const double>(values)}; }

std::string refusal(std::vector<PlanColumn> columns, std::size_t i = 0) {
  auto made = PlanColumns::make(std::move(columns), Plan(), i + 1);
  if (!made) return made.error().text();
  const auto plan = made->plan(i);
  return plan ? "" : plan.error().text();
}

TEST_CASE("a row of columns is the plan that its text would state") {
  const Whole tp = {2, 4, kMissing}, sp = {1, 0, 1}, recompute = {2, 1, 0};
  const Real capacity = {1.25, std::nan(""), 2}, zero = {1, 3, std::nan("")};
  const Whole precision = {1, 0, -1}, modules = {kMissing, 0, kMissing};
  auto columns = PlanColumns::make({column("tp", tp), column("sp", sp), column("recompute", recompute),
                                    column("capacity_factor", capacity), column("zero", zero),
                                    column("precision", precision, {"fp16", "fp8-delayed"}),
                                    column("recompute_modules", modules, {"mlp+layernorm"})},
                                   parse_plan("pp=2,tp=8,zero=2").value(), 3);
  REQUIRE(columns.has_value());
  REQUIRE(columns->plans() == 3);
  const char* texts[] = {
      "pp=2,tp=2,sp=1,recompute=full,capacity_factor=1.25,zero=1,precision=fp8-delayed",
      "pp=2,tp=4,recompute=selective,recompute_modules=mlp+layernorm,zero=3,precision=fp16",
      "pp=2,tp=8,sp=1,capacity_factor=2,zero=2"};
  for (const std::size_t i : {0u, 1u, 2u, 0u, 2u, 1u}) {
    const auto plan = columns->plan(i);
    REQUIRE(plan.has_value());
    CHECK(to_text(**plan) == to_text(parse_plan(texts[i]).value()));
  }
}

TEST_CASE("a word may say two things, and take back what the plan before it said") {
  const Whole attention = {0}, recompute = {1};
  auto columns =
      PlanColumns::make({column("attention", attention, {"flash2"}), column("recompute", recompute)},
                        parse_plan("recompute=full,recompute_layers=3").value(), 1);
  REQUIRE(columns.has_value());
  CHECK(to_text(**columns->plan(0)) == "recompute=selective,attention=flash,attention_kernel=flash2");
}

TEST_CASE("what no plan can have is refused as the reader of plans refuses it") {
  const Whole zero = {0}, seven = {7};
  const Real half = {0.5}, endless = {std::numeric_limits<double>::infinity()};
  CHECK(refusal({column("tp", zero)}) == parse_plan("tp=0").error().text());
  CHECK(refusal({column("zero", seven)}) == parse_plan("zero=7").error().text());
  CHECK(refusal({column("tp", half)}) == parse_plan("tp=0.5").error().text());
  CHECK(refusal({column("tp", endless)}).find("tp: ") != std::string::npos);
  CHECK(refusal({column("sp", seven)}) == parse_plan("sp=7").error().text());
  CHECK(refusal({column("precison", zero)}) == parse_plan("precison=0").error().text());
  CHECK(refusal({column("recompute", zero, {"fll"})}) == parse_plan("recompute=fll").error().text());
  CHECK(refusal({column("recompute", seven)}).find("expected 0 to 2") != std::string::npos);
  CHECK(refusal({column("precision", zero)}).find("expected words") != std::string::npos);
  CHECK(refusal({column("tp", seven), column("tp", seven)}).find("duplicate key 'tp'") != std::string::npos);
}

TEST_CASE("every field of a plan stands in the table that programs read, words by their codes") {
  const auto table = parse_json(plan_fields_json(), "fields");
  REQUIRE(table.has_value());
  const auto keys = keys_of(kPlanFields);
  REQUIRE(table->items.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK(table->items[i].find("key")->scalar == keys[i]);
  for (const Node& field : table->items)
    if (field.find("kind")->scalar == "word") {
      const Whole code = {0};
      const std::string key = field.find("key")->scalar, word = field.find("words")->items[0].scalar;
      auto columns = PlanColumns::make({column(key.c_str(), code)}, Plan(), 1);
      REQUIRE(columns.has_value());
      CHECK(**columns->plan(0) == parse_plan(key + "=" + word).value());
    }
}

}  // namespace
}  // namespace foretrain
