// From clean samples to a profile: group by (operator, implementation, pass, format), fit each group. Linears
// whose forward and both backwards were sampled are one group: they are all products.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
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
  std::optional<PowerFit> power;  // where samples record clocks and limits
  bool power_left_out = false;    // their clocks follow no power that a profile can state, as locked ones
  // The host's time for a plain launch: the median over forwards of PyTorch's own that are one kernel (add, bias, copy,
  // gelu, masked_fill, softmax), where samples state the host's time.
  std::optional<Seconds> host_launch;
  std::vector<std::string> too_few;  // groups with fewer than kFewestSamples shapes, left to physics
};
inline constexpr std::size_t kFewestSamples = 8;

// `samples` are clean.
Result<FittedProfile> fit_profile(const std::vector<Sample>& samples, const Gpu& gpu,
                                  const FitOptions& options, const Progress& progress = {});

// What a profile's folder holds: profile.yaml and models.bin, and in a folder kParentFolder a copy of the
// profile whose files are `parent` (ProfileStore::files_of), where one is given: then the profile derives
// from that copy, whatever `info` says. They belong together, so a folder's entries of these names go in one
// step (replace_folder).
std::vector<OutputFile> profile_files(ProfileInfo info, const std::vector<FittedOperator>& models,
                                      const std::vector<OutputFile>& parent = {});
inline const std::vector<std::string> kProfileEntries = {"profile.yaml", "models.bin",
                                                         std::string(kParentFolder)};

}  // namespace foretrain
