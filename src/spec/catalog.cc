#include "spec/catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "spec/catalog_entry.h"
#include "spec/cluster_text.h"
#include "spec/embedded.h"
#include "spec/gpu_text.h"
#include "spec/model_text.h"
#include "spec/recipe_text.h"
#include "spec/stack_base.h"
#include "spec/stack_text.h"

namespace foretrain {

namespace {

constexpr std::string_view kSuffix = ".yaml";

constexpr std::string_view kModels = "models";
constexpr std::string_view kStacks = "stacks";
constexpr int kMostBases = 4;  // of a stack, one over the other

bool is_yaml(std::string_view word) { return word.ends_with(kSuffix) || word.ends_with(".yml"); }

bool is_path(std::string_view word) { return word.find('/') != std::string_view::npos || is_yaml(word); }

// Upper and lower case alike.
bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

constexpr int kMostOffered = 12;

bool holds(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at + word.size() <= text.size(); ++at)
    if (same_letters(text.substr(at, word.size()), word)) return true;
  return false;
}

// What a cluster's file says of its GPU, where that is a name.
std::string gpu_line(std::string_view content) {
  constexpr std::string_view kKey = "\ngpu: ";
  const std::size_t at = content.find(kKey);
  if (at == std::string_view::npos) return "";
  const std::string_view line = content.substr(at + kKey.size());
  return std::string(line.substr(0, line.find_first_of("\n#")));
}

// The first of: the path as it stands (so from the current directory), from the folder of the file that names
// it. Where neither is there the path as it stands, for the error.
std::string resolved(const Files& files, const std::string& path, const std::string& named_in) {
  if (files.is_file(path) || named_in.empty() || path.starts_with('/')) return path;
  const std::string folder = folder_of(named_in);
  const std::string beside = folder.empty() || folder.ends_with('/') ? folder + path : folder + "/" + path;
  return files.is_file(beside) ? beside : path;
}

// "models/tiny.yaml" is called tiny.
std::string stem(std::string_view path) {
  const std::string name = file_name(path);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// "Qwen/Qwen3-31B": as hubs name models.
bool is_hub_name(std::string_view word) {
  const std::size_t slash = word.find('/');
  return slash != word.npos && slash != 0 && word.find_first_of(".~") != 0 &&
         word.find('/', slash + 1) == std::string_view::npos && slash + 1 < word.size() &&
         !word.ends_with(".json");
}

Node scalar_node(std::string_view word) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = word;
  return node;
}

}  // namespace

Result<Catalog::Text> Catalog::read(const std::string& path, const Position& at) const {
  auto content = files_->read(path, kMaxYamlBytes);
  if (!content) return fail(path + ": " + content.error().message, at);
  return Text{*std::move(content), path};
}

std::optional<Result<Catalog::Text>> Catalog::exactly(std::string_view kind, std::string_view name,
                                                      const Position& at) const {
  const std::string below = fmt::format("{}/{}{}", kind, name, kSuffix);
  if (!folder_.empty() && files_->is_file(folder_ + "/" + below)) return read(folder_ + "/" + below, at);
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == below) return Text{std::string(file.content), "presets/" + below};
  return std::nullopt;
}

std::optional<std::string> Catalog::meant(std::string_view kind, std::string_view word) const {
  const std::vector<std::string> known = names(kind);
  for (const std::string& name : known)
    if (same_letters(name, word)) return name;
  if (kind != kModels && kind != kStacks) return std::nullopt;
  std::vector<std::string> in_order = names_in_folder(kind);  // the user's come before the presets
  in_order.insert(in_order.end(), known.begin(), known.end());
  for (const std::string& name : in_order)
    for (const std::string& alias : aliases(kind, name))
      if (same_letters(alias, word)) return name;
  return std::nullopt;
}

// A cache says in refs/main which of its snapshots is the newest; without that word there must be one alone.
std::optional<std::string> Catalog::config_in(const std::string& folder) const {
  const std::string own = folder + "/config.json", snapshots = folder + "/snapshots";
  if (files_->is_file(own)) return own;
  if (!files_->is_folder(snapshots)) return std::nullopt;
  constexpr std::size_t kMostOfRef = 200;
  if (const auto ref = files_->read(folder + "/refs/main", kMostOfRef)) {
    const std::string named = fmt::format("{}/{}/config.json", snapshots, trim(*ref));
    if (files_->is_file(named)) return named;
  }
  const auto all = files_->folders(snapshots);
  if (!all || all->size() != 1) return std::nullopt;
  const std::string only = fmt::format("{}/{}/config.json", snapshots, all->front());
  return files_->is_file(only) ? std::optional(only) : std::nullopt;
}

