// The FILE of a request that says which run: a RUN.yaml of ours, or whatever a framework is launched with, told by its
// content (formats/foreign_run.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "formats/run_map.h"
#include "spec/catalog.h"

namespace foretrain {

struct RunFile {
  Node node;                          // as a RUN.yaml states it
  std::optional<ForeignRun> foreign;  // none: it is one

  // Where the file states a batch by its parts and the request the GPUs: the batch.
  void complete(std::int64_t gpus);

  // What its reader took for granted, could not model or found at odds, in words that an answer repeats.
  std::vector<std::string> assumed() const;
};

// Whether a log holds the arguments of its run, as Megatron and its forks print them.
bool states_its_run(std::string_view log);

// The model that a file of others names is looked for among the presets under the many spellings that hubs and frameworks have.
Result<RunFile> read_run_file(const Source& source, const Catalog& catalog);

// "NousResearch/Meta-Llama-3.1-8B-Instruct" is llama-3.1-8b; none: no preset is meant.
std::optional<std::string> preset_meant(const Catalog& catalog, std::string_view word);

}  // namespace foretrain
