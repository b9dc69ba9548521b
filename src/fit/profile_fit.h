// From samples to a profile: clean, group by (operator, implementation, pass, format), fit each group.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cost/profile.h"
#include "fit/operator_fit.h"
#include "samples/clean.h"

namespace foretrain {

// Samples of one model, in the order in which they were read.
struct SampleGroup {
  ModelKey key;
  std::vector<const Sample*> samples;
};
// Sorted by kind, implementation, pass and format.
std::vector<SampleGroup> group_samples(const std::vector<Sample>& samples);

// "linear aten bwd fp16".
std::string text_of(const ModelKey& key);

using Progress = std::function<void(std::size_t done, std::size_t all)>;

struct FittedProfile {
  std::vector<FittedOperator> models;
  std::vector<Rejection> rejections;
  std::size_t used = 0;
  std::size_t rejected = 0;
  std::vector<std::string> too_few;  // groups with fewer than kFewestSamples rows, left to physics
};
inline constexpr std::size_t kFewestSamples = 8;

Result<FittedProfile> fit_profile(std::vector<Sample> samples, const Gpu& gpu, const FitOptions& options,
                                  const Progress& progress = {});

// profile.yaml and models.bin, written beside and renamed; an existing folder needs `force`.
Result<void> write_profile(const std::string& folder, const ProfileInfo& info,
                           const std::vector<FittedOperator>& models, bool force);

}  // namespace foretrain
