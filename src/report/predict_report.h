// A Prediction as people read it and as scripts read it.
//
//   gpt-neox-20b (20.6 B parameters) on perlmutter: 128 x a100-80gb-sxm, stack neox
//   plan        tp=4,pp=4,dp=8,zero=1,micro_batch=4,recompute=full,precision=fp16,attention=unfused
//   batch       512 x 2048 tokens a step, 16 micro-batches
//
//   step        17.4 s, 80 % interval 14.9 s to 20.3 s
//   throughput  471 tokens/s/GPU, 60.2 k tokens/s in all, MFU 21.3 %
//   memory      peak 61.2 GiB of 79.2 GiB usable: fits (97 % sure)
//
//   where the time goes (stage 3 of 4)
//                         s     %
//     backward        8.120  46.7  ###################
//     forward         4.010  23.0  #########
//   ...
//
// Both use the same words for the same things (kStepCauseNames, kOperatorKindNames), and both tell the same
// story: the causes sum to the step.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "calibrate/calibration.h"
#include "predict/prediction.h"
#include "report/step_view.h"
#include "report/training.h"
#include "spec/run.h"

namespace foretrain {

// `whole` is what training costs in all; null where nobody asked. `view` is what the step's events tell: null
// where there are too many, and the JSON's keys for it are null then. `standing`: on which calibration it stands; null: on none.
std::string predict_text(const Run& run, const Prediction& prediction, const Training* whole = nullptr,
                         const Standing* standing = nullptr);
std::string predict_json(const Run& run, const Prediction& prediction, const Training* whole = nullptr,
                         const StepView* view = nullptr, const Standing* standing = nullptr);

// One line: "gpt2 on 8 x h100-80gb-sxm: 31.4 ms a step (25.1 ms to 39.2 ms), MFU 2.6 %, needs 3.04 GiB of 79.2 GiB: fits (over
// 99 % sure)"; on a calibration its words follow (report/calibration_report.h).
std::string predict_brief(const Run& run, const Prediction& prediction, const Standing* standing = nullptr);

// One of several runs, with the word that it was asked by.
struct PredictedRun {
  std::string name;
  Run run;
  Prediction prediction;
  std::optional<Training> whole;
  std::optional<StepView> view;
  std::optional<Standing> standing;
};
std::string predict_json(std::span<const PredictedRun> runs);  // an array

}  // namespace foretrain
