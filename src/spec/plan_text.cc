#include "spec/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "spec/plan_fields.h"
#include "spec/read_fields.h"
#include "spec/recipe_text.h"

namespace foretrain {

static Result<void> read_value(const Node& node, std::vector<std::int64_t>& out, const LayerList& kind) {
  std::vector<Node> parts = node.items;
  if (!node.is_list()) {
    TRY_ASSIGN(const std::string text, node.text());
    for (const std::string_view part : split(text, '-')) {
      Node& item = parts.emplace_back();
      item.kind = Node::Kind::kScalar;
      item.scalar = part;
      item.at = node.at;
    }
  }
  if (parts.empty() || parts.size() > kind.most_stages)
    return fail(fmt::format("expected 1 to {} stages, found {}", kind.most_stages, parts.size()), node.at);
  std::vector<std::int64_t> layers;
  for (const Node& part : parts) {
    TRY_ASSIGN(const std::int64_t count, part.integer(0, kind.most_layers));
    layers.push_back(count);
  }
  out = std::move(layers);
  return {};
}

namespace {

// Words joined by + or, as Python's lists are written down, by commas.
std::vector<std::string_view> joined_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view part : split(text, ','))
    for (const std::string_view word : split(part, '+')) words.push_back(trim(word));
  return words;
}

// A list, or such words.
Result<std::vector<Node>> listed_words(const Node& node) {
  std::vector<Node> words = node.items;
  if (!node.is_list()) {
    TRY_ASSIGN(const std::string text, node.text());
    for (const std::string_view part : joined_words(text)) {
      Node& word = words.emplace_back();
      word.kind = Node::Kind::kScalar;
      word.scalar = part;
      word.at = node.at;
    }
  }
  return words;
}

}  // namespace

static Result<void> read_value(const Node& node, RecomputeModules& out, const SomeOf& kind) {
  TRY_ASSIGN(const std::vector<Node> words, listed_words(node));
  RecomputeModules modules;
  for (const Node& word : words) {
    RecomputeModule module{};
    TRY(read_value(word, module, OneOf{kind.names}));
    modules.add(module);
  }
  out = modules;
  return {};
}

static Result<void> read_value(const Node& node, LoraTargets& out, const LoraModules&) {
  TRY_ASSIGN(const std::vector<Node> words, listed_words(node));
  LoraTargets targets;
  for (const Node& node_of_word : words) {
    TRY_ASSIGN(const std::string word, node_of_word.text());
    const auto found = std::find_if(kLoraWords.begin(), kLoraWords.end(),
                                    [&](const LoraWord& known) { return known.word == word; });
    if (found == kLoraWords.end()) {
      std::vector<std::string> known;
      for (const LoraWord& of : kLoraWords) known.emplace_back(of.word);
      return fail(fmt::format("unknown module {}{}", quoted(word), suggestion(word, known)), node_of_word.at);
    }
    targets.add(found->targets);
  }
  out = targets;
  return {};
}

static Result<void> read_value(const Node& node, GraphModules& out, const GraphScope&) {
  TRY_ASSIGN(std::vector<Node> words, listed_words(node));
  GraphModules modules;
  const bool none = words.size() == 1 && words.front().scalar == kNoGraph;
  if (words.empty()) return fail("expected none, or what is captured", node.at);
  if (!none)
    for (Node& word : words) {
      if (word.scalar == kFullIteration)
        word.scalar = kGraphModuleNames[static_cast<std::size_t>(GraphModule::kFull)];
      GraphModule module{};
      TRY(read_value(word, module, OneOf{kGraphModuleNames}));
      if (modules.has(module)) return fail(fmt::format("duplicate word {}", quoted(word.scalar)), node.at);
      modules.add(module);
    }
  const bool whole = modules.has(GraphModule::kFull) || modules.has(GraphModule::kLayer);
  if (whole && (modules.bits & (modules.bits - 1)) != 0)
    return fail("layer and full stand alone: each captures what modules would", node.at);
  out = modules;
  return {};
}

