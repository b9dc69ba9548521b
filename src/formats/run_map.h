// Facts of a configuration as the run that they mean: the map that a RUN.yaml would hold (docs/formats/run.md) without its
// cluster, which no framework's files know. What follows from the rest is filled in (GPUs from nodes, a batch from its
// parts), and what does not go together is told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "formats/facts.h"

namespace foretrain {

struct ForeignRun {
  std::string format;  // in words: "Megatron-LM's command line"
  Node run;            // model, plan, seq, global_batch, gpus, stack: those that are known
  std::vector<std::string> unknown_flags;
  std::vector<std::pair<std::string, std::string>> not_modelled;  // flags, and what they change
  std::vector<std::string> contradictions, assumed;
  std::optional<std::int64_t> accumulation;  // micro-batches a rank and step, where the file states these
};

// The batch that a file states by its parts, on so many GPUs; none: it is stated outright, or not at all.
std::optional<std::int64_t> batch_on(const ForeignRun& run, std::int64_t gpus);

ForeignRun foreign_run(std::string_view format, Facts facts);

}  // namespace foretrain
