#include "wire/held_files.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostBytesEach = std::size_t{256} << 20;  // as a profile's models
constexpr std::size_t kMostFiles = 10'000;
constexpr int kDeepest = 6;  // presets/profiles/NAME/parent/...

Result<void> hold_all(const Files& files, const std::string& folder, int depth, std::size_t& count,
                      HeldFiles& out) {
  if (depth > kDeepest) return {};
  TRY_ASSIGN(const std::vector<std::string> names, files.list(folder, ""));
  for (const std::string& name : names) {
    if (++count > kMostFiles) return fail(fmt::format("more than {} files", kMostFiles), {folder, 0, 0});
    const std::string path = folder + "/" + name;
    TRY_ASSIGN(std::string text, files.read(path, kMostBytesEach));
    out.hold(path, std::move(text));
  }
  TRY_ASSIGN(const std::vector<std::string> below, files.folders(folder));
  for (const std::string& name : below) TRY(hold_all(files, folder + "/" + name, depth + 1, count, out));
  return {};
}

}  // namespace

Result<std::string> HeldFiles::read(const std::string& path, std::size_t max_bytes) const {
  const auto found = texts_.find(path);
  if (found == texts_.end()) {
    if (below_ != nullptr) return below_->read(path, max_bytes);
    return fail("unknown name, and no file is opened here: give a preset's name, or the content");
  }
  if (found->second.size() > max_bytes)
    return fail(fmt::format("larger than {} bytes", max_bytes), Position{path});
  return found->second;
}

bool HeldFiles::is_file(const std::string& path) const {
  return texts_.contains(path) || (below_ != nullptr && below_->is_file(path));
}

bool HeldFiles::is_folder(const std::string& path) const {
  const std::string inside = path + "/";
  const auto first = texts_.lower_bound(inside);
  return (first != texts_.end() && first->first.starts_with(inside)) ||
         (below_ != nullptr && below_->is_folder(path));
}

Result<std::vector<std::string>> HeldFiles::list(const std::string& folder, std::string_view suffix) const {
  if (below_ != nullptr) return below_->list(folder, suffix);
  std::vector<std::string> names;
  const std::string inside = folder + "/";
  for (auto it = texts_.lower_bound(inside); it != texts_.end() && it->first.starts_with(inside); ++it) {
    std::string name = it->first.substr(inside.size());
    if (name.find('/') == std::string::npos && name.ends_with(suffix)) names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<std::string>> HeldFiles::folders(const std::string& folder) const {
  if (below_ != nullptr) return below_->folders(folder);
  std::set<std::string> names;
  const std::string inside = folder + "/";
  for (auto it = texts_.lower_bound(inside); it != texts_.end() && it->first.starts_with(inside); ++it)
    if (const std::size_t slash = it->first.find('/', inside.size()); slash != std::string::npos)
      names.insert(it->first.substr(inside.size(), slash - inside.size()));
  return std::vector<std::string>(names.begin(), names.end());
}

Result<HeldFiles> folder_held(const Files& files, const std::string& folder) {
  HeldFiles out;
  std::size_t count = 0;
  if (!folder.empty()) TRY(hold_all(files, folder, 0, count, out));
  return out;
}

}  // namespace foretrain
