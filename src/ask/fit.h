// Samples become what predictions are made of: those of one GPU's operators a profile, those of a fabric's
// collectives a cluster. The answer holds the files of it; where they go is up to the one who asked.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/session.h"
#include "report/collective_report.h"
#include "report/fit_report.h"

namespace foretrain {

// Words as they were given; empty: not given.
struct FitRequest {
  std::vector<Sources> samples;  // read_fit_samples() reads them; the first is the one that was asked for
  std::vector<Sources> against;  // of the same tables, for the GPU of `derive_from` (fit/against.h)
  std::string gpu, name, source, derive_from;
  bool profile = false;   // make one
  bool scatters = false;  // for pictures
  bool study = false, learning_curve = false;
};

struct FitAnswer {
  FitReport report;
  std::vector<OutputFile> files;  // of the profile's folder (kProfileEntries), where one is made
};

// "fitting", "studying" or "learning curve", with the samples done and all.
using FitProgress = std::function<void(std::string_view stage, std::size_t done, std::size_t all)>;

Result<FitAnswer> ask(Session& session, FitRequest request, const FitProgress& progress = {});

// The tables of a path, and those of the folder `mixed` in it: the sampler's products with other work between
// them, which are the same shapes at other clocks.
Result<std::vector<Sources>> read_fit_samples(const Files& files, const std::string& path);

struct FitClusterRequest {
  Sources samples;  // sample_sources() reads them
  std::string cluster, name, source;
  std::string folder;  // where its file will stand, for the paths in it; empty: none is made
  bool study = false;
};

struct FitClusterAnswer {
  CollectiveFitReport report;
  std::vector<OutputFile> files;
};

Result<FitClusterAnswer> ask(Session& session, FitClusterRequest request);

}  // namespace foretrain
