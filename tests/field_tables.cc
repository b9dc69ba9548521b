// field_tables plan|stack|model|recipe: the rows of the tables in docs/formats, from the tables of fields. The documents
// name this program as what prints them: tests/docs compares, tests/docs/update rewrites.
#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "spec/catalog_entry.h"
#include "spec/model_fields.h"
#include "spec/plan_fields.h"
#include "spec/recipe_fields.h"
#include "spec/recipe_text.h"
#include "spec/stack_fields.h"

using namespace foretrain;

namespace {

// 1000000 as "1,000,000".
std::string grouped(std::int64_t n) {
  std::string out = fmt::format("{}", n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string words(std::span<const std::string_view> names) {
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

std::string bounds(const WholeNumber& kind) {
  return fmt::format("{} to {}", grouped(kind.low), grouped(kind.high));
}
std::string bounds(const RealNumber& kind) { return fmt::format("{} to {}", kind.low, kind.high); }
std::string bounds(const Flag&) { return "boolean"; }
std::string bounds(const EndsText& kind) {
  return fmt::format("two of 0 to {}, `-` between", grouped(kind.most));
}
std::string bounds(const FreeText&) { return ""; }
std::string bounds(const OneOf& kind) { return words(kind.names); }
std::string bounds(const FlagOrWord& kind) { return "boolean, or " + words(kind.names.subspan(2)); }
std::string bounds(const ListOfNames&) { return "a list of names"; }
std::string bounds(const GradientFormat&) { return "`fp32`, `fp16`, `bf16`"; }
std::string bounds(const StoredAs& kind) { return fmt::format("`{}`, `bf16`", name(kind.dtype)); }
std::string bounds(const ListOf& kind) { return "a list of " + words(kind.names); }
std::string bounds(const SomeOf& kind) { return "a list, or text with `+` between, of " + words(kind.names); }
std::string bounds(const LoraModules&) {
  return "a list, or text with `+` between, of " + words(kLoraTargetNames) + ", `attention`, `mlp`, `all`";
}
std::string bounds(const GraphScope&) {
  return "`none`, or a list, or text with `+` between, of " + words(kGraphModuleNames);
}
std::string bounds(const LayerList& kind) {
  return fmt::format("a list, or text with `-` between, of 0 to {}", grouped(kind.most_layers));
}

std::string usual(const std::string& value, const FreeText&) { return value; }
std::string usual(const LayerEnds& value, const EndsText&) { return to_text(value); }
std::string usual(std::int64_t value, const WholeNumber&) { return fmt::format("{}", value); }
std::string usual(double value, const RealNumber&) { return fmt::format("{}", value); }
std::string usual(bool value, const Flag&) { return value ? "true" : "false"; }
template <class E>
requires std::is_enum_v<E> std::string usual(E value, const OneOf& kind) {
  return std::string(kind.names[static_cast<std::size_t>(value)]);
}
std::string usual(Dtype value, const GradientFormat&) { return std::string(name(value)); }
template <class T, class Kind>
std::string usual(const std::array<T, 2>& values, const Kind& kind) {
  return fmt::format("[{}, {}]", usual(values[0], kind), usual(values[1], kind));
}

template <class T>
constexpr bool kBothWays = false;
template <class T>
constexpr bool kBothWays<std::array<T, 2>> = true;

template <class Owner, class F>
void print_row(const std::string& key, const Owner& owner, const F& f) {
  std::string limits = bounds(f.kind);
  if (kBothWays<typename F::Value>) limits = "[forward, backward]: " + limits;
  if (!f.besides.empty()) limits += (limits.empty() ? "" : "; ") + std::string(f.besides);
  std::string otherwise(f.usual);
  if constexpr (requires { usual(owner.*f.member, f.kind); })
    if (otherwise.empty()) otherwise = usual(owner.*f.member, f.kind);
  fmt::print("| {} | {} | {} | {} |\n", key, f.words, otherwise, limits);
}

template <class Owner, class... Fields>
void print_table(const std::tuple<Fields...>& table) {
  const Owner owner;
  for_each_field(table, [&](const auto& f) { print_row(fmt::format("`{}`", f.key), owner, f); });
}

void print_plan() { print_table<Plan>(kPlanFields); }

void print_stack() {
  print_table<Stack>(kStackFields);
  const Stack stack;
  for_each_field(kStackSections, [&](const auto& section) {
    for_each_field(section.fields, [&](const auto& f) {
      print_row(fmt::format("`{}: {{{}}}`", section.key, f.key), stack.*section.member, f);
    });
  });
  print_table<CatalogEntry>(kCatalogFields);
}

void print_recipe() {
  print_table<Recipe>(kRecipeFields);
  const RecipeFormats formats;
  for_each_field(kFormatFields,
                 [&](const auto& f) { print_row(fmt::format("`formats: {{{}}}`", f.key), formats, f); });
}

void print_model() {
  print_table<Model>(kModelFields);
  print_table<LayerPattern>(kPatternFields);
  print_table<Attention>(kAttentionFields);
  print_table<FeedForward>(kFeedForwardFields);
  print_table<CatalogEntry>(kCatalogFields);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count == 2 ? arguments[1] : "";
  if (what == "plan") return print_plan(), 0;
  if (what == "stack") return print_stack(), 0;
  if (what == "model") return print_model(), 0;
  if (what == "recipe") return print_recipe(), 0;
  fmt::print(stderr, "usage: field_tables plan|stack|model|recipe\n");
  return 2;
}