Result<Catalog::Text> Catalog::find_path(std::string_view kind, std::string_view word,
                                         const Position& at) const {
  const std::string path = resolved(*files_, std::string(word), at.file);
  if (kind != kModels || is_yaml(word) || files_->is_file(path)) return read(path, at);
  if (const auto config = config_in(path)) return read(*config, at);
  if (const auto name = meant(kind, word))
    if (auto found = exactly(kind, *name, at)) return *std::move(found);
  auto refused = read(path, at);
  if (refused) return refused;
  std::vector<std::string> known;
  for (const std::string& name : names(kind))
    for (std::string& alias : aliases(kind, name)) known.push_back(std::move(alias));
  Error error = std::move(refused).error();
  if (is_hub_name(word)) error.message += "; nothing is fetched from a hub: give the model's config.json";
  if (const auto near = nearest(word, known)) error.message += "; did you mean " + quoted(*near) + "?";
  return tl::unexpected<Error>(std::move(error));
}

Result<Catalog::Text> Catalog::find(std::string_view kind, std::string_view word, const Position& at) const {
  // What `fit --cluster` wrote is given as its folder; a preset of that name comes before a folder without a
  // slash.
  const std::string fitted = std::string(word) + "/cluster.yaml";
  const bool is_fitted = kind == "clusters" && files_->is_file(fitted);
  if (is_path(word) && is_fitted) return read(fitted, at);
  if (is_path(word)) return find_path(kind, word, at);
  if (auto found = exactly(kind, word, at)) return *std::move(found);
  if (is_fitted) return read(fitted, at);
  if (files_->is_file(std::string(word))) return read(std::string(word), at);
  if (kind == kModels)
    if (const auto config = config_in(std::string(word))) return read(*config, at);
  if (const auto name = meant(kind, word))
    if (auto found = exactly(kind, *name, at)) return *std::move(found);
  const std::string_view one = kind.substr(0, kind.size() - 1);
  const std::vector<std::string> known = names(kind);
  std::string
      offered;  // clusters that have the word in their GPU's name too: who asks for "h100" knows what, not where
  int count = 0;
  for (const std::string& name : known) {
    if (kind != "clusters" || nearest(word, known)) break;
    const auto text = exactly(kind, name, {});
    const std::string gpu = text && *text ? gpu_line((*text)->content) : "";
    if (!holds(name, word) && !holds(gpu, word)) continue;
    if (++count <= kMostOffered) offered += (offered.empty() ? "" : ", ") + name;
  }
  if (count > kMostOffered) offered += ", ...";
  const std::string hint =
      offered.empty() ? suggestion(word, known) : "; did you mean one of " + offered + "?";
  return fail(fmt::format("unknown {} {}{}", one, quoted(word), hint), at);
}

Result<Node> Catalog::load(std::string_view kind, const Node& name_path_or_map) const {
  if (name_path_or_map.is_map()) return name_path_or_map;
  TRY_ASSIGN(const std::string word, name_path_or_map.text());
  TRY_ASSIGN(const Text found, find(kind, word, name_path_or_map.at));
  if (kind == kModels && foreign_ != nullptr) {
    TRY_ASSIGN(std::optional<Node> read, foreign_(found.content, found.file));
    if (read) return *std::move(read);
  }
  TRY_ASSIGN(Node node, parse_yaml(found.content, found.file));
  if (node.is_map() && node.find("name") == nullptr) {
    // A file that states no name is called as the file is.
    node.entries.emplace_back("name", scalar_node(stem(found.file)));
    node.key_at.push_back(node.at);
  }
  return node;
}

Result<Model> Catalog::model(const Node& name_path_or_map) const {
  return load("models", name_path_or_map).and_then(parse_model);
}
Result<Gpu> Catalog::gpu(const Node& name_path_or_map) const {
  return load("gpus", name_path_or_map).and_then(parse_gpu);
}
Result<Cluster> Catalog::cluster(const Node& name_path_or_map) const {
  TRY_ASSIGN(const Node node, load("clusters", name_path_or_map));
  return parse_cluster(node, [this](const Node& gpu_node) { return gpu(gpu_node); });
}

// What a path means hangs on the file that names it.
static bool is_shared(const Node& node) { return node.is_scalar() && !is_path(node.scalar); }

