#include "spec/recipe_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

constexpr std::string_view kFormatsKey = "formats";

// What cannot be meant.
Result<void> check(const Recipe& recipe, const Node& node) {
  const RecipeFormats& f = recipe.formats;
  if (!is_half(f.passes))
    return fail(fmt::format("passes: found {}, expected bf16 or fp16", name(f.passes)), node.at);
  for (const Dtype product : {f.forward, f.input, f.weight})
    if (product != f.passes && bytes_of(product) >= bytes_of(f.passes))
      return fail(fmt::format("found products in {} beside passes in {}, expected these or fewer bits",
                              name(product), name(f.passes)),
                  node.at);
  if (f.is_narrow() && f.forward == f.passes)
    return fail(fmt::format("forward: found {}, expected the narrowest of the three", name(f.forward)),
                node.at);
  if (f.is_narrow() != (f.scaling != Scaling::kNone))
    return fail(f.is_narrow() ? "scaling: found none, expected delayed, current or local"
                              : "scaling: needs products in fewer bits than the passes",
                node.at);
  if (!f.is_narrow() && (f.attention || f.head || f.hadamard || f.params || f.gathers_narrow))
    return fail("attention, head, hadamard, params and gathers_narrow need products in fewer bits", node.at);
  return {};
}

}  // namespace

Result<void> read_value(const Node& node, LayerEnds& out, const EndsText& kind) {
  TRY_ASSIGN(const std::string text, node.text());
  const auto parts = split(text, '-');
  const auto number = [&](std::size_t i) { return parse_integer(trim(parts[i])); };
  const bool good = parts.size() == 2 && number(0) && number(1) && *number(0) >= 0 && *number(1) >= 0 &&
                    *number(0) <= kind.most && *number(1) <= kind.most;
  if (!good)
    return fail(fmt::format("found {}, expected layers at the start and at the end, as 1-1", quoted(text)),
                node.at);
  out = {*number(0), *number(1)};
  return {};
}

std::string to_text(const LayerEnds& ends) { return fmt::format("{}-{}", ends.start, ends.end); }

RecipeFormats half_formats(Dtype dtype) {
  RecipeFormats formats;
  formats.passes = formats.forward = formats.input = formats.weight = dtype;
  return formats;
}

Recipe half_recipe(Dtype dtype) {
  Recipe recipe;
  recipe.name = name(dtype);
  recipe.family = dtype;
  recipe.formats = half_formats(dtype);
  return recipe;
}

Result<Recipe> parse_recipe(const Node& node) {
  std::vector<std::string_view> allowed = keys_of(kRecipeFields);
  allowed.push_back(kFormatsKey);
  TRY(only_fields(node, "a precision recipe", allowed));
  Recipe recipe;
  recipe.name = "inline";
  TRY(read_fields(node, kRecipeFields, recipe));
  TRY_ASSIGN(const Node* formats, optional_section(node, kFormatsKey, keys_of(kFormatFields)));
  TRY(read_fields(*formats, kFormatFields, recipe.formats));
  TRY(check(recipe, *formats));
  return recipe;
}

}  // namespace foretrain
