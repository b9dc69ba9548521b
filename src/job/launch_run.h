// A checked run as a framework is to launch it (formats/launch_run.h): every choice stated that its plan leaves to its stack and
// that means something here.
#pragma once

#include "formats/launch_run.h"
#include "spec/run.h"

namespace foretrain {

LaunchRun launch_run_of(const Run& run);

// The plan alone.
Plan stated_plan(const Run& run);

}  // namespace foretrain
