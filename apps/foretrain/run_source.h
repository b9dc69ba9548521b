// The text of a run's file, or of stdin where it is called "-".
#pragma once

#include <cstdio>
#include <string>

#include "ask/session.h"

namespace foretrain {

inline constexpr std::size_t kMostRunBytes = std::size_t{64} << 20;  // a log may hold the arguments

inline Result<Source> read_run_source(const Session& session, const std::string& file) {
  if (file != "-") {
    TRY_ASSIGN(std::string text, session.files().read(file, kMostRunBytes));
    return Source{file, std::move(text)};
  }
  Source source{"stdin", {}};
  char buffer[65536];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) {
    source.text.append(buffer, count);
    if (source.text.size() > kMostRunBytes) return fail("larger than 64 MiB", {"stdin", 0, 0});
  }
  return source;
}

}  // namespace foretrain
