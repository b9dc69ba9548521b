// replace_folder: the new folder is made beside and takes the old one's place in one step.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

std::error_code copy_others(const std::string& from, const std::string& to,
                            const std::vector<std::string>& owned) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(from, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (std::find(owned.begin(), owned.end(), name) != owned.end()) continue;
    fs::copy(entry->path(), fs::path(to) / name,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) break;
  }
  return error;
}

// `made` takes the place of `folder`; what stood there is gone afterwards.
std::error_code put_in_place(const std::string& made, const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder)) {
    fs::rename(made, folder, error);
    return error;
  }
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(made, error);
    return {};
  }
  // A file system that cannot exchange: two steps, and back if the second fails.
  const std::string old = made + ".old";
  fs::rename(folder, old, error);
  if (error) return error;
  fs::rename(made, folder, error);
  std::error_code ignored;
  if (error)
    fs::rename(old, folder, ignored);
  else
    fs::remove_all(old, ignored);
  return error;
}

}  // namespace

Result<void> replace_folder(const std::string& given, const std::vector<OutputFile>& files,
                            const std::vector<std::string>& owned) {
  std::error_code error;
  const std::string folder = is_folder(given) ? fs::canonical(given, error).string() : given;
  const std::string made = folder + ".partial." + std::to_string(::getpid());
  const auto failed = [&](const std::error_code& why) -> Result<void> {
    if (!why) return {};
    return cannot("write", folder, why.value());
  };
  if (error) return failed(error);
  if (!fs::create_directory(made, error)) return failed(error);
  const Removal removal(made);
  if (is_folder(folder)) TRY(failed(copy_others(folder, made, owned)));
  for (const OutputFile& file : files) {
    fs::create_directories(fs::path(made + "/" + file.name).parent_path(), error);
    TRY(failed(error));
    if (auto written = write_file(made + "/" + file.name, file.content); !written)
      return fail(written.error().message, Position{folder});
  }
  return failed(put_in_place(made, folder));
}

}  // namespace foretrain
