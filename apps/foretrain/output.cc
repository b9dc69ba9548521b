#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/field.h"
#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"

namespace foretrain {

int answer(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return 0;
  std::fprintf(stderr, "foretrain: error: cannot write the answer: %s\n", std::strerror(errno));
  return 2;
}

std::string option_word(std::string_view field) {
  if (field == "out") return "-o";
  std::string word = "--" + std::string(field);
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

int refuse(const Error& error) {
  std::fprintf(stderr, "%s\n", text_of(error, option_word).c_str());
  return 2;
}

tl::unexpected<Error> at_option(std::string_view option, Error error) {
  if (error.at.file.empty()) error.message = std::string(option) + ": " + error.message;
  return tl::unexpected(std::move(error));
}
}  // namespace foretrain
