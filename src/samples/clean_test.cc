#include "samples/clean.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "operators/experts.h"
#include "operators/pointwise.h"
#include "operators/product.h"

using namespace foretrain;

namespace {

// 100 TFLOP/s and 1 TB/s: a microsecond is 10^6 bytes.
Gpu test_gpu() {
  Gpu gpu;
  gpu.name = "test";
  gpu.rates.fill(teraflops(100));
  gpu.hbm = gigabytes_per_second(1000);
  gpu.l2 = mib(1);
  return gpu;
}

// A gelu moves 4 bytes an element forward and 6 backward; this one reaches 0.8 of the bandwidth after 5 us of
// launch, so it is never impossible.
double gelu_us(std::int64_t tokens, std::int64_t width, PassKind pass = PassKind::kForward) {
  const double bytes = (pass == PassKind::kForward ? 4.0 : 6.0) * static_cast<double>(tokens * width);
  return 5 + bytes / 0.8e6;
}

Sample gelu(std::int64_t tokens, std::int64_t width, double us, PassKind pass = PassKind::kForward) {
  Sample sample;
  sample.op = pointwise(OperatorKind::kGelu, {.tokens = tokens, .width = width},
                        {.impl = Impl::kFused, .pass = pass});
  sample.us = us;
  return sample;
}

// Twenty numbers of tokens by ten widths, work over a range of 200, smooth times.
std::vector<Sample> sound_group(PassKind pass = PassKind::kForward) {
  std::vector<Sample> samples;
  for (std::int64_t tokens = 1024; tokens <= 20480; tokens += 1024)
    for (std::int64_t width = 1024; width <= 10240; width += 1024)
      samples.push_back(gelu(tokens, width, gelu_us(tokens, width, pass), pass));
  return samples;
}

std::size_t count(const CleanResult& result, std::string_view reason) {
  std::size_t n = 0;
  for (const Rejection& r : result.rejections) n += r.reason == reason ? r.count : 0;
  return n;
}

}  // namespace

TEST_CASE("a smooth group is kept whole and in its order") {
  const auto samples = sound_group();
  const CleanResult result = clean(samples, test_gpu());
  CHECK(result.kept == samples);
  CHECK(result.rejected.empty());
  CHECK(result.rejections.empty());
  CHECK(rejections_text(result.rejections).empty());
}

TEST_CASE("ten rows are too few to judge by each other") {
  std::vector<Sample> samples;
  for (int i = 1; i <= 10; ++i) samples.push_back(gelu(1024 * i * i, 4096, 100 + 40 * i * i));
  CHECK(clean(samples, test_gpu()).kept.size() == 10);
  CHECK(clean({}, test_gpu()).kept.empty());
}

TEST_CASE("faster than the roofline is impossible, unless the cache holds the operands") {
  // 4096 x 4096 elements: 67.1 us at full bandwidth; the margin is a tenth.
  CHECK(clean({gelu(4096, 4096, 65)}, test_gpu()).kept.size() == 1);
  const CleanResult result = clean({gelu(4096, 4096, 55)}, test_gpu());
  REQUIRE(result.rejections.size() == 1);
  CHECK(result.rejections[0].reason == "impossible");
  CHECK(result.rejections[0].operator_name == "gelu fused fwd bf16");
  CHECK(result.rejections[0].example == "tokens=4096 width=4096: 55 us");
  CHECK(result.rejected.size() == 1);
  CHECK(rejections_text(result.rejections) ==
        "gelu fused fwd bf16       1 of      1  impossible  tokens=4096 width=4096: 55 us\n");
  // 1 MB fits into the L2: it need not take its microsecond.
  CHECK(clean({gelu(512, 512, 0.5)}, test_gpu()).kept.size() == 1);
}

TEST_CASE("a product is held to its FLOPs") {
  Sample sample;
  sample.op = linear({.m = 4096, .k = 4096, .n = 4096}, {.pass = PassKind::kBackward});
  sample.us = 2700;  // 4 x 4096^3 FLOPs at 100 TFLOP/s take 2749 us
  CHECK(clean({sample}, test_gpu()).kept.size() == 1);
  sample.us = 2400;
  CHECK(count(clean({sample}, test_gpu()), "impossible") == 1);
}

