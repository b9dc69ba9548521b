#include "base/files.h"

#include "base/file.h"

namespace foretrain {
namespace {

class Disk final : public Files {
 public:
  Result<std::string> read(const std::string& path, std::size_t max_bytes) const override {
    return read_file(path, max_bytes);
  }
  bool is_file(const std::string& path) const override { return foretrain::is_file(path); }
  bool is_folder(const std::string& path) const override { return foretrain::is_folder(path); }
  Result<std::vector<std::string>> list(const std::string& folder, std::string_view suffix) const override {
    return list_folder(folder, suffix);
  }
  Result<std::vector<std::string>> folders(const std::string& folder) const override {
    return list_folders(folder);
  }
};

class NoFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path, std::size_t) const override { return refused(path); }
  bool is_file(const std::string&) const override { return false; }
  bool is_folder(const std::string&) const override { return false; }
  Result<std::vector<std::string>> list(const std::string& folder, std::string_view) const override {
    return refused(folder);
  }
  Result<std::vector<std::string>> folders(const std::string& folder) const override {
    return refused(folder);
  }

 private:
  static tl::unexpected<Error> refused(const std::string& path) {
    return fail("found a path, expected a name: no files are read here", Position{path});
  }
};

}  // namespace

const Files& disk() {
  static const Disk files;
  return files;
}

const Files& no_files() {
  static const NoFiles files;
  return files;
}

Result<Sources> read_sources(const Files& files, const std::string& path, std::string_view suffix,
                             std::size_t max_bytes_each) {
  Sources sources{path, files.is_folder(path), {}};
  std::vector<std::string> paths = {path};
  if (sources.folder) {
    TRY_ASSIGN(paths, files.list(path, suffix));
    for (std::string& name : paths) name = path + (path.ends_with('/') ? "" : "/") + name;
  }
  for (const std::string& file : paths) {
    TRY_ASSIGN(std::string text, files.read(file, max_bytes_each));
    sources.files.push_back({file, std::move(text)});
  }
  return sources;
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));  // npos + 1 is 0
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return "";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace foretrain
