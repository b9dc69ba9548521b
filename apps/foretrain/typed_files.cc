#include "typed_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::string_view kOpened = "/dev/fd/";
constexpr std::int64_t kMostOpen = 1'000'000;

bool is_stdin(const std::string& path) { return path == "-" || path == "/dev/stdin"; }
bool is_stream(const std::string& path) { return is_stdin(path) || path.starts_with(kOpened); }

// Of what is open already: stdin, or what the shell opened for us.
Result<std::string> read_stream(int descriptor, const std::string& name, std::size_t max_bytes) {
  std::string text;
  char buffer[65536];
  ssize_t count = 0;
  while ((count = ::read(descriptor, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > max_bytes)
      return fail(fmt::format("larger than {} MiB", max_bytes >> 20), {name, 0, 0});
  }
  if (count < 0) return fail("cannot be read", {name, 0, 0});
  return text;
}

}  // namespace

Result<std::string> TypedFiles::read(const std::string& path, std::size_t max_bytes) const {
  if (!is_stream(path)) return disk().read(path, max_bytes);
  const std::string name = is_stdin(path) ? "stdin" : path;
  if (const auto known = read_.find(name); known != read_.end()) return known->second;
  const auto number =
      is_stdin(path) ? std::optional<std::int64_t>(STDIN_FILENO) : parse_integer(path.substr(kOpened.size()));
  if (!number || *number < 0 || *number > kMostOpen) return fail("is no open file", {name, 0, 0});
  TRY_ASSIGN(std::string text, read_stream(static_cast<int>(*number), name, max_bytes));
  return read_[name] = std::move(text);
}

bool TypedFiles::is_file(const std::string& path) const { return is_stream(path) || disk().is_file(path); }

}  // namespace foretrain
