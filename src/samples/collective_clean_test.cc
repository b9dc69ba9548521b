#include "samples/collective_clean.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

// 200 GB/s a rank within a node, 50 GB/s a node.
const LinkBounds kBounds{gigabytes_per_second(200), gigabytes_per_second(50)};

CollectiveSample sample(CollectiveKind kind, double bytes, std::int64_t nodes, std::int64_t ranks_per_node,
                        double us, const std::string& source = "a.log") {
  CollectiveSample s;
  s.kind = kind;
  s.bytes = Bytes(bytes);
  s.ranks = nodes * ranks_per_node;
  s.ranks_per_node = ranks_per_node;
  s.seconds = microseconds(us);
  s.source = source;
  return s;
}

// All-gathers on four nodes at 40 GB/s of received bytes: 0.75 bytes / 40 GB/s, with 20 us of latency and a
// ripple of 1 %. 200 sizes from 50 to 249 MB.
constexpr int kRows = 200;
double bytes_of(int i) { return 5e7 + 1e6 * i; }
double sound_us(int i) { return (20 + 0.75 * bytes_of(i) / 40e3) * (1 + 0.01 * std::sin(7.0 * i)); }
CollectiveSample gather(int i, double us) {
  return sample(CollectiveKind::kAllGather, bytes_of(i), 4, 1, us);
}
std::vector<CollectiveSample> sound_group() {
  std::vector<CollectiveSample> samples;
  for (int i = 0; i < kRows; ++i) samples.push_back(gather(i, sound_us(i)));
  return samples;
}

std::size_t count(const CollectiveCleanResult& result, std::string_view reason) {
  std::size_t n = 0;
  for (const CollectiveRejection& r : result.rejections) n += r.reason == reason ? r.count : 0;
  return n;
}

}  // namespace

TEST_CASE("a smooth group is kept whole and in its order") {
  const auto samples = sound_group();
  const auto result = clean(samples, kBounds);
  CHECK(result.kept == samples);
  CHECK(result.rejected.empty());
  CHECK(rejections_text(result.rejections).empty());
  CHECK(clean({}, kBounds).kept.empty());
}

TEST_CASE("the least time is what a rank or a node must receive over its links") {
  const auto least = [](CollectiveKind kind, std::int64_t nodes, std::int64_t ranks_per_node) {
    return least_time(sample(kind, 1e6, nodes, ranks_per_node, 1), kBounds).value * 1e6;
  };
  // One node of four: 5 us at 200 GB/s; three quarters come from others.
  CHECK(least(CollectiveKind::kAllReduce, 1, 4) == doctest::Approx(5));
  CHECK(least(CollectiveKind::kAllGather, 1, 4) == doctest::Approx(3.75));
  CHECK(least(CollectiveKind::kAllToAll, 1, 4) == doctest::Approx(3.75));
  // Two nodes of four: 20 us at 50 GB/s, half of it from the other node; each of the four ranks has a buffer.
  CHECK(least(CollectiveKind::kSendReceive, 2, 1) == doctest::Approx(20));
  CHECK(least(CollectiveKind::kReduceScatter, 2, 4) == doctest::Approx(10));
  CHECK(least(CollectiveKind::kAllToAll, 2, 4) == doctest::Approx(40));
  CHECK(least_time(sample(CollectiveKind::kAllReduce, 1e6, 1, 4, 1), {}).value == 0);
}

TEST_CASE("nodes of one NVLink domain are bound by NVLink, domains by all their NICs") {
  const LinkBounds rack{gigabytes_per_second(900), gigabytes_per_second(200), 18};
  const auto least = [&](CollectiveKind kind, std::int64_t nodes) {
    return least_time(sample(kind, 9e9, nodes, 4, 1), rack).value;
  };
  CHECK(least(CollectiveKind::kAllReduce, 18) == doctest::Approx(0.01));
  CHECK(least(CollectiveKind::kAllGather, 18) == doctest::Approx(0.01 * 71 / 72));
  // Two racks: half of it comes from the other, over 18 nodes' NICs.
  CHECK(least(CollectiveKind::kAllGather, 36) == doctest::Approx(4.5 / (18 * 200)));
}

TEST_CASE("a dispatch must receive a copy of each token that any of its experts is for") {
  // Two experts of four on two ranks: 5/3 of the two are met, half of them the sender; a byte is half a row.
  CollectiveSample dispatch = sample(CollectiveKind::kDispatch, 1e6, 1, 2, 1);
  dispatch.tokens = 100;
  dispatch.top_k = 2;
  dispatch.experts = 4;
  CHECK(least_time(dispatch, kBounds).value ==
        doctest::Approx(5.0 / 3 / 2 / 2 * (Bytes(1e6) / kBounds.of_rank).value));
}

TEST_CASE("faster than the links is impossible, but for a twentieth") {
  auto samples = sound_group();
  samples[50].seconds = 0.94 * least_time(samples[50], kBounds);
  samples[90].seconds = 0.96 * least_time(samples[90], kBounds);
  const auto result = clean(samples, kBounds);
  CHECK(count(result, "impossible") == 1);
  CHECK(result.rejected.front() == samples[50]);
  CHECK(count(clean(samples, {}), "impossible") == 0);
}

