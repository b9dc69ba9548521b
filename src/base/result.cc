#include "base/result.h"

#include "base/text.h"

namespace foretrain {

std::string Error::text() const {
  std::string place = at.file.empty() ? "foretrain" : printable(at.file);
  if (!at.file.empty() && at.line > 0) {
    place += ':' + std::to_string(at.line);
    if (at.column > 0) place += ':' + std::to_string(at.column);
  }
  return place + ": error: " + printable(message);
}

}  // namespace foretrain
