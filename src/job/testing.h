// What tests of checks share.
#pragma once

#include <string>

#include "job/run_check.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

namespace foretrain {

// Why a plan is refused on 64 GPUs, 64 sequences a step; empty: it is legal.
inline std::string refused(const char* model, const char* stack, const char* plan, std::int64_t seq,
                           const char* cluster = "dgx-h100") {
  const Catalog catalog;
  Run run;
  run.model = catalog.model(model).value();
  run.cluster = catalog.cluster(cluster).value();
  run.stack = catalog.stack(stack).value();
  run.plan = parse_plan(plan).value();
  run.gpus = 64;
  run.seq = seq;
  run.global_batch = 64;
  const auto checked = check_run(run);
  return checked ? "" : checked.error().message;
}

}  // namespace foretrain
