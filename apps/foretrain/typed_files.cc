#include "typed_files.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/file.h"

namespace foretrain {
namespace {

bool is_stdin(const std::string& path) { return path == "-" || path == "/dev/stdin"; }
bool is_stream(const std::string& path) { return is_stdin(path) || path.starts_with("/dev/fd/"); }

Result<std::string> read_stream(std::FILE* stream, const std::string& name, std::size_t max_bytes) {
  std::string text;
  char buffer[65536];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stream)) {
    text.append(buffer, count);
    if (text.size() > max_bytes)
      return fail(fmt::format("larger than {} MiB", max_bytes >> 20), {name, 0, 0});
  }
  return text;
}

}  // namespace

Result<std::string> TypedFiles::read(const std::string& path, std::size_t max_bytes) const {
  if (!is_stream(path)) return disk().read(path, max_bytes);
  const std::string name = is_stdin(path) ? "stdin" : path;
  if (const auto known = read_.find(name); known != read_.end()) return known->second;
  if (is_stdin(path)) {
    TRY_ASSIGN(std::string text, read_stream(stdin, name, max_bytes));
    return read_[name] = std::move(text);
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return fail("cannot be opened", {name, 0, 0});
  TRY_ASSIGN(std::string text, read_stream(file.get(), name, max_bytes));
  return read_[name] = std::move(text);
}

bool TypedFiles::is_file(const std::string& path) const { return is_stream(path) || disk().is_file(path); }

}  // namespace foretrain
