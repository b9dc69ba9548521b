// A run as its file is understood. Text is a RUN.yaml with what is not sure in comments; JSON is
//   {"format": ..., "model": {...}, "plan": {...}, "seq": N, "global_batch": N, "gpus": N, "stack": ..., "unknown_flags": [],
//    "not_modelled": [{"flag": ..., "changes": ...}], "contradictions": [], "assumed": []}
// where null stands for what the file does not say.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml.h"
#include "spec/model.h"

namespace foretrain {

struct UnderstoodRun {
  std::string format;
  Node run;
  std::optional<Model> model;  // where all of it is known
  std::vector<std::string> unknown_flags;
  std::vector<std::pair<std::string, std::string>> not_modelled;
  std::vector<std::string> contradictions, assumed;
};

std::string run_text(const UnderstoodRun& run);
std::string run_json(const UnderstoodRun& run);

}  // namespace foretrain
