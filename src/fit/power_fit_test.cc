#include "fit/power_fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "operators/product.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

constexpr double kShare = 0.8;

// Products of many intensities on a made-up card, each in a loop of its own or with streaming between.
std::vector<Sample> loops(const Gpu& gpu, const PowerModel& truth, Dtype dtype = Dtype::kBf16) {
  std::vector<Sample> samples;
  for (int i = 0; i < 60; ++i) {
    Sample sample;
    sample.op =
        linear({.m = 1024 * (1 + i % 7), .k = 512 << (i % 4), .n = 1024 * (1 + i % 5)}, {.dtype = dtype});
    sample.limit_w = 700;
    sample.product_share = i % 3 == 0 ? 1.0 : i % 3 == 1 ? 0.6 : 0.3;
    const double reference = std::max(flops(sample.op).value / (is_scaled(dtype) ? 1400e12 : 750e12),
                                      bytes(sample.op).value / 4e12) *
                                 1e6 +
                             2;
    // Settled: the time belongs to the clock, the share to the time.
    double clock = gpu.clock_max_mhz;
    for (int round = 0; round < 50; ++round) {
      sample.clock_mhz = clock;
      sample.us = reference * (1 + kShare * (gpu.clock_max_mhz / clock - 1));
      clock = 0.5 * (clock + predicted_clock(sample, gpu, truth, kShare));
    }
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

TEST_CASE("the figures that made a card's clocks are found again from the clocks") {
  const Gpu gpu = Catalog().gpu("h200-141gb-sxm").value();
  const PowerModel truth{100, 70e-12, 2.4e-12, 3, gpu.clock_max_mhz};
  const auto fit = fit_power(loops(gpu, truth), gpu, [](const Operator&) { return kShare; });
  REQUIRE(fit);
  CHECK(fit->samples == 60);
  CHECK(fit->error < 0.003);
  CHECK(fit->model.joules_per_byte == doctest::Approx(truth.joules_per_byte).epsilon(0.1));
  CHECK(fit->model.joules_per_flop == doctest::Approx(truth.joules_per_flop).epsilon(0.1));
  CHECK(fit->model.exponent == doctest::Approx(truth.exponent).epsilon(0.1));
}

TEST_CASE("loops of eight bits tell what their FLOPs cost, and move nothing else") {
  const Gpu gpu = Catalog().gpu("h200-141gb-sxm").value();
  PowerModel truth{100, 70e-12, 2.4e-12, 3, gpu.clock_max_mhz};
  truth.joules_per_fp8_flop = 1.5e-12;
  std::vector<Sample> samples = loops(gpu, truth);
  const auto share = [](const Operator&) { return kShare; };
  const auto without = fit_power(samples, gpu, share);
  REQUIRE(without);
  CHECK(without->model.joules_per_fp8_flop == 0);
  CHECK(joules_per_flop(without->model, Dtype::kFp8) ==
        doctest::Approx(0.65 * without->model.joules_per_flop));
  const std::vector<Sample> narrow = loops(gpu, truth, Dtype::kFp8);
  samples.insert(samples.end(), narrow.begin(), narrow.end());
  const auto fit = fit_power(samples, gpu, share);
  REQUIRE(fit);
  CHECK(fit->fp8_samples == 60);
  CHECK(fit->fp8_error < 0.005);
  CHECK(fit->model.joules_per_fp8_flop == doctest::Approx(truth.joules_per_fp8_flop).epsilon(0.05));
  PowerModel same = fit->model;
  same.joules_per_fp8_flop = 0;
  CHECK(same == without->model);
}

TEST_CASE("clocks that had no time to settle are left out where enough others had") {
  const Gpu gpu = Catalog().gpu("h200-141gb-sxm").value();
  const PowerModel truth{100, 70e-12, 2.4e-12, 3, gpu.clock_max_mhz};
  std::vector<Sample> samples = loops(gpu, truth);
  for (Sample& sample : samples) sample.loop_s = 1.2;
  std::vector<Sample> hasty = samples;
  for (Sample& sample : hasty) sample.loop_s = 0.05, sample.clock_mhz = 1900;
  samples.insert(samples.end(), hasty.begin(), hasty.end());
  const auto share = [](const Operator&) { return kShare; };
  const auto fit = fit_power(samples, gpu, share);
  REQUIRE(fit);
  CHECK(fit->samples == 60);
  CHECK(fit->model.exponent == doctest::Approx(truth.exponent).epsilon(0.1));
  const auto of_hasty = fit_power(hasty, gpu, share);
  REQUIRE(of_hasty);
  CHECK(of_hasty->samples == 60);
}

TEST_CASE("samples that do not say their clock teach nothing about power") {
  const Gpu gpu = Catalog().gpu("h200-141gb-sxm").value();
  std::vector<Sample> samples = loops(gpu, {100, 70e-12, 2.4e-12, 3, gpu.clock_max_mhz});
  for (Sample& sample : samples) sample.clock_mhz.reset();
  CHECK_FALSE(fit_power(samples, gpu, [](const Operator&) { return kShare; }));
}
