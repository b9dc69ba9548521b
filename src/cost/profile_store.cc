#include "cost/profile_store.h"

#include <algorithm>
#include <optional>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "spec/embedded.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxModelBytes = 256u << 20;
constexpr int kDeepest = 4;  // a profile that derives from one that derives ...
constexpr std::string_view kEmbeddedFolder = "profiles/";

const EmbeddedFile* embedded(std::string_view path) {
  const std::span<const EmbeddedFile> files = embedded_files();  // sorted
  const auto found =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const EmbeddedFile& file, std::string_view p) { return file.path < p; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

// What profile.yaml says; the models are still to come.
Result<LoadedProfile> parse(std::string_view yaml, bool has_models, const std::string& folder) {
  TRY_ASSIGN(const Node node, parse_yaml(yaml, folder + "/profile.yaml"));
  LoadedProfile loaded;
  loaded.folder = folder;
  TRY_ASSIGN(loaded.info, parse_profile_info(node));
  if (!has_models && loaded.info.derive_from.empty())
    return fail("found no models.bin, which only a profile that derives from another can lack",
                Position{folder + "/profile.yaml", 0, 0});
  return loaded;
}

Result<LoadedProfile> in_program(const EmbeddedFile& yaml, const std::string& folder) {
  const EmbeddedFile* models = embedded(folder + "/models.bin");
  TRY_ASSIGN(LoadedProfile loaded, parse(yaml.content, models != nullptr, folder));
  if (models != nullptr) {
    TRY_ASSIGN(loaded.models, ModelFile::in_program(models->content, folder + "/models.bin"));
  }
  return loaded;
}

// Of the folder's files and those of the copies inside it, each called as seen from the outermost.
Result<void> add_files(const Files& files, const std::string& folder, const std::string& prefix, int depth,
                       std::vector<OutputFile>& out) {
  if (depth > kDeepest) return {};
  for (const auto& [name, most] :
       {std::pair{"profile.yaml", kMaxYamlBytes}, {"models.bin", kMaxModelBytes}}) {
    const std::string path = folder + "/" + name;
    if (!files.is_file(path)) continue;
    TRY_ASSIGN(std::string content, files.read(path, most));
    out.push_back({prefix + name, std::move(content)});
  }
  const std::string parent = folder + "/" + std::string(kParentFolder);
  if (!files.is_folder(parent)) return {};
  return add_files(files, parent, prefix + std::string(kParentFolder) + "/", depth + 1, out);
}

}  // namespace

Result<LoadedProfile> ProfileStore::load_folder(const std::string& folder) const {
  TRY_ASSIGN(const std::string yaml, files_->read(folder + "/profile.yaml", kMaxYamlBytes));
  const std::string models = folder + "/models.bin";
  const bool has_models = files_->is_file(models);
  TRY_ASSIGN(LoadedProfile loaded, parse(yaml, has_models, folder));
  if (has_models) {
    TRY_ASSIGN(std::string bytes, files_->read(models, kMaxModelBytes));
    TRY_ASSIGN(loaded.models, ModelFile::open(std::move(bytes), models));
  }
  return loaded;
}

Result<std::vector<OutputFile>> ProfileStore::files_of(const std::string& folder) const {
  std::vector<OutputFile> out;
  TRY(add_files(*files_, folder, "", 0, out));
  return out;
}

std::string LoadedProfile::parent() const {
  if (!info.derive_from.starts_with("./")) return info.derive_from;
  return folder + info.derive_from.substr(1);
}

std::vector<std::string> ProfileStore::names() const {
  std::vector<std::string> names;
  constexpr std::string_view kFile = "/profile.yaml";
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with(kEmbeddedFolder) && file.path.ends_with(kFile))
      names.emplace_back(
          file.path.substr(kEmbeddedFolder.size(), file.path.size() - kEmbeddedFolder.size() - kFile.size()));
  const std::string own = folder_ + "/profiles";
  if (!folder_.empty())
    if (const auto folders = files_->folders(own))
      for (const std::string& name : *folders)
        if (files_->is_file(own + "/" + name + std::string(kFile))) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<LoadedProfile> ProfileStore::load(std::string_view name_or_folder) const {
  const std::string word(name_or_folder);
  if (!folder_.empty() && files_->is_folder(folder_ + "/profiles/" + word))
    return load_folder(folder_ + "/profiles/" + word);
  const std::string path = std::string(kEmbeddedFolder) + word;
  if (const EmbeddedFile* yaml = embedded(path + "/profile.yaml")) return in_program(*yaml, path);
  if (files_->is_folder(word)) return load_folder(word);
  std::vector<std::string> known = names();
  known.emplace_back(kAnalyticProfile);
  return fail("unknown profile " + foretrain::quoted(word) + suggestion(word, known));
}

Result<std::shared_ptr<const ProfileCost>> ProfileStore::open(LoadedProfile loaded, const Cluster& cluster,
                                                              int depth) const {
  std::shared_ptr<const ProfileCost> parent;
  if (!loaded.info.derive_from.empty()) {
    if (depth == kDeepest)
      return fail("profile " + foretrain::quoted(loaded.parent()) +
                  " derives from others in a circle, or more than four deep");
    TRY_ASSIGN(LoadedProfile of, load(loaded.parent()));
    Cluster elsewhere = cluster;
    TRY_ASSIGN(elsewhere.gpu, catalog_.gpu(of.info.gpu));
    TRY_ASSIGN(parent, open(std::move(of), elsewhere, depth + 1));
  }
  return std::make_shared<const ProfileCost>(std::move(loaded.models), cluster, std::move(parent),
                                             loaded.info.power, loaded.info.host_launch);
}

Result<ProfileStore::Choice> ProfileStore::costs_for(const Cluster& cluster, std::string_view profile) const {
  const auto physics = [&] {
    return Choice{std::make_shared<const AnalyticCost>(cluster), std::string(kAnalyticProfile), 0};
  };
  if (profile == kAnalyticProfile) return physics();
  std::string name(profile);
  if (name.empty()) {
    const std::vector<std::string> known = names();
    if (!std::binary_search(known.begin(), known.end(), cluster.gpu.name)) return physics();
    name = cluster.gpu.name;
  }
  TRY_ASSIGN(LoadedProfile loaded, load(name));
  if (loaded.info.gpu != cluster.gpu.name)
    return fail("profile " + foretrain::quoted(name) + " is of " + loaded.info.gpu + ", but " + cluster.name +
                " has " + cluster.gpu.name);
  std::string said = loaded.info.name;
  TRY_ASSIGN(auto costs, open(std::move(loaded), cluster, 0));
  const std::size_t bytes = costs->model_bytes();
  return Choice{std::move(costs), std::move(said), bytes};
}

}  // namespace foretrain
