#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace foretrain {

int tell(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return 0;
  std::fprintf(stderr, "foretrain: error: cannot write the answer: %s\n", std::strerror(errno));
  return 2;
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
