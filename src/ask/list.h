// The names that other requests take, each with what stands behind it.
#pragma once

#include <string>

#include "ask/session.h"
#include "report/list_report.h"

namespace foretrain {

struct ListRequest {
  std::string kind;  // models, gpus, clusters, stacks, recipes, schedules or profiles
};

Result<ListReport> ask(Session& session, const ListRequest& request);

}  // namespace foretrain
