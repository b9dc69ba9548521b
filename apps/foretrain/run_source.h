// The text of a file, or of stdin where it is called "-".
#pragma once

#include <string>

#include "ask/session.h"

namespace foretrain {

inline Result<Source> read_source(const Session& session, const std::string& file, std::size_t most) {
  TRY_ASSIGN(std::string text, session.files().read(file, most));
  return Source{file == "-" ? "stdin" : file, std::move(text)};
}

inline constexpr std::size_t kMostRunBytes = std::size_t{64} << 20;  // a log may hold the arguments

inline Result<Source> read_run_source(const Session& session, const std::string& file) {
  return read_source(session, file, kMostRunBytes);
}

}  // namespace foretrain
