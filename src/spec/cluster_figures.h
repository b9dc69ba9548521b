// Figures of a cluster and of its GPU as flat keys, for who asks what another value would do: search's what-if, predict's
// ranges. A key is named and counted as in the files, those of a section with its name before it: `gbps` of `inter` is
// inter_gbps.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/cluster.h"

namespace foretrain {

struct ClusterFigure {
  std::string_view key;
  double low, high;  // what it may be, as in the files
  bool whole;
  bool of_gpu;  // operators' times follow it
  void (*set)(Cluster& cluster, double value);
};

std::span<const ClusterFigure> cluster_figures();
const ClusterFigure* find_cluster_figure(std::string_view key);  // null where there is none

// "a number from 0.001 to 1e+06"; and whether a value is one.
std::string expected_of(const ClusterFigure& figure);
bool may_be(const ClusterFigure& figure, double value);

// A value that it may be; refused where the cluster lacks what it belongs to.
Result<void> set_figure(Cluster& cluster, const ClusterFigure& figure, double value);

}  // namespace foretrain
