// Options that several subcommands have, in the same words.
#pragma once

#include "options.h"

namespace foretrain {

inline constexpr const char* kProfileHelp =
    "Where operators' seconds come from: a profile, or analytic; without it, the GPU's own";
inline constexpr const char* kCsvHelp =
    "Also its rows as CSV, in columns named as the keys of --json; - is stdout";
inline constexpr const char* kCalibrationHelp =
    "What measurements of this cluster taught: a folder of foretrain calibrate";
inline constexpr const char* kTokensHelp = "Also what training on this many costs: 300e9, 300B, 1.5T";

// What is trained on what: fields of the same names in a PredictRequest, which has a plan too, and a
// SearchRequest.
template <class Request>
void declare_job(Options& options, Request& request, const char* gpus_help) {
  options.group("What is trained, and on what");
  options.option("--model", "M", request.model,
                 "A name (foretrain list models), a YAML file, or a config.json or its folder",
                 Takes::kModel);
  options.option("--cluster", "C", request.cluster,
                 "A name (foretrain list clusters), a YAML file, or a folder of fit --cluster",
                 Takes::kCluster);
  options.option("--gpus", "N", request.gpus, gpus_help);
  if constexpr (requires { request.plan; })
    options.option("--plan", "PLAN", request.plan, "tp=4,pp=2,micro_batch=1,recompute=full,zero=1,...",
                   Takes::kPlan);
  if constexpr (requires { request.plan; }) {
    options.option("--global-batch", "B", request.global_batch,
                   "Sequences a step, or their tokens (4096ktok)");
    options.option("--seq", "S", request.seq, "Tokens a sequence: 4096, 128k, 1M");
  } else {
    options.option("--global-batch", "B", request.global_batch,
                   "Sequences a step, or their tokens (4096ktok); a list 512,1024 or a range 512..4096: the "
                   "best of each");
    options.option("--seq", "S", request.seq,
                   "Tokens a sequence: 4096, 128k, 1M; a list or a range likewise");
  }
  options.option(
      "--documents", "D", request.documents,
      "Of packed sequences: the mean length of documents (512), or the lengths that fill one (1024x8)");
  options.option("--stack", "K", request.stack, "A name (foretrain list stacks) or a YAML file",
                 Takes::kStack);
  options.option("--task", "T", request.task, "What is trained: pretrain, sft, lora or qlora",
                 {"pretrain", "sft", "lora", "qlora"});
  options.option("--profile", "P", request.profile, kProfileHelp, Takes::kProfile);
}

}  // namespace foretrain
