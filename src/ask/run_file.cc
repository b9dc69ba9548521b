#include "ask/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "formats/foreign_run.h"
#include "formats/launch.h"
#include "formats/printed_config.h"
#include "samples/training_log.h"

namespace foretrain {
namespace {

// Letters and digits of a name without its organisation, and without what says how it was tuned or stored.
std::string plain(std::string_view word) {
  if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos)
    word.remove_prefix(slash + 1);
  std::string out;
  for (const char c : word) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  if (out.starts_with("metallama")) out.erase(0, 4);
  constexpr std::array<std::string_view, 9> kEnds = {"instruct", "chat", "hf",  "base",    "it",
                                                     "bf16",     "nf4",  "bnb", "pretrain"};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view end : kEnds)
      if (out.size() > end.size() && out.ends_with(end)) out.resize(out.size() - end.size()), again = true;
  }
  return out;
}

Node* entry(Node& map, std::string_view key) {
  for (auto& [name, value] : map.entries)
    if (name == key) return &value;
  return nullptr;
}

// A framework may run a recipe that the stack which its flags mean is not described with: its family's word then means
// the stack's own, which is told.
void settle_precision(ForeignRun& foreign, const Catalog& catalog) {
  const Node* word = foreign.run.find("stack");
  Node* plan = entry(foreign.run, "plan");
  Node* precision = plan == nullptr ? nullptr : entry(*plan, "precision");
  if (word == nullptr || !word->is_scalar() || precision == nullptr || !precision->is_scalar()) return;
  const auto stack = catalog.stack(word->scalar);
  if (!stack) return;
  const auto runs = [&](std::string_view name) {
    return std::any_of(stack->recipes.begin(), stack->recipes.end(), [&](const Recipe& recipe) {
      return recipe.name == name || foretrain::name(recipe.family) == name;
    });
  };
  const std::string family = precision->scalar.substr(0, precision->scalar.find('-'));
  if (runs(precision->scalar) || family == precision->scalar || !runs(family)) return;
  foreign.assumed.push_back(fmt::format("precision: {} as {}, which stack {} is described with",
                                        printable(precision->scalar), family, stack->name));
  precision->scalar = family;
}

}  // namespace

std::vector<std::string> RunFile::assumed() const {
  std::vector<std::string> out;
  if (!foreign) return out;
  for (const std::string& words : foreign->contradictions)
    out.push_back("contradiction in the file: " + words);
  for (const std::string& words : foreign->assumed) out.push_back("file: " + words);
  for (const auto& [flag, what] : foreign->not_modelled)
    out.push_back(fmt::format("file: {} changes {} and is not modelled", printable(flag), what));
  if (!foreign->unknown_flags.empty())
    out.push_back(fmt::format("file: {} flags are not known, {} among them", foreign->unknown_flags.size(),
                              printable(foreign->unknown_flags.front())));
  return out;
}

void RunFile::complete(std::int64_t gpus) {
  const auto batch = foreign ? batch_on(*foreign, gpus) : std::nullopt;
  if (!batch || gpus < 1) return;
  Node value;
  value.kind = Node::Kind::kScalar;
  value.scalar = std::to_string(*batch);
  node.entries.emplace_back("global_batch", std::move(value));
  node.key_at.push_back(node.at);
}

bool states_its_run(std::string_view log) { return has_argument_block(log) || has_printed_config(log); }

std::optional<std::string> preset_meant(const Catalog& catalog, std::string_view word) {
  if (auto name = catalog.meant("models", word)) return name;
  const std::string wanted = plain(word);
  for (const std::string& name : catalog.names("models")) {
    if (plain(name) == wanted) return name;
    for (const std::string& alias : catalog.aliases("models", name))
      if (plain(alias) == wanted) return name;
  }
  return std::nullopt;
}

Result<RunFile> read_run_file(const Source& source, const Catalog& catalog) {
  TRY_ASSIGN(std::optional<ForeignRun> foreign, read_foreign_run(source.text, source.name));
  if (!foreign) {
    auto node = parse_yaml(source.text, source.name);
    if (!node && parse_training_log(source.text, source.name))
      return fail(
          "found a training log that does not state its run, expected a run's file; import log tells its "
          "steps, and diagnose holds them against a run",
          Position{source.name});
    if (!node) return tl::unexpected(std::move(node).error());
    return RunFile{*std::move(node), std::nullopt};
  }
  for (auto& [key, value] : foreign->run.entries) {
    if (key != "model" || !value.is_scalar()) continue;
    if (const auto name = preset_meant(catalog, value.scalar); name && *name != value.scalar) {
      foreign->assumed.push_back(fmt::format("model: {} is preset {}", printable(value.scalar), *name));
      value.scalar = *name;
    }
  }
  settle_precision(*foreign, catalog);
  Node node = foreign->run;
  return RunFile{std::move(node), std::move(foreign)};
}

}  // namespace foretrain