TEST_CASE("operators of experts are held to what no kernel does without") {
  const auto kept = [](Operator op, double us) {
    Sample sample;
    sample.op = op;
    sample.us = us;
    return clean({sample}, test_gpu()).kept.size() == 1;
  };
  const Variant eager = {.impl = Impl::kEager};
  // 2 x 4096^3 FLOPs at 100 TFLOP/s: 1374 us.
  const Operator dense = grouped_product({.experts = 8, .m = 4096, .k = 4096, .n = 4096}, eager);
  CHECK(kept(dense, 1300));
  CHECK_FALSE(kept(dense, 1200));
  // 64 rows over 64 experts reach 1 - 1/e of them: 0.63 x 64 matrices of 33.5 MB, 1357 us, not all of 2147.
  const Operator sparse = grouped_product({.experts = 64, .m = 64, .k = 4096, .n = 4096}, eager);
  CHECK(kept(sparse, 1300));
  CHECK_FALSE(kept(sparse, 1150));
  // A permutation reads 16384 x 1024 and writes four times as much: 167.8 us. Eager, it moves more.
  const Operator sent = permute({.tokens = 16384, .width = 1024, .top_k = 4},
                                {.impl = Impl::kEager, .pass = PassKind::kBackward});
  CHECK(kept(sent, 160));
  CHECK_FALSE(kept(sent, 140));
  // A route reads its logits: 2^20 x 64 of them take 134 us, whatever it keeps for its backward.
  const Operator routed = route({.tokens = 1 << 20, .experts = 64, .top_k = 2}, eager);
  CHECK(kept(routed, 130));
  CHECK_FALSE(kept(routed, 110));
}

TEST_CASE("backward times that equal the forward's are copies, a few by chance are not") {
  auto samples = sound_group();
  const std::size_t forward = samples.size();
  auto backward = sound_group(PassKind::kBackward);
  for (std::size_t i = 0; i < 20; ++i) backward[i].us = samples[i].us * 1.5, samples[i].us = backward[i].us;
  samples.insert(samples.end(), backward.begin(), backward.end());
  const CleanResult result = clean(samples, test_gpu());
  CHECK(count(result, "copied") == 20);
  CHECK(result.kept.size() == forward + backward.size() - 20);

  for (std::size_t i = 5; i < 20; ++i) samples[forward + i].us *= 1.001;
  CHECK(clean(samples, test_gpu()).kept.size() == samples.size());
}

TEST_CASE("times that do not grow with one of the sizes reject the group") {
  // By width only: what is far above the roofline for few tokens, and below it for many, says nothing.
  auto samples = sound_group();
  for (Sample& s : samples) s.us = 0.11 * static_cast<double>(s.op.as<TokenSizes>().width);
  const CleanResult result = clean(samples, test_gpu());
  CHECK(result.kept.empty());
  CHECK(count(result, "flat") > samples.size() / 2);
}

TEST_CASE("a chain of many launches may grow slowly: it is judged by what it takes beyond them") {
  // A router's backward: 26 kernels of 2 us at the least, and the work on top.
  std::vector<Sample> samples;
  for (int i = 0; i < 300; ++i) {
    Sample s;
    const auto tokens = static_cast<std::int64_t>(512 * std::pow(1.016, i));
    s.op = route({.tokens = tokens, .experts = 32, .top_k = 4},
                 {.impl = Impl::kEager, .pass = PassKind::kBackward});
    s.op.launches = 26;
    s.us = 50 + 0.001 * static_cast<double>(tokens);
    samples.push_back(s);
  }
  CHECK(clean(samples, test_gpu()).kept.size() == samples.size());
  for (Sample& s : samples) s.op.launches = 1;
  CHECK(clean(samples, test_gpu()).kept.empty());
}

TEST_CASE("rows of a kernel that counts half of its work are flat, those below them sound") {
  auto samples = sound_group();
  const std::int64_t split = 1 << 27;
  const auto elements = [](const Operator& op) {
    const auto sizes = op.as<TokenSizes>();
    return sizes.tokens * sizes.width;
  };
  std::size_t halved = 0;
  for (Sample& s : samples)
    if (elements(s.op) > split) s.us *= 0.5, ++halved;
  REQUIRE(halved > 10);
  const CleanResult result = clean(samples, test_gpu());
  for (const Sample& s : result.kept) CHECK(elements(s.op) <= split);
  CHECK(result.rejected.size() == halved);
}

