// A run in any format, as it is understood: our RUN.yaml, or JSON; or as another framework is launched with it.
#pragma once

#include <string>

#include "ask/predict.h"
#include "ask/session.h"
#include "base/files.h"

namespace foretrain {

struct ConvertRequest {
  Source file;
  std::string to = "run";
  bool json = false;
  PredictRequest given;  // of a launch: words that hold in place of the file's
};

Result<std::string> ask(Session& session, const ConvertRequest& request);

}  // namespace foretrain
