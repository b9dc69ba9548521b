#include "job/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/did_you_mean.h"
#include "base/text.h"

namespace foretrain {
namespace {

// What the plan asks for of products in fewer bits.
std::optional<std::string_view> said_of_narrow(const Plan& plan) {
  if (plan.fp8_params.value_or(false)) return "fp8_params";
  if (plan.bf16_layers && plan.bf16_layers->any()) return "bf16_layers";
  if (plan.fp8_attention.value_or(false)) return "fp8_attention";
  if (plan.fp8_head.value_or(false)) return "fp8_head";
  return std::nullopt;
}

std::string unknown_recipe(const Stack& stack, const Plan& plan) {
  std::vector<std::string> known;
  for (const Recipe& recipe : stack.recipes) {
    known.push_back(recipe.name);
    const std::string family(name(recipe.family));
    if (std::find(known.begin(), known.end(), family) == known.end()) known.push_back(family);
  }
  return fmt::format("precision: stack {} does not run {}{}", quoted(stack.name), quoted(plan.precision),
                     suggestion(plan.precision, known));
}

}  // namespace

int LowPrecision::copies(bool rows, bool columns) const {
  const bool of_tensor = formats.forward == Dtype::kFp8;
  if (of_tensor && !by_rows_alone) return rows || columns ? 1 : 0;
  return (rows ? 1 : 0) + (columns ? 1 : 0);
}

double LowPrecision::weight_bytes() const {
  const double narrow = bytes_of(formats.forward);
  if (!is_narrow()) return bytes_of(formats.passes);
  if (formats.params) return narrow * (keeps_weights ? weight_copies() : 1);
  return bytes_of(formats.passes) + (keeps_weights ? narrow * weight_copies() : 0);
}

double LowPrecision::travelling_bytes() const {
  return formats.params && formats.params_travel_narrow ? bytes_of(formats.forward)
                                                        : bytes_of(formats.passes);
}

bool LowPrecision::apart(bool of_weights) const {
  return formats.copies == Copies::kApart || (formats.hadamard && !of_weights);
}

const Recipe* find_recipe(const Stack& stack, const Plan& plan) {
  for (const Recipe& recipe : stack.recipes)
    if (recipe.name == plan.precision) return &recipe;
  for (const Recipe& recipe : stack.recipes)
    if (name(recipe.family) == plan.precision) return &recipe;
  return nullptr;
}

const RecipeFormats& recipe_formats(const Stack& stack, const Plan& plan) {
  static constexpr RecipeFormats kPlain{};
  const Recipe* recipe = find_recipe(stack, plan);
  return recipe == nullptr ? kPlain : recipe->formats;
}

LowPrecision low_precision_of(const Stack& stack, const Plan& plan) {
  LowPrecision low;
  low.formats = recipe_formats(stack, plan);
  if (!low.is_narrow()) return low;
  // Shards that are gathered as the passes take them are cast there, wherever they came from.
  low.formats.params =
      plan.fp8_params.value_or(low.formats.params) && (plan.zero < 3 || low.formats.params_travel_narrow);
  low.formats.bf16_layers = plan.bf16_layers.value_or(low.formats.bf16_layers);
  low.formats.attention = plan.fp8_attention.value_or(low.formats.attention);
  low.formats.head = plan.fp8_head.value_or(low.formats.head);
  low.keeps_weights = stack.low_precision.weight_cache && plan.zero < 3;
  if (plan.lora > 0 && stack.adapters.narrow_base && plan.fp8_params.value_or(true)) {
    low.formats.params = true;
    low.keeps_weights = false;
  }
  return low;
}

bool takes_any_layout(const Gpu& gpu) { return gpu.rate(Dtype::kMxfp8) != FlopsPerSecond(); }

Result<void> check_precision(const Run& run) {
  const Plan& plan = run.plan;
  const Recipe* recipe = find_recipe(run.stack, plan);
  if (recipe == nullptr) return fail(unknown_recipe(run.stack, plan));
  const RecipeFormats formats = low_precision_of(run.stack, plan).formats;
  const Gpu& gpu = run.cluster.gpu;
  for (const Dtype dtype : {formats.passes, formats.forward, formats.input, formats.weight})
    if (gpu.rate(dtype) == FlopsPerSecond())
      return fail(formats.is_narrow() ? fmt::format("gpu {} has no {} rate, which recipe {} needs",
                                                    quoted(gpu.name), name(dtype), recipe->name)
                                      : fmt::format("gpu {} has no {} rate", quoted(gpu.name), name(dtype)));
  if (const auto key = said_of_narrow(plan); key && !formats.is_narrow())
    return fail(
        fmt::format("{} needs a recipe with products in fewer bits, and {} has none", *key, recipe->name));
  if (plan.fp8_params.value_or(false) && !formats.params)
    return fail(
        fmt::format("fp8_params with zero=3: recipe {} gathers weights in {}, from which every pass casts "
                    "them, expected fp8_params=0 or zero 0 to 2",
                    recipe->name, name(formats.passes)));
  if (formats.bf16_layers.start + formats.bf16_layers.end > run.model.layers())
    return fail(fmt::format("bf16_layers {}-{} is more than the model's {} layers", formats.bf16_layers.start,
                            formats.bf16_layers.end, run.model.layers()));
  return {};
}

}  // namespace foretrain