namespace {

// `recompute` may name modules in place of its three words.
Node with_modules(const Node& plan) {
  const auto modules_of = [](const Node& value) {
    if (value.is_list()) return true;
    if (value.kind != Node::Kind::kScalar) return false;
    return is_recompute_module(joined_words(value.scalar).front());
  };
  Node map = plan;
  const std::string key(plan_field<&Plan::recompute>.key), modules(plan_field<&Plan::recompute_modules>.key);
  if (map.find(modules) != nullptr) return map;
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    if (map.entries[i].key != key || !modules_of(map.entries[i].value)) continue;
    Node selective;
    selective.kind = Node::Kind::kScalar;
    selective.scalar = kRecomputeNames[static_cast<std::size_t>(Recompute::kSelective)];
    selective.at = map.entries[i].value.at;
    map.entries.emplace_back(modules, std::exchange(map.entries[i].value, std::move(selective)));
    map.key_at.push_back(map.key_at[i]);
    break;
  }
  return map;
}

// `attention: cudnn` says two things.
Node with_kernel(Node map) {
  const std::string kernel(plan_field<&Plan::attention_kernel>.key);
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    Node& value = map.entries[i].value;
    if (map.entries[i].key != plan_field<&Plan::attention>.key || value.kind != Node::Kind::kScalar) continue;
    const auto& names = kAttentionKernelNames;
    if (std::find(names.begin(), names.end(), value.scalar) == names.end() || map.find(kernel) != nullptr)
      break;
    Node named = value;
    value.scalar = kAttentionNames[static_cast<std::size_t>(AttentionKind::kFlash)];
    map.entries.emplace_back(kernel, std::move(named));
    map.key_at.push_back(map.key_at[i]);
    break;
  }
  return map;
}

// `recompute` alone takes back what a file said of modules or layers, where it leaves no place for them.
void forget_recompute(const Node& map, Plan& plan) {
  const auto says = [&map](std::string_view key) { return map.find(std::string(key)) != nullptr; };
  if (!says(plan_field<&Plan::recompute>.key)) return;
  if (plan.recompute != Recompute::kSelective && !says(plan_field<&Plan::recompute_modules>.key))
    plan.recompute_modules = {};
  if (plan.recompute != Recompute::kFull && !says(plan_field<&Plan::recompute_layers>.key))
    plan.recompute_layers = 0;
}

// `optimizer: paged_adamw_8bit` says two things.
Result<Node> with_paged(Node map) {
  constexpr std::pair<std::string_view, OptimizerKind> kPaged[] = {
      {"paged_adamw_8bit", OptimizerKind::kAdamw8bit},
      {"paged_adamw_32bit", OptimizerKind::kAdamw},
      {"paged_adamw", OptimizerKind::kAdamw}};
  const std::string paged(plan_field<&Plan::paged>.key);
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    Node& value = map.entries[i].value;
    if (map.entries[i].key != plan_field<&Plan::optimizer>.key || value.kind != Node::Kind::kScalar) continue;
    for (const auto& [word, kind] : kPaged) {
      if (value.scalar != word) continue;
      value.scalar = kOptimizerNames[static_cast<std::size_t>(kind)];
      if (const Node* stated = map.find(paged)) {
        bool is_paged = false;
        TRY(read_value(*stated, is_paged, Flag{}));
        if (is_paged) return map;
        return fail(
            fmt::format("optimizer {} has its states paged, but paged={} is stated", word, stated->scalar),
            stated->at);
      }
      Node yes = value;
      yes.scalar = "1";
      map.entries.emplace_back(paged, std::move(yes));
      map.key_at.push_back(map.key_at[i]);
      return map;
    }
  }
  return map;
}

