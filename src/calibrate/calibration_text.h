// A calibration as the file calibration.yaml of its folder: read by people, and back by us.
//
//   version: 1
//   name: mine
//   cluster: dgx-h100
//   gpu: h100-80gb-sxm
//   profile: h100-80gb-sxm
//   origin: ["train.log"]
//   prior: {own: 0.9, alike: 0.5, factors: 0.1, runs: 0.3}
//   factors:
//     products: {times: 1.081, deviation: 0.021, prior: 0.064}
//     ...
//   covariance: [[...], ...]      of the logarithms, in the order above
//   memory: {times: 1.02, deviation: 0.04, runs: 1}
//   lessons:
//     - {name: "train.log", part: step, fingerprint: 6d.., model: "32 x 4096, 6.74 B", stack: megatron, precision: bf16,
//        seq: 4096, gpus: 16, plan: "tp=2,dp=8", measured_s: 2.41, predicted_s: 2.2, gap: 0.09, slope: [...], spread: 0.1, weight: 1}
//
// What is taken of it are the prior and the lessons, of which factors and covariance follow; a file in which these two are not
// what its lessons give has been edited, and is refused.
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
