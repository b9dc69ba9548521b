// The text of a file, or of stdin where it is called "-".
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "ask/session.h"

namespace foretrain {

inline Result<Source> read_source(const Session& session, const std::string& file, std::size_t most) {
  if (file != "-") {
    TRY_ASSIGN(std::string text, session.files().read(file, most));
    return Source{file, std::move(text)};
  }
  Source source{"stdin", {}};
  char buffer[65536];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) {
    source.text.append(buffer, count);
    if (source.text.size() > most)
      return fail(fmt::format("larger than {} MiB", most >> 20), {"stdin", 0, 0});
  }
  return source;
}

inline constexpr std::size_t kMostRunBytes = std::size_t{64} << 20;  // a log may hold the arguments

inline Result<Source> read_run_source(const Session& session, const std::string& file) {
  return read_source(session, file, kMostRunBytes);
}

}  // namespace foretrain
