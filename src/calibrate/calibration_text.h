// A calibration as the file calibration.yaml of its folder: read by people, and back by us.
//
//   version: 1
//   name: mine
//   cluster: dgx-h100
//   gpu: h100-80gb-sxm
//   profile: h100-80gb-sxm
//   state: {gpus_per_node: 8, ..., inter_gbytes: 400, ...}    the cluster's figures when it was measured
//   origin: ["train.log"]
//   prior: {own: 0.9, alike: 0.5, shared: 0.1, alone: 0.3}
//   factors:
//     products: {times: 1.081, deviation: 0.021, prior: 0.064}
//     ...
//   covariance: [[...], ...]      of the logarithms, in the order above
//   memory: {times: 1.02, deviation: 0.04, runs: 1}
//   held:
//     - {name: "train.log", run: 81.., measured: 6.1e10, predicted: 6e10, spread: 0.08}      bytes
//   lessons:
//     - {name: "train.log", part: step, run: 81.., fingerprint: 6d.., model: "32 x 4096, 6.74 B", stack: megatron, precision: bf16,
//        seq: 4096, gpus: 16, plan: "tp=2,dp=8", measured_s: 2.41, predicted_s: 2.2, gap: 0.09, slope: [...], spread: 0.1, weight: 1}
//
// What is taken of it are the prior, the lessons and what was held, of which factors, covariance and memory follow; a file in
// which these are not what it gives has been edited, and is refused.
#pragma once

#include <string>

#include "base/files.h"
#include "calibrate/calibration.h"

namespace foretrain {

inline constexpr const char* kCalibrationFile = "calibration.yaml";

std::string calibration_yaml(const Calibration& calibration);
Result<Calibration> parse_calibration(const Source& source);

// Of a folder that calibrate wrote, or of its file.
Result<Calibration> read_calibration(const Files& files, const std::string& path);

}  // namespace foretrain
