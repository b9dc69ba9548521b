// A launch for scripts:
//   {"framework": ..., "argv": [...], "env": {...}, "files": [{"name": ..., "text": ...}], "nodes": N, "gpus_per_node": N,
//    "beyond": [{"name": ..., "what": ..., "usual": ...}], "notes": [...]}
// ${NAME} in argv and files is what beyond[] lists; usual is null where it has to be given.
#pragma once

#include <string>
#include <vector>

#include "formats/launch_text.h"

namespace foretrain {

class JsonWriter;

// A launch with the run that it is of, and lines about it.
struct WholeLaunch {
  Launch launch;
  LaunchRun run;
  std::vector<std::string> about;
};

void write_launch(JsonWriter& w, const WholeLaunch& whole);
std::string launch_json(const WholeLaunch& whole);

}  // namespace foretrain
