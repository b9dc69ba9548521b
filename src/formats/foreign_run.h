// A run in a format of others, told by its content: a launch script or a command line, the block of arguments in a log, a
// framework's configuration (tree_formats.h), a config.json alone.
#pragma once

#include <optional>
#include <string>

#include "formats/run_map.h"

namespace foretrain {

// None: the text may be a RUN.yaml of ours.
Result<std::optional<ForeignRun>> read_foreign_run(const std::string& text, const std::string& file);

}  // namespace foretrain
