#include "schema_files.h"

#include "server/page.h"

namespace foretrain {
namespace {

constexpr std::string_view kFolder = "docs/schemas/", kSuffix = ".json";

std::string_view name_of(const EmbeddedFile& file) {
  if (!file.path.starts_with(kFolder) || !file.path.ends_with(kSuffix)) return {};
  return file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kSuffix.size());
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : page_files())
    if (const std::string_view name = name_of(file); !name.empty()) names.emplace_back(name);
  return names;
}

std::optional<std::string_view> schema_of(std::string_view name) {
  for (const EmbeddedFile& file : page_files())
    if (!name.empty() && name_of(file) == name) return file.content;
  return std::nullopt;
}

}  // namespace foretrain
