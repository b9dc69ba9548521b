#include "spec/recipe_text.h"

#include <doctest/doctest.h>

#include "spec/catalog.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

std::string error_of_recipe(const std::string& yaml) {
  return error_of(parse_yaml(yaml, "r.yaml").and_then(parse_recipe));
}

}  // namespace

TEST_CASE("every preset reads, and those of every stack are what their files state") {
  const Catalog catalog;
  for (const std::string& name : catalog.names("recipes")) {
    CAPTURE(name);
    const auto recipe = catalog.recipe(name);
    REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
    CHECK(recipe->name == name);
  }
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16})
    CHECK(catalog.recipe(name(dtype)).value() == half_recipe(dtype));
}

TEST_CASE("products in fewer bits need scales, and no more bits than the passes") {
  CHECK(error_of_recipe("formats: {forward: fp8, input: fp8, weight: fp8, scaling: local}") == "no error");
  CHECK(error_of_recipe("formats: {forward: fp8}") ==
        "r.yaml:1:10: error: scaling: found none, expected delayed, current or local");
  CHECK(error_of_recipe("formats: {passes: fp8}") ==
        "r.yaml:1:10: error: passes: found fp8, expected bf16 or fp16");
  CHECK(error_of_recipe("formats: {forward: fp32, scaling: current}") ==
        "r.yaml:1:10: error: found products in fp32 beside passes in bf16, expected these or fewer bits");
  CHECK(
      error_of_recipe("formats: {head: true}") ==
      "r.yaml:1:10: error: attention, head, hadamard, params and gathers_narrow need products in fewer bits");
  CHECK(error_of_recipe("formats: {bf16_layers: 1}") ==
        "r.yaml:1:24: error: bf16_layers: found '1', expected layers at the start and at the end, as 1-1");
}
