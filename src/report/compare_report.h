// Several runs side by side, each a column, and which is the fastest, and why:
//
//   llama-2-13b (13 B parameters) on dgx-a100: 64 x a100-80gb-sxm, stack megatron, profile a100-80gb-sxm
//   256 x 4096 tokens a step
//     A  run.yaml   tp=4,sp=1,pp=2,dp=8,zero=1
//     B  less.yaml  tp=4,sp=1,pp=2,dp=8,zero=1,recompute=full
//
//                            A                 B
//     step              7.37 s            9.73 s
//     80 % interval     6.54 s to 8.31 s  8.63 s to 11 s
//     ...
//   where the time goes (s, the busiest stage of each)
//                           A      B     B - A
//     backward          3.979  3.979    +0.000
//     ...
//   A is the fastest: 7.37 s against 9.73 s of B, 1.32 times its tokens a second, by less recompute (-2.36 s)
#pragma once

#include <span>
#include <string>

#include "report/predict_report.h"

namespace foretrain {

inline constexpr std::size_t kMostCompared = 16;

std::string compare_text(std::span<const PredictedRun> runs);

}  // namespace foretrain