TEST_CASE("a time that many sizes share, below that of smaller messages, is flat") {
  auto samples = sound_group();
  for (int i = 120; i < 180; ++i) samples[static_cast<std::size_t>(i)] = gather(i, 117 + 0.01 * i);
  CHECK(count(clean(samples, {}), "flat") == 60);
}

TEST_CASE("small messages that all take one latency are sound") {
  std::vector<CollectiveSample> samples;
  for (int i = 0; i < 60; ++i) {
    const double bytes = 8 * std::pow(1.4, i);
    samples.push_back(sample(CollectiveKind::kAllReduce, std::floor(bytes), 1, 8, 12 + bytes / 1e5));
  }
  CHECK(clean(samples, {}).rejected.empty());
}

TEST_CASE("averages that counted repeats of no work lie below the mode: the slower is kept") {
  auto samples = sound_group();
  for (int i = 3; i < kRows; i += 4) samples[static_cast<std::size_t>(i)] = gather(i, 0.45 * sound_us(i));
  const auto result = clean(samples, {});
  CHECK(count(result, "fast mode") == 50);
  CHECK(result.rejected.size() == 50);
}

TEST_CASE("waiting for others lies above the mode: the faster is kept, even where it is rare") {
  // Nine of ten rows are 2 to 12 times slower, each in its own way.
  auto samples = sound_group();
  std::size_t slow = 0;
  for (int i = 0; i < kRows; ++i)
    if (i > 25 && i % 10 != 0)
      samples[static_cast<std::size_t>(i)] = gather(i, sound_us(i) * (2 + (i * 7919) % 1000 / 100.0)), ++slow;
  const auto result = clean(samples, {});
  CHECK(count(result, "slow mode") == slow);
  CHECK(result.rejected.size() == slow);
}

TEST_CASE("many that lie off by less than a factor of two are a link's noise, and stay") {
  auto samples = sound_group();
  for (int i = 3; i < kRows; i += 4) samples[static_cast<std::size_t>(i)] = gather(i, 1.5 * sound_us(i));
  CHECK(clean(samples, {}).rejected.empty());
  // One among them is far off: an outlier.
  samples[103] = gather(103, 2.5 * sound_us(103));
  const auto result = clean(samples, {});
  CHECK(count(result, "outlier") == 1);
  CHECK(result.rejected == std::vector{samples[103]});
}

TEST_CASE("few off the mode are outliers, and a first row is held to half the distance") {
  auto samples = sound_group();
  samples[0] = gather(0, 1.15 * sound_us(0));
  samples[70] = gather(70, 1.15 * sound_us(70));
  samples[100] = gather(100, 1.6 * sound_us(100));
  const auto result = clean(samples, {});
  REQUIRE(result.rejections.size() == 1);
  CHECK(result.rejections[0].reason == "outlier");
  CHECK(result.rejections[0].count == 2);
  CHECK(result.rejections[0].group == 200);
  CHECK(result.rejected == std::vector{samples[0], samples[100]});
  CHECK(rejections_text(result.rejections) ==
        "all_gather 4x1       2 of    200  outlier     50000000 bytes: 1.1 ms        a.log\n");
}

TEST_CASE("a step to another protocol stays") {
  auto samples = sound_group();
  for (int i = 80; i < kRows; ++i) samples[static_cast<std::size_t>(i)] = gather(i, 1.5 * sound_us(i));
  CHECK(clean(samples, {}).rejected.empty());
}

TEST_CASE("a sweep by factors of two is judged by its neighbours") {
  std::vector<CollectiveSample> samples;
  for (int i = 0; i < 24; ++i)
    samples.push_back(
        sample(CollectiveKind::kAllReduce, std::ldexp(8, i), 1, 8, 10 + std::ldexp(8, i) / 150e3));
  CHECK(clean(samples, {}).rejected.empty());
  samples[20].seconds *= 5;
  CHECK(clean(samples, {}).rejected == std::vector{samples[20]});
}

TEST_CASE("the same rows under another name are duplicates; equal coarse times are not") {
  auto samples = sound_group();
  for (CollectiveSample& s : samples) s.seconds = microseconds(std::round(s.seconds.value * 1e6));
  auto again = samples;
  for (CollectiveSample& s : again) s.source = "b.log";
  for (std::size_t i = 0; i < 5; ++i) samples.push_back(samples[i]);  // five of 205 by chance
  CHECK(count(clean(samples, {}), "duplicate") == 0);
  samples.insert(samples.end(), again.begin(), again.end());
  const auto result = clean(samples, {});
  CHECK(count(result, "duplicate") == 200);
  CHECK(result.rejections.back().source == "b.log");
}

TEST_CASE("what is left of a broken layout is trusted only where it agrees") {
  // Averages over five, of which one to four did nothing: of the 60 rows that are not flat none is true.
  std::vector<CollectiveSample> samples;
  for (int i = 0; i < kRows; ++i) samples.push_back(gather(i, i < 60 ? sound_us(i) * (1 + i % 4) / 5 : 117));
  const auto result = clean(samples, {});
  CHECK(count(result, "flat") == 140);
  CHECK(count(result, "distrusted") == 60);
  for (int i = 0; i < 60; ++i) samples[static_cast<std::size_t>(i)] = gather(i, sound_us(i));
  CHECK(clean(samples, {}).kept.size() == 60);
}
