// Products of six shapes on one H200 (700 W) in a steady loop with memory-bound work between them, the share
// of the time in products from 100 to 10 %: their time, SM clock and board power, measured by us apart from
// the samples of the profile. The clock is what the governor should foretell.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "cost/profile_store.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

struct Measured {
  std::int64_t m, k, n;
  double share, us, clock_mhz, power_w;
};
constexpr Measured kMeasured[] = {
    {8192, 4096, 4096, 1.0, 409.86, 1470.0, 604.2},   {8192, 4096, 4096, 0.8, 408.38, 1462.5, 600.4},
    {8192, 4096, 4096, 0.6, 407.97, 1489.6, 604.8},   {8192, 4096, 4096, 0.4, 406.78, 1480.0, 624.4},
    {8192, 4096, 4096, 0.2, 401.42, 1542.5, 629.8},   {8192, 4096, 4096, 0.1, 387.83, 1517.5, 621.4},
    {8192, 4096, 11008, 1.0, 1111.74, 1421.5, 617.4}, {8192, 4096, 11008, 0.8, 1089.58, 1458.5, 613.6},
    {8192, 4096, 11008, 0.6, 1013.04, 1539.2, 619.8}, {8192, 4096, 11008, 0.4, 939.56, 1746.4, 601.2},
    {8192, 4096, 11008, 0.2, 935.04, 1956.9, 558.5},  {8192, 4096, 11008, 0.1, 934.31, 1975.7, 518.6},
    {8192, 11008, 4096, 1.0, 1059.60, 1443.5, 636.2}, {8192, 11008, 4096, 0.8, 1043.24, 1494.2, 638.0},
    {8192, 11008, 4096, 0.6, 984.51, 1558.8, 635.3},  {8192, 11008, 4096, 0.4, 937.45, 1765.0, 615.8},
    {8192, 11008, 4096, 0.2, 900.78, 1960.4, 568.9},  {8192, 11008, 4096, 0.1, 899.34, 1977.7, 521.9},
    {16384, 8192, 8192, 1.0, 3297.17, 1422.7, 636.7}, {16384, 8192, 8192, 0.8, 3230.56, 1492.5, 611.6},
    {16384, 8192, 8192, 0.6, 3145.22, 1537.5, 607.7}, {16384, 8192, 8192, 0.4, 2864.26, 1568.1, 615.0},
    {16384, 8192, 8192, 0.2, 2809.14, 1659.2, 564.8}, {16384, 8192, 8192, 0.1, 2809.40, 1886.2, 523.5},
    {4096, 2048, 8192, 1.0, 206.14, 1491.2, 625.8},   {4096, 2048, 8192, 0.8, 200.38, 1563.8, 626.8},
    {4096, 2048, 8192, 0.6, 192.15, 1625.0, 622.4},   {4096, 2048, 8192, 0.4, 181.64, 1828.8, 605.6},
    {4096, 2048, 8192, 0.2, 176.84, 1980.0, 542.0},   {4096, 2048, 8192, 0.1, 176.71, 1980.0, 515.5},
    {2048, 1024, 4096, 1.0, 27.88, 1755.0, 620.7},    {2048, 1024, 4096, 0.8, 27.33, 1827.5, 621.1},
    {2048, 1024, 4096, 0.6, 26.51, 1952.5, 601.6},    {2048, 1024, 4096, 0.4, 26.30, 1980.0, 539.9},
    {2048, 1024, 4096, 0.2, 26.30, 1980.0, 505.0},    {2048, 1024, 4096, 0.1, 26.27, 1980.0, 487.8},
};

struct Errors {
  double time = 0, time_bias = 0, clock = 0, count = 0;
};

}  // namespace

TEST_CASE("the governor foretells the clock, and so the time, of a product by its share of the time") {
  Cluster cluster;
  cluster.gpu = Catalog().gpu("h200-141gb-sxm").value();
  const auto choice = ProfileStore().costs_for(cluster, "");
  REQUIRE(choice.has_value());
  const PowerModel* power = choice->costs->power();
  REQUIRE(power != nullptr);

  std::printf("product            share   us  here  error   MHz  here  at full clock\n");
  Errors all, uncapped;
  for (const Measured& row : kMeasured) {
    Operator op;
    op.sizes = {row.m, row.k, row.n};
    const OperatorCost product = choice->costs->cost(op);
    PowerLoad load;
    add(load, product);
    OperatorCost stream;  // as much as fills the rest of the time that was measured
    stream.gpu = Seconds(row.us * 1e-6 * (1 - row.share) / row.share);
    stream.watts =
        power->static_w + power->joules_per_byte * cluster.gpu.hbm.value * cluster.gpu.memory_efficiency;
    add(load, stream);
    const double clock = settled_clock(load, *power, cluster.gpu.power_cap_w);
    const double us = gpu_at(product, clock).value * 1e6, error = us / row.us - 1;
    const double at_full = product.gpu.value * 1e6 / row.us - 1;
    std::printf("%5lldx%5lldx%5lld  %3.0f %% %5.0f %5.0f %+5.1f %% %5.0f %5.0f        %+5.1f %%\n",
                static_cast<long long>(row.m), static_cast<long long>(row.k), static_cast<long long>(row.n),
                100 * row.share, row.us, us, 100 * error, row.clock_mhz, clock * power->reference_mhz,
                100 * at_full);
    for (const auto& [sum, e] : {std::pair{&all, error}, std::pair{&uncapped, at_full}}) {
      sum->time += std::abs(e), sum->time_bias += e, ++sum->count;
      sum->clock += std::abs(clock * power->reference_mhz / row.clock_mhz - 1);
    }
  }
  std::printf(
      "mean absolute error of the time %.1f %% (bias %+.1f %%), of the clock %.1f %%; "
      "at the full clock %.1f %% (%+.1f %%)\n",
      100 * all.time / all.count, 100 * all.time_bias / all.count, 100 * all.clock / all.count,
      100 * uncapped.time / uncapped.count, 100 * uncapped.time_bias / uncapped.count);
  CHECK(all.time / all.count < 0.06);
  CHECK(all.clock / all.count < 0.08);
  CHECK(all.time < uncapped.time);
}
