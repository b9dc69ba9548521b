// A problem with one thing changed: gpus=512, or inter_gbps=800. Keys that a cluster has are
// named and counted as in its file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "search/problem.h"

namespace foretrain {

struct WhatIf {
  std::string text;  // as given: "inter_gbps=800"
  Problem problem;
};

// What can be changed beside the figures of the cluster (spec/cluster_figures.h).
struct RunFigure {
  std::string_view key, what;
  std::int64_t low, high;
  void (*apply)(Problem& problem, std::int64_t value);
};
std::span<const RunFigure> run_figures();

Result<WhatIf> what_if(const Problem& problem, std::string_view text);

}  // namespace foretrain