// "tp=4,pp=2" as the map that a file would hold, without positions.
Result<Node> plan_map(std::string_view text) {
  Node map;
  map.kind = Node::Kind::kMap;
  if (trim(text).empty()) return map;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    // recompute=moe_act,layernorm goes on.
    if (equals == std::string_view::npos && !map.entries.empty() &&
        map.entries.back().key == plan_field<&Plan::recompute>.key) {
      map.entries.back().value.scalar += fmt::format("+{}", trim(part));
      continue;
    }
    if (equals == std::string_view::npos)
      return fail(fmt::format("expected key=value, found {}", quoted(trim(part))));
    const std::string key(trim(part.substr(0, equals)));
    if (map.find(key) != nullptr) return fail(fmt::format("duplicate key {}", quoted(key)));
    Node value;
    value.kind = Node::Kind::kScalar;
    value.scalar = trim(part.substr(equals + 1));
    map.entries.emplace_back(std::string(key), std::move(value));
    map.key_at.emplace_back();
  }
  return map;
}

std::string value_text(std::int64_t value, const WholeNumber&) { return fmt::format("{}", value); }
std::string value_text(double value, const RealNumber&) { return fmt::format("{}", value); }
std::string value_text(RecomputeModules value, const SomeOf& kind) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < kind.names.size(); ++i)
    if (value.has(static_cast<RecomputeModule>(i))) words.push_back(kind.names[i]);
  return fmt::format("{}", fmt::join(words, "+"));
}
std::string value_text(LoraTargets value, const LoraModules&) {
  if (value == kAllTargets) return "all";
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < kLoraTargetNames.size(); ++i)
    if (value.has(static_cast<LoraTarget>(i))) words.push_back(kLoraTargetNames[i]);
  return fmt::format("{}", fmt::join(words, "+"));
}
std::string value_text(GraphModules value, const GraphScope&) {
  if (value.empty()) return std::string(kNoGraph);
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < kGraphModuleNames.size(); ++i)
    if (value.has(static_cast<GraphModule>(i))) words.push_back(kGraphModuleNames[i]);
  return fmt::format("{}", fmt::join(words, "+"));
}
std::string value_text(const std::string& value, const FreeText&) { return value; }
std::string value_text(const LayerEnds& value, const EndsText&) { return to_text(value); }
std::string value_text(bool value, const Flag&) { return value ? "1" : "0"; }
template <class E>
requires std::is_enum_v<E> std::string value_text(E value, const OneOf& kind) {
  return std::string(kind.names[static_cast<std::size_t>(value)]);
}
std::string value_text(const std::vector<std::int64_t>& layers, const LayerList&) {
  return fmt::format("{}", fmt::join(layers, "-"));
}
template <class T, class Kind>
std::string value_text(const std::optional<T>& value, const Kind& kind) {
  return value ? value_text(*value, kind) : std::string("unset");
}

}  // namespace

bool is_recompute_module(std::string_view word) {
  return std::find(kRecomputeModuleNames.begin(), kRecomputeModuleNames.end(), word) !=
         kRecomputeModuleNames.end();
}

Result<Plan> parse_plan(const Node& node, Plan start) {
  TRY(only_fields(node, "a plan", keys_of(kPlanFields)));
  Plan plan = std::move(start);
  TRY_ASSIGN(const Node map, with_paged(with_kernel(with_modules(node))));
  TRY(read_fields(map, kPlanFields, plan));
  forget_recompute(map, plan);
  return plan;
}

Result<Plan> parse_plan(std::string_view text, Plan start) {
  return plan_map(text).and_then([&](const Node& map) { return parse_plan(map, std::move(start)); });
}

std::string to_text(const Plan& plan, const Plan& other) {
  std::vector<std::string> parts;
  for_each_field(kPlanFields, [&](const auto& f) {
    if (const auto& value = plan.*f.member; value != other.*f.member)
      parts.push_back(fmt::format("{}={}", f.key, value_text(value, f.kind)));
  });
  return join(parts, ",");
}

}  // namespace foretrain
