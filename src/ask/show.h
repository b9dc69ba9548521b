// A preset as its file stands, comments and so the origin of each figure included; of a profile, its models.
// After a model its exact size, after a cluster what its links come to. A model in another format is shown as it was
// understood: as the model file that says the same.
#pragma once

#include <string>

#include "ask/session.h"

namespace foretrain {

struct ShowRequest {
  std::string kind;  // model, gpu, cluster, stack, recipe or profile
  std::string name;
  bool json = false;
};

Result<std::string> ask(Session& session, const ShowRequest& request);

}  // namespace foretrain
