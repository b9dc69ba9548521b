// The trend of a collective on a tier, that all layouts have in common (collective_fit.h): the share of the links' rate that it
// gets, a scale of the model's latencies, and of dispatches and combines the time a token takes.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "network/network.h"
#include "samples/collective_sample.h"
#include "spec/cluster.h"

namespace foretrain {

using Samples = std::vector<const CollectiveSample*>;

// Ascending by size; equal sizes in the order in which they were read.
struct LayoutSamples {
  std::int64_t ranks = 2;
  std::int64_t ranks_per_node = 1;
  PlacedGroup placed;
  Samples samples;
};

// The model's time with the given fit, without any layout's own departure.
class BaseModel {
 public:
  // `intra`, where given, holds what was fitted inside domains: it bounds what goes between them.
  BaseModel(const Cluster& cluster, CollectiveKind kind, Tier tier, const FittedCollective* intra)
      : cluster_(cluster) {
    cluster_.collectives.clear();
    cluster_.gpu.collectives.clear();
    if (intra != nullptr) {
      cluster_.collectives.push_back(*intra);
      cluster_.collectives.back().layouts.clear();
    }
    cluster_.collectives.push_back({.kind = kind, .tier = tier});
    if (is_routed(kind)) fit().row = intra != nullptr ? intra->row : stated_row();
  }

  Seconds stated_row() const { return Seconds(routed_figures(fit().kind).row_ns * 1e-9); }

  double stated_share() const {
    const Link& link = fit().tier == Tier::kIntra ? cluster_.intra : cluster_.inter;
    if (is_routed(fit().kind)) {
      const RoutedFigures figures = routed_figures(fit().kind);
      return fit().tier == Tier::kIntra ? figures.share_intra : figures.share_inter;
    }
    return fit().kind == CollectiveKind::kSendReceive ? link.p2p_efficiency : link.collective_efficiency;
  }

  FittedCollective& fit() { return cluster_.collectives.back(); }
  const FittedCollective& fit() const { return cluster_.collectives.back(); }

  double seconds(const LayoutSamples& layout, const CollectiveSample& sample) const {
    return collective_cost(sample.kind, sample.bytes, layout.placed, link_rates(layout.placed, cluster_),
                           cluster_, sample.routing())
        .seconds.value;
  }
  double log_departure(const LayoutSamples& layout, const CollectiveSample& sample) const {
    return std::log(sample.seconds.value / seconds(layout, sample));
  }

 private:
  Cluster cluster_;
};

// The figures with the least mean absolute log error, all layouts weighing the same; where samples do not tell, as stated.
void fit_base(BaseModel& model, const std::vector<LayoutSamples>& layouts);

// As figures are written: with so many digits.
double rounded(double value, int digits = 5);

}  // namespace foretrain
