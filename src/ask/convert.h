// A run in any format, as it is understood: our RUN.yaml, or JSON.
#pragma once

#include <string>

#include "ask/session.h"
#include "base/files.h"

namespace foretrain {

struct ConvertRequest {
  Source file;
  std::string to = "run";
  bool json = false;
};

Result<std::string> ask(Session& session, const ConvertRequest& request);

}  // namespace foretrain