Result<Node> Catalog::base(const Node& name_or_path, SharedStackFiles& shared) const {
  if (!is_shared(name_or_path)) return load(kStacks, name_or_path);
  auto found = shared.bases.find(name_or_path.scalar);
  if (found == shared.bases.end()) {
    TRY_ASSIGN(Node read, load(kStacks, name_or_path));
    found = shared.bases.emplace(name_or_path.scalar, std::move(read)).first;
  }
  return found->second;
}

Result<Recipe> Catalog::recipe(const Node& name_path_or_map, SharedStackFiles& shared) const {
  if (!is_shared(name_path_or_map)) return recipe(name_path_or_map);
  auto found = shared.recipes.find(name_path_or_map.scalar);
  if (found == shared.recipes.end()) {
    TRY_ASSIGN(Recipe read, recipe(name_path_or_map));
    found = shared.recipes.emplace(name_path_or_map.scalar, std::move(read)).first;
  }
  return found->second;
}

Result<Stack> Catalog::stack(const Node& name_path_or_map, SharedStackFiles& shared) const {
  TRY_ASSIGN(Node node, load(kStacks, name_path_or_map));
  for (int depth = 0; node.is_map() && node.find(kBaseKey) != nullptr; ++depth) {
    const Node below = *node.find(kBaseKey);
    if (depth == kMostBases)
      return fail(fmt::format("found more than {} bases, expected no circle", kMostBases), below.at);
    if (!below.is_scalar()) return fail("base: expected the name or the path of a stack", below.at);
    TRY_ASSIGN(Node base_node, base(below, shared));
    std::optional<Node> further;
    if (const Node* found = base_node.is_map() ? base_node.find(kBaseKey) : nullptr) further = *found;
    node = over_base(std::move(node), std::move(base_node));
    if (further) {
      node.key_at.push_back(further->at);
      node.entries.emplace_back(std::string(kBaseKey), *std::move(further));
    }
  }
  return parse_stack_with([&](const Node& recipe_node) { return recipe(recipe_node, shared); }, node);
}

Result<Stack> Catalog::stack(const Node& name_path_or_map) const {
  SharedStackFiles shared;
  return stack(name_path_or_map, shared);
}

Result<Recipe> Catalog::recipe(const Node& name_path_or_map) const {
  return load("recipes", name_path_or_map).and_then(parse_recipe);
}

Result<Model> Catalog::model(std::string_view name_or_path) const { return model(scalar_node(name_or_path)); }
Result<Gpu> Catalog::gpu(std::string_view name_or_path) const { return gpu(scalar_node(name_or_path)); }
Result<Cluster> Catalog::cluster(std::string_view name_or_path) const {
  return cluster(scalar_node(name_or_path));
}
Result<Stack> Catalog::stack(std::string_view name_or_path) const { return stack(scalar_node(name_or_path)); }
Result<Stack> Catalog::stack(std::string_view name_or_path, SharedStackFiles& shared) const {
  return stack(scalar_node(name_or_path), shared);
}
Result<Recipe> Catalog::recipe(std::string_view name_or_path) const {
  return recipe(scalar_node(name_or_path));
}

std::vector<std::string> Catalog::names_in_folder(std::string_view kind) const {
  std::vector<std::string> names;
  if (folder_.empty()) return names;
  if (const auto files = files_->list(folder_ + "/" + std::string(kind), kSuffix))
    for (const std::string& file : *files) names.push_back(file.substr(0, file.size() - kSuffix.size()));
  return names;
}

std::vector<std::string> Catalog::names(std::string_view kind) const {
  std::vector<std::string> names = names_in_folder(kind);
  const std::string prefix = std::string(kind) + "/";
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with(prefix) && file.path.ends_with(kSuffix))
      names.emplace_back(file.path.substr(prefix.size(), file.path.size() - prefix.size() - kSuffix.size()));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// A file that cannot be read has none: what is wrong with it is said where it is asked for.
std::vector<std::string> Catalog::aliases(std::string_view kind, std::string_view name) const {
  const auto found = exactly(kind, name, {});
  if (!found || !*found) return {};
  return parse_yaml((*found)->content, (*found)->file)
      .and_then(aliases_of)
      .value_or(std::vector<std::string>{});
}

Result<Source> Catalog::source(std::string_view kind, std::string_view name) const {
  TRY_ASSIGN(Text found, find(kind, name, {}));
  return Source{std::move(found.file), std::move(found.content)};
}

Result<std::string> Catalog::text(std::string_view kind, std::string_view name) const {
  TRY_ASSIGN(Text found, find(kind, name, {}));
  return std::move(found.content);
}

}  // namespace foretrain
