// How much of the error of clocks is what a FLOP costs in products of experts and in latent attention: settled loops
// of the H200's samples, each foretold from the loops of other shapes. A factor that follows the shape (fit_energy)
// helps; one a kind of operator does not.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "cost/profile_store.h"
#include "fit/power_fit.h"
#include "fit/profile_fit.h"
#include "operators/terms.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

std::vector<Sample> settled_loops() {
  const std::string folder = FORETRAIN_H200_SAMPLES;
  std::vector<Sample> loops;
  for (const char* table : {"/operators.csv", "/experts.csv", "/mixed/operators.csv"}) {
    const auto samples = read_samples(disk(), folder + table);
    REQUIRE(samples.has_value());
    for (const Sample& sample : *samples)
      if (sample.op.dtype == Dtype::kBf16 && Seconds(sample.loop_s.value_or(0)) >= kSettledLoop)
        loops.push_back(sample);
  }
  return loops;
}

// Mean |log(foretold / measured)| of the clock.
struct Errors {
  double by_shape = 0, by_kind = 0, none = 0;
};

Errors errors_of(const SampleGroup& group, const Gpu& gpu, const PowerModel& power, double clocked_share) {
  Errors mean;
  for (const Sample* sample : group.samples) {
    std::vector<const Sample*> others;
    for (const Sample* other : group.samples)
      if (shape_hash(other->op, 1) != shape_hash(sample->op, 1)) others.push_back(other);
    const Smooth energy = fit_energy(others, gpu, power, clocked_share);
    REQUIRE_FALSE(energy.weights.empty());
    const auto error_with = [&](double log_energy) {
      const double foretold = predicted_clock(*sample, gpu, power, clocked_share, std::exp(log_energy));
      return std::abs(std::log(foretold / std::min(*sample->clock_mhz, power.reference_mhz))) /
             static_cast<double>(group.samples.size());
    };
    const Features features = residual_features(sample->op, gpu);
    mean.by_shape += error_with(energy.view().predict(features.view()));
    mean.by_kind += error_with(energy.mean);
    mean.none += error_with(0);
  }
  return mean;
}

}  // namespace

TEST_CASE("what a FLOP costs in experts' products and latent attention follows the shape, not the kind") {
  const Gpu gpu = Catalog().gpu("h200-141gb-sxm").value();
  const auto profile = ProfileStore().load("h200-141gb-sxm");
  REQUIRE(profile.has_value());
  REQUIRE(profile->info.power.has_value());
  const std::vector<Sample> loops = settled_loops();
  int groups = 0;
  for (const SampleGroup& group : group_samples(loops)) {
    constexpr std::size_t kEnough = 20;
    const OperatorModelView* model = profile->models.find(group.key);
    const bool others =
        group.key.kind == OperatorKind::kGroupedProduct || group.key.kind == OperatorKind::kLatentAttention;
    if (!others || model == nullptr || group.samples.size() < kEnough) continue;
    const Errors mean = errors_of(group, gpu, *profile->info.power, model->facts.clocked_share);
    std::printf("%s: %zu loops, clocks %.1f %% off; with one factor %.1f %%, with none %.1f %%\n",
                text_of(group.key).c_str(), group.samples.size(), 100 * mean.by_shape, 100 * mean.by_kind,
                100 * mean.none);
    CHECK(mean.by_shape < 0.03);
    CHECK(mean.by_shape < 0.9 * mean.none);
    CHECK(mean.by_shape < 0.9 * mean.by_kind);
    ++groups;
  }
  CHECK(groups == 3);
}
