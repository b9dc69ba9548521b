// From clean samples to a profile: group by (operator, implementation, pass, format), fit each group. Linears
// whose forward and both backwards were sampled are one group: they are all products.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/profile.h"
#include "fit/operator_fit.h"
#include "fit/power_fit.h"
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
  std::optional<PowerFit> power;     // where samples record clocks and limits
  bool power_left_out = false;       // their clocks follow no power that a profile can state, as locked ones
  std::vector<std::string> too_few;  // groups with fewer than kFewestSamples shapes, left to physics
};
inline constexpr std::size_t kFewestSamples = 8;

// `samples` are clean.
Result<FittedProfile> fit_profile(const std::vector<Sample>& samples, const Gpu& gpu,
                                  const FitOptions& options, const Progress& progress = {});

// Whether write_profile() may write there: a folder that is not there yet or, with `force`, one that holds a
// profile. Asked before the work begins.
Result<void> check_profile_folder(const std::string& folder, bool force);

// profile.yaml and models.bin, and in a folder kParentFolder a copy of the profile in `parent_folder`, where
// one is given: then the profile derives from that copy, whatever `info` says. The folder is made beside and
// takes its place in one step, so that nobody sees half of it; of one that is there, what else lies in it
// stays.
Result<void> write_profile(const std::string& folder, ProfileInfo info,
                           const std::vector<FittedOperator>& models, bool force,
                           const std::string& parent_folder = {});

}  // namespace foretrain
