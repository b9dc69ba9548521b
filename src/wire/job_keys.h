// Keys that several requests have, in the same words: what is trained on what, as the command line's options.
#pragma once

#include "wire/request_keys.h"

namespace foretrain {

template <class Request>
void declare_job(RequestKeys& keys, Request& request) {
  keys.spec("model", request.model,
            "A preset's name, a model file or config.json as an object or as text, or {\"name\", \"text\"}");
  keys.spec("cluster", request.cluster, "A preset's name, or a cluster file likewise");
  keys.word("gpus", request.gpus, "GPUs in all");
  if constexpr (requires { request.plan; })
    keys.plan("plan", request.plan, "\"tp=4,pp=2\", or {\"tp\": 4, \"pp\": 2}");
  keys.word("global_batch", request.global_batch, "Sequences a step, or their tokens: \"4096ktok\"");
  keys.word("seq", request.seq, "Tokens a sequence: 4096, \"128k\"");
  keys.word("documents", request.documents, "Of packed sequences: their mean length, or \"1024x8\"");
  keys.spec("stack", request.stack, "A preset's name, or a stack file likewise");
  keys.word("task", request.task, "pretrain, sft, lora or qlora");
  keys.word("profile", request.profile, "A fitted profile's name, or \"analytic\"");
}

inline constexpr const char* kRunHelp =
    "A RUN.yaml or what a framework is launched with, as text; or a RUN.yaml as an object";
inline constexpr const char* kCalibrationKeyHelp =
    "What measurements of this cluster taught: a folder of calibrate, or the text of its calibration.yaml";
inline constexpr const char* kTokensKeyHelp = "Also what training on this many costs: 3e11, \"300B\"";

}  // namespace foretrain