TEST_CASE("a floor of host launches is rejected, a kernel's own few microseconds are not") {
  const auto floored = [](double floor_us) {
    auto samples = sound_group();
    for (Sample& s : samples) s.us = std::max(s.us, floor_us);
    return samples;
  };
  // 300 us is what 60 M elements take: the range of work below spans 57. Up to twice that, launches may still
  // be a part of a time.
  const CleanResult result = clean(floored(300), test_gpu());
  CHECK(count(result, "floor") >= 128);
  CHECK(result.kept.size() >= 20);
  for (const Sample& s : result.kept) CHECK(s.us >= 600);
  CHECK(result.kept.back().us > 900);
  CHECK(clean(floored(60), test_gpu()).rejections.empty());
}

TEST_CASE("a row far from its neighbours goes: an outlier, or bimodal where its shape has sound rows") {
  auto samples = sound_group();
  samples[55].us *= 5000;
  CHECK(count(clean(samples, test_gpu()), "outlier") == 1);

  // The same shape three times, once at half the time and not below the roofline.
  samples = sound_group();
  for (Sample& s : samples) s.us *= 2;
  for (int i = 0; i < 2; ++i) samples.push_back(samples[77]);
  samples.back().us *= 0.5;
  samples[samples.size() - 2].us *= 1.01;
  const CleanResult result = clean(samples, test_gpu());
  CHECK(count(result, "bimodal") == 1);
  CHECK(result.rejected.size() == 1);
}

TEST_CASE("a row that comes twice is a duplicate where chance cannot explain it") {
  const Sample coarse = gelu(4096, 4096, 90.2), fine = gelu(4096, 4096, 90.2123456);
  CHECK(clean({coarse, coarse}, test_gpu()).kept.size() == 2);
  CHECK(count(clean({fine, fine}, test_gpu()), "duplicate") == 1);
  Sample clocked = coarse;
  clocked.host_us = 7.31;
  CHECK(count(clean({clocked, clocked}, test_gpu()), "duplicate") == 1);
}

TEST_CASE("where a third of a group is impossible the rest is not trusted") {
  auto samples = sound_group();
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (i % 5 < 2) samples[i].us *= 0.3;
  const CleanResult result = clean(samples, test_gpu());
  CHECK(result.kept.empty());
  CHECK(count(result, "impossible") > 60);
  CHECK(count(result, "distrusted") > 100);
}

TEST_CASE("a backward of which one kernel was counted is partial, a quick one is not") {
  // A layernorm's backward moves 7 tensors where its forward moves 2: 3.5 times as long is what bytes
  // say, 1.4 times is that of one of its two kernels.
  const auto with_backward = [](double of_forward, Impl impl) {
    std::vector<Sample> samples = sound_group();
    const std::size_t n = samples.size();
    for (Sample& s : samples) s.op.kind = OperatorKind::kLayernorm, s.op.impl = impl;
    for (std::size_t i = 0; i < n; ++i) {
      samples.push_back(samples[i]);
      samples.back().op.pass = PassKind::kBackward;
      samples.back().op.launches = 2;
      samples.back().us *= of_forward;
    }
    return samples;
  };
  const CleanResult result = clean(with_backward(1.4, Impl::kFused), test_gpu());
  CHECK(count(result, "partial") == sound_group().size());
  CHECK(result.rejections.front().operator_name == "layernorm fused bwd bf16");
  CHECK(clean(with_backward(2, Impl::kFused), test_gpu()).rejections.empty());
  CHECK(count(clean(with_backward(1.4, Impl::kEager), test_gpu()), "partial") == 0);
}

TEST_CASE("groups are judged apart") {
  auto samples = sound_group();
  const std::size_t sound = samples.size();
  for (Sample s : sound_group()) {
    s.op.kind = OperatorKind::kAdd;
    s.us = 3000;
    samples.push_back(s);
  }
  const CleanResult result = clean(samples, test_gpu());
  CHECK(result.kept.size() == sound);
  REQUIRE(result.rejections.size() == 1);
  CHECK(result.rejections[0].operator_name == "add fused fwd bf16");
  CHECK(result.rejections[0].count == sound);
}
