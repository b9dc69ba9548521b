// Is a run as fast as it should be (validate/diagnosis.h), as people and programs read it:
//
//   run.log: megatron log, 40 steady lines, spread 0.8 %
//   llama-3-8b (8.03 B parameters) on dgx-h100: 8 x h100-80gb-sxm, stack megatron, profile h100-80gb-sxm
//   plan        tp=2,sp=1,zero=1,recompute=full
//
//   step        measured 3.56 s, predicted 2.74 s (80 % interval 2.5 to 3 s): 30 % longer
//   verdict     slower than expected: of a hundred runs as described 99 are faster
//   memory      measured 61.2 GiB (max reserved), predicted 60.1 GiB: 2 % more
//
//   likely causes
//     12 of 52 lines after the warm-up take over a fifth longer than the others: ...
//       look at: data loading (more workers, local files), ...
//
//   what to try first (each alone; predicted)
//     change                    step  instead of  gain  needs
//     recompute=selective     2.31 s      2.74 s  16 %  64 GiB
#pragma once

#include <string>

#include "search/better_plans.h"
#include "validate/diagnosis.h"

namespace foretrain {

struct DiagnosedRun {
  Run run;
  Prediction prediction;
  Diagnosis diagnosis;
  BetterPlans better;
};

std::string diagnose_text(const DiagnosedRun& diagnosed);
std::string diagnose_json(const DiagnosedRun& diagnosed);

}  // namespace foretrain
