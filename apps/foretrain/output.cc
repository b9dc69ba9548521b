#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "report/json_csv.h"

namespace foretrain {

namespace {

Result<void> write_stdout(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return {};
  return fail(std::string("cannot write the answer: ") + std::strerror(errno));
}

}  // namespace

bool is_stdout(std::string_view path) { return path == "-"; }

Result<void> write_output(const std::string& path, std::string_view text) {
  return is_stdout(path) ? write_stdout(text) : write_file(path, text);
}

Result<void> check_output(const std::string& path) {
  return is_stdout(path) ? Result<void>() : check_writable(path);
}

Result<void> check_rows_output(const std::string& csv, bool json) {
  if (csv.empty()) return {};
  if (is_stdout(csv) && json) return fail_field("csv", "found stdout, where " + marked("json") + " goes");
  return of_field("csv", check_output(csv));
}

Result<void> write_rows(const std::string& csv, std::string_view json, std::string_view key) {
  return csv.empty() ? Result<void>() : write_output(csv, csv_of(json, key));
}

int tell(std::string_view text) {
  const auto written = write_stdout(text);
  return written ? 0 : refuse(written.error(), {});
}

int refuse(const Error& error, const FieldWords& words) {
  std::fprintf(stderr, "%s\n", text_of(error, words).c_str());
  return error.kind == ErrorKind::kFault ? 1 : 2;
}

std::string without_slashes(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder);
}

Result<void> check_replaceable(const std::string& folder, bool force, std::string_view what) {
  if (!exists(folder)) return {};
  if (!is_folder(folder)) return fail_field("out", foretrain::quoted(folder) + " is not a folder");
  if (force) return {};
  return fail_field("out", foretrain::quoted(folder) + " exists; give " + marked("force") + " to replace " +
                               std::string(what));
}

}  // namespace foretrain
