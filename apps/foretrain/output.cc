#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"

namespace foretrain {

int answer(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return 0;
  std::fprintf(stderr, "foretrain: error: cannot write the answer: %s\n", std::strerror(errno));
  return 1;
}

int refuse(const Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 2;
}

Result<void> check_profile(std::string_view word) {
  if (word.empty() || word == "analytic") return {};
  const std::string known[] = {"analytic"};
  return fail("--profile: unknown profile " + quoted(word) + suggestion(word, known));
}

}  // namespace foretrain
