#include "spec/stack_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/catalog_entry.h"
#include "spec/read_fields.h"
#include "spec/row_words.h"
#include "spec/stack_fields.h"

namespace foretrain {

static Result<void> read_value(const Node& node, bool& out, const StoredAs& kind) {
  Dtype stored{};
  TRY(read_value(node, stored, OneOf{kDtypeNames}));
  if (stored != kind.dtype && stored != Dtype::kBf16)
    return fail(fmt::format("found {}, expected {} or bf16", name(stored), name(kind.dtype)), node.at);
  out = stored == kind.dtype;
  return {};
}

static Result<void> read_value(const Node& node, Dtype& out, const GradientFormat&) {
  TRY(read_value(node, out, OneOf{kDtypeNames}));
  if (is_half(out) || out == Dtype::kFp32) return {};
  return fail(fmt::format("found {}, expected fp32, fp16 or bf16", name(out)), node.at);
}

static Result<void> read_value(const Node& node, CpTypes& out, const ListOf& kind) {
  if (!node.is_list()) return fail("expected a list", node.at);
  out = {};
  for (const Node& word : node.items) {
    CpType type{};
    TRY(read_value(word, type, OneOf{kind.names}));
    out.add(type);
  }
  return {};
}

static Result<void> read_value(const Node& node, GraphModules& out, const ListOf& kind) {
  if (!node.is_list()) return fail("expected a list", node.at);
  out = {};
  for (const Node& word : node.items) {
    GraphModule module{};
    TRY(read_value(word, module, OneOf{kind.names}));
    out.add(module);
  }
  return {};
}

namespace {

constexpr std::int64_t kMaxTimes = 1'000;
constexpr double kMaxExtra = 1'000;
constexpr std::string_view kRecipesKey = "recipes";
constexpr std::string_view kRulesKey = "rules";
constexpr std::size_t kMaxRecipes = 32;
constexpr std::size_t kMaxOperators = 64;  // a part; each is laid out layer by layer

Result<Recipe> half_recipe_of(const Node& node) {
  Dtype dtype{};
  TRY(read_value(node, dtype, OneOf{kDtypeNames}));
  if (!is_half(dtype)) return fail(fmt::format("found {}, expected bf16 or fp16", name(dtype)), node.at);
  return half_recipe(dtype);
}

// What a launch list may hold: [forward, backward] or [forward, backward, weights]; [step] in the optimizer.
enum class Where { kBlock, kOptimizer };

Result<std::array<std::int64_t, 3>> parse_launches(const Node& node, Where where) {
  const std::size_t fewest = where == Where::kOptimizer ? 1 : 2;
  const std::size_t most = where == Where::kOptimizer ? 1 : 3;
  if (!node.is_list() || node.items.size() < fewest || node.items.size() > most)
    return fail(where == Where::kOptimizer ? "launches: expected a list of one count, [step]"
                                           : "launches: expected a list of two or three counts, "
                                             "[forward, backward, weights]",
                node.at);
  std::array<std::int64_t, 3> launches = {0, 0, 0};
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (auto read = read_value(node.items[i], launches[i], WholeNumber{0, kMaxLaunches}); !read)
      return named("launches", std::move(read).error());
  return launches;
}

Result<void> read_widths(const Node& node, PartOperator& op) {
  const bool product = op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kBatchedProduct ||
                       op.kind == OperatorKind::kGroupedProduct || op.kind == OperatorKind::kAttention;
  if (product) {
    if (const Node* width = node.find("width"))
      return fail(fmt::format("{} takes 'in' and 'out', not 'width'", name(op.kind)), width->at);
    TRY(read_required(node, "in", op.in, OneOf{kWidthNames}));
    return read_required(node, "out", op.out, OneOf{kWidthNames});
  }
  for (const std::string_view key : {"in", "out"})
    if (const Node* field = node.find(key))
      return fail(fmt::format("'{}' belongs to a product; {} takes 'width'", key, name(op.kind)), field->at);
  TRY(read_optional(node, "width", op.in, OneOf{kWidthNames}));
  op.out = op.in;
  return {};
}

Result<std::vector<SavedTensor>> parse_saves(const Node& list, std::string_view key) {
  if (!list.is_list()) return fail(fmt::format("{}: expected a list", key), list.at);
  std::vector<SavedTensor> saves;
  for (const Node& item : list.items) {
    SavedTensor saved{};
    if (auto read = read_value(item, saved, OneOf{kSavedTensorNames}); !read)
      return named(key, std::move(read).error());
    saves.push_back(saved);
  }
  return saves;
}

Result<void> read_saves(const Node& node, PartOperator& op) {
  if (const Node* saves = node.find("saves")) {
    TRY_ASSIGN(op.saves, parse_saves(*saves, "saves"));
  }
  if (const Node* saves = node.find("selective_saves")) {
    TRY_ASSIGN(op.selective_saves, parse_saves(*saves, "selective_saves"));
  }
  return {};
}

Result<void> read_extra(const Node& node, PartOperator& op) {
  const Node* extra = node.find("extra");
  if (extra == nullptr) return {};
  if (!extra->is_list() || extra->items.size() != 2)
    return fail("extra: expected a list of two numbers, bytes an element [forward, backward]", extra->at);
  op.extra.emplace();
  for (std::size_t i = 0; i < 2; ++i)
    if (auto read = read_value(extra->items[i], (*op.extra)[i], RealNumber{0.0, kMaxExtra}); !read)
      return named("extra", std::move(read).error());
  return {};
}

// Each kind has its place and its implementations; what only samples can be, or the states decide, is not
// listed.
Result<void> check_place(const Node& node, const PartOperator& op, Where where) {
  const Position& at = node.find("op")->at;
  const bool of_optimizer = is_optimizer(op.kind);
  if (of_optimizer != (where == Where::kOptimizer))
    return fail(
        fmt::format("{} does not belong {} the optimizer", name(op.kind), of_optimizer ? "outside" : "in"),
        at);
  if (op.kind == OperatorKind::kLatentAttention)
    return fail("latent_attention is not listed: attention is, and the model decides which it is", at);
  if (op.kind == OperatorKind::kAccumulate)
    return fail("accumulate is not listed: 'gradients: fused_accumulation' decides on it", at);
  const bool listed = op.impl != Impl::kZeroGrad && op.impl != Impl::kFusedBf16;
  if (!listed || !has_impl(op.kind, op.impl))
    return fail(fmt::format("{} has no implementation {}", name(op.kind), name(op.impl)), at);
  return {};
}

Result<PartOperator> parse_operator(const Node& node, Where where) {
  PartOperator op;
  if (where == Where::kOptimizer) {
    TRY(only_fields(node, "an operator of the optimizer", {"op", "impl", "times", "launches"}));
    op.launches = {1, 0, 0};
  } else {
    TRY(only_fields(node, "an operator",
                    {"op", "impl", "width", "in", "out", "when", "rows", "each_expert", "fp32", "times",
                     "launches", "waits", "saves", "extra", "selective", "selective_saves"}));
  }
  TRY(read_required(node, "op", op.kind, OneOf{kOperatorKindNames}));
  if (const Node* impl = node.find("impl")) {
    TRY_ASSIGN(const std::string word, impl->text());
    auto known = parse_choice<Impl>(plain_impl(word), kImplNames, impl->at);
    if (!known) return named("impl", std::move(known).error());
    op.impl = *known;
  }
  TRY(check_place(node, op, where));
  TRY(read_widths(node, op));
  TRY(read_optional(node, "when", op.when, OneOf{kConditionNames}));
  TRY(read_optional(node, "rows", op.rows, OneOf{kRowsNames}));
  TRY(read_optional(node, "each_expert", op.each_expert));
  TRY(read_optional(node, "fp32", op.fp32));
  TRY(read_optional(node, "times", op.times, WholeNumber{1, kMaxTimes}));
  if (const Node* launches = node.find("launches")) {
    TRY_ASSIGN(op.launches, parse_launches(*launches, where));
  }
  TRY(read_optional(node, "waits", op.waits, WholeNumber{0, kMaxTimes}));
  TRY(read_saves(node, op));
  TRY(read_extra(node, op));
  TRY(read_optional(node, "selective", op.selective));
  return op;
}

Result<void> read_part(const Node& parts, std::string_view key, Part& out, Where where = Where::kBlock) {
  const Node* list = parts.find(key);
  if (list == nullptr) return {};
  if (!list->is_list() || list->items.empty())
    return fail(fmt::format("{}: expected a list of operators", key), list->at);
  if (list->items.size() > kMaxOperators)
    return fail(
        fmt::format("{}: found {} operators, expected at most {}", key, list->items.size(), kMaxOperators),
        list->at);
  for (const Node& item : list->items) {
    TRY_ASSIGN(PartOperator op, parse_operator(item, where));
    out.push_back(std::move(op));
  }
  return {};
}

Result<void> read_required_part(const Node& parts, std::string_view key, Part& out,
                                Where where = Where::kBlock) {
  if (parts.find(key) == nullptr) return missing(parts, key);
  return read_part(parts, key, out, where);
}

// A part that comes in variants; a stack may lack those that its framework cannot train.
Result<void> read_variants(const Node& parts, std::string_view key,
                           std::initializer_list<std::string_view> names, std::span<Part> out) {
  TRY_ASSIGN(const Node* variants, optional_section(parts, key, names));
  for (std::size_t i = 0; i < names.size(); ++i) TRY(read_part(*variants, names.begin()[i], out[i]));
  return {};
}

Result<void> read_exchange(const Node& parts, std::string_view key, std::span<Part> out) {
  return read_variants(
      parts, key, {kDispatcherNames[0], kDispatcherNames[1], kDispatcherNames[2], kDispatcherNames[3]}, out);
}

Result<void> read_parts(const Node& node, Stack& stack) {
  TRY_ASSIGN(
      const Node* parts,
      required_section(node, "parts",
                       {"embedding", "norm",         "qkv",       "rope",      "attention", "projection",
                        "mlp",       "latent_down",  "latent_up", "router",    "dispatch",  "arrive",
                        "experts",   "experts_loop", "depart",    "combine",   "shared",    "residual",
                        "mtp",       "head",         "loss",      "optimizer", "adapter",   "dequantise"}));
  TRY(read_required_part(*parts, "embedding", stack.parts.embedding));
  TRY(read_variants(*parts, "norm", {kNormNames[0], kNormNames[1]}, stack.parts.norm));
  TRY(read_required_part(*parts, "qkv", stack.parts.qkv));
  TRY(read_part(*parts, "rope", stack.parts.rope));
  TRY(read_variants(*parts, "attention", {kAttentionNames[0], kAttentionNames[1]}, stack.parts.attention));
  TRY(read_required_part(*parts, "projection", stack.parts.projection));
  TRY(read_variants(*parts, "mlp", {kMlpNames[0], kMlpNames[1], kMlpNames[2], kMlpNames[3]},
                    stack.parts.mlp));
  TRY(read_part(*parts, "latent_down", stack.parts.latent_down));
  TRY(read_part(*parts, "latent_up", stack.parts.latent_up));
  TRY(read_part(*parts, "router", stack.parts.router));
  TRY(read_exchange(*parts, "dispatch", stack.parts.dispatch));
  TRY(read_exchange(*parts, "arrive", stack.parts.arrive));
  TRY(read_variants(*parts, "experts", {kMlpNames[0], kMlpNames[1], kMlpNames[2], kMlpNames[3]},
                    stack.parts.experts));
  TRY(read_variants(*parts, "experts_loop", {kMlpNames[0], kMlpNames[1], kMlpNames[2], kMlpNames[3]},
                    stack.parts.experts_loop));
  TRY(read_exchange(*parts, "depart", stack.parts.depart));
  TRY(read_exchange(*parts, "combine", stack.parts.combine));
  TRY(read_part(*parts, "shared", stack.parts.shared));
  TRY(read_variants(*parts, "residual", {kResidualNames[0], kResidualNames[1]}, stack.parts.residual));
  TRY(read_part(*parts, "mtp", stack.parts.mtp));
  TRY(read_part(*parts, "adapter", stack.parts.adapter));
  TRY(read_part(*parts, "dequantise", stack.parts.dequantise));
  TRY(read_required_part(*parts, "head", stack.parts.head));
  TRY(read_required_part(*parts, "loss", stack.parts.loss));
  return read_required_part(*parts, "optimizer", stack.parts.optimizer, Where::kOptimizer);
}

// Names, paths or maps; bf16 and fp16 where nothing is said.
Result<void> read_recipes(const Node& node, const RecipeReader& reader, Stack& stack) {
  const Node* list = node.find(kRecipesKey);
  if (list == nullptr) return {};
  if (!list->is_list() || list->items.empty())
    return fail(fmt::format("{}: expected a list of precision recipes", kRecipesKey), list->at);
  if (list->items.size() > kMaxRecipes)
    return fail(
        fmt::format("{}: found {}, expected at most {}", kRecipesKey, list->items.size(), kMaxRecipes),
        list->at);
  stack.recipes.clear();
  for (const Node& item : list->items) {
    auto read = reader ? reader(item) : half_recipe_of(item);
    if (!read) return named(kRecipesKey, std::move(read).error());
    const bool twice = std::any_of(stack.recipes.begin(), stack.recipes.end(),
                                   [&](const Recipe& known) { return known.name == read->name; });
    if (twice) return fail(fmt::format("{}: found {} twice", kRecipesKey, quoted(read->name)), item.at);
    stack.recipes.push_back(*std::move(read));
  }
  return {};
}

Result<void> read_rules(const Node& node, Stack& stack) {
  const Node* rules = node.find(kRulesKey);
  if (rules == nullptr) return {};
  auto read = parse_launch_rules(*rules);
  if (!read) return named(kRulesKey, std::move(read).error());
  stack.rules = *std::move(read);
  return {};
}

// The maps of choices beside the parts.
Result<void> read_sections(const Node& node, Stack& stack) {
  Result<void> result;
  for_each_field(kStackSections, [&](const auto& section) {
    if (!result) return;
    const auto map = optional_section(node, section.key, keys_of(section.fields));
    result = map ? read_fields(**map, section.fields, stack.*section.member)
                 : Result<void>(tl::unexpected(map.error()));
  });
  return result;
}

}  // namespace

Result<Stack> parse_stack_with(const RecipeReader& recipe, const Node& node) {
  std::vector<std::string_view> allowed = keys_of(kStackFields);
  allowed.push_back("parts");
  allowed.push_back(kRecipesKey);
  allowed.push_back(kRulesKey);
  allowed.push_back(kRowsKey);
  for (const std::string_view section : keys_of(kStackSections)) allowed.push_back(section);
  for (const std::string_view key : keys_of(kCatalogFields)) allowed.push_back(key);
  TRY(only_fields(node, "a stack", allowed));
  TRY(aliases_of(node));
  TRY(row_words_of(node));
  Stack stack;
  stack.name = "inline";
  TRY(read_fields(node, kStackFields, stack));
  TRY(read_parts(node, stack));
  TRY(read_sections(node, stack));
  TRY(read_recipes(node, recipe, stack));
  TRY(read_rules(node, stack));
  return stack;
}

}  // namespace foretrain
