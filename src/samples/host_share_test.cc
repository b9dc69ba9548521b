#include "samples/host_share.h"

#include <doctest/doctest.h>

#include "operators/optimizer.h"
#include "samples/clean.h"

using namespace foretrain;

namespace {

Gpu test_gpu() {
  Gpu gpu;
  gpu.rates.fill(teraflops(100));
  gpu.hbm = gigabytes_per_second(1000);
  return gpu;
}

// Steps over `tensors` tensors that the host needs `host` us each for, the memory at a share of its rate.
std::vector<Sample> spans(double host, double share = 0.8) {
  std::vector<Sample> samples;
  for (std::int64_t tensors = 24; tensors <= 144; tensors += 12)
    for (std::int64_t millions = 20; millions <= 1280; millions *= 2) {
      Sample sample;
      sample.op = optimizer(OperatorKind::kAdamw, {millions * 1'000'000, tensors, kMixedStates},
                            {.impl = Impl::kFused, .pass = PassKind::kStep, .dtype = Dtype::kFp16});
      sample.us = 10 + bytes(sample.op).value / (share * 1e6) + host * static_cast<double>(tensors);
      samples.push_back(sample);
    }
  return samples;
}

double taken_off(std::vector<Sample>& samples) {
  std::vector<Sample*> group;
  for (Sample& sample : samples) group.push_back(&sample);
  return take_off_host_share(group, test_gpu());
}

}  // namespace

TEST_CASE("what grows with tensors alone is taken off a span") {
  std::vector<Sample> samples = spans(40);
  const std::vector<Sample> gpu_alone = spans(0);
  CHECK(taken_off(samples) == doctest::Approx(40).epsilon(1e-6));
  for (std::size_t i = 0; i < samples.size(); ++i)
    CHECK(samples[i].us == doctest::Approx(gpu_alone[i].us).epsilon(1e-6));
}

TEST_CASE("samples stay as they are where the line is no host's") {
  const auto stay = [](std::vector<Sample> samples) {
    const std::vector<Sample> before = samples;
    CHECK(taken_off(samples) == 0);
    CHECK(samples == before);
  };
  stay(spans(2));       // a GPU can be that slow
  stay(spans(40, 50));  // no memory is that fast: these labels are to be rejected, not mended
  std::vector<Sample> few = spans(40);
  few.resize(39);
  stay(few);
  std::vector<Sample> equal = spans(40);
  for (Sample& sample : equal)
    sample.op.set(StateSizes{sample.op.as<StateSizes>().parameters, 24, kMixedStates});
  stay(equal);
  std::vector<Sample> apart = spans(40);
  apart.front().host_us = 900;
  stay(apart);
  std::vector<Sample> eager = spans(40);  // a chain of kernels for each tensor
  for (Sample& sample : eager) sample.op.impl = Impl::kEager;
  stay(eager);
}

TEST_CASE("cleaning tells what it took off") {
  const CleanResult cleaned = clean(spans(40), test_gpu());
  REQUIRE(cleaned.host_shares.size() == 1);
  CHECK(cleaned.host_shares.front().count == cleaned.kept.size());
  CHECK(host_shares_text(cleaned.host_shares) == "adamw fused step fp16  40.0 us a tensor, 77 samples\n");
}
