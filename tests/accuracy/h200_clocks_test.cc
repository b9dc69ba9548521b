// Products of six shapes on one H200 (700 W) in a steady loop with memory-bound work between them, the share
// of the time in products from 100 to 10 %: their time, SM clock and board power, measured by us apart from
// the samples of the profile. The clock is what the governor should foretell.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <span>

#include "cost/profile_store.h"
#include "operators/product.h"
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

// Loops of 1.2 to 1.8 s of linears alone on another H200 than those of the samples; power was not averaged.
constexpr Measured kAlone[] = {
    {5793, 1152, 4032, 1.0, 88.10, 1635.6, 0},      {1664, 3200, 1600, 1.0, 30.38, 1616.6, 0},
    {5760, 21952, 6272, 1.0, 2300.93, 1502.3, 0},   {19456, 584, 10368, 1.0, 465.92, 1569.3, 0},
    {512, 7168, 14336, 1.0, 170.64, 1591.0, 0},     {1664, 4736, 7104, 1.0, 176.56, 1546.9, 0},
    {5760, 1136, 640, 1.0, 18.97, 1780.4, 0},       {5793, 1152, 4032, 1.0, 87.96, 1637.7, 0},
    {8320, 7168, 12564, 1.0, 5404.61, 1969.3, 0},   {5760, 2560, 5856, 1.0, 273.32, 1544.3, 0},
    {512, 7168, 14336, 1.0, 173.92, 1544.1, 0},     {5760, 21952, 6272, 1.0, 2330.74, 1429.6, 0},
    {5760, 2560, 5856, 1.0, 273.13, 1553.9, 0},     {8320, 7168, 12564, 1.0, 5365.38, 1980.0, 0},
    {1664, 3200, 1600, 1.0, 28.77, 1682.2, 0},      {19456, 584, 10368, 1.0, 476.42, 1527.9, 0},
    {1664, 12352, 1397, 1.0, 671.79, 1980.0, 0},    {1664, 12352, 1397, 1.0, 670.78, 1980.0, 0},
    {1664, 4736, 7104, 1.0, 179.66, 1515.0, 0},     {8192, 4096, 11008, 1.0, 1099.98, 1471.0, 0},
    {8192, 4096, 4096, 1.0, 409.63, 1500.1, 0},     {2048, 2048, 2048, 1.0, 27.80, 1699.0, 0},
    {16384, 8192, 14336, 1.0, 5600.33, 1444.4, 0},  {32768, 1024, 4096, 1.0, 448.64, 1548.2, 0},
    {1024, 5120, 5120, 1.0, 82.22, 1535.8, 0},      {4096, 1024, 1024, 1.0, 16.03, 1845.4, 0},
    {10624, 10112, 13392, 1.0, 4132.30, 1481.6, 0}, {8192, 4096, 11008, 1.0, 1095.49, 1462.8, 0},
    {8192, 4096, 4096, 1.0, 408.30, 1498.2, 0},     {2048, 2048, 2048, 1.0, 27.64, 1713.5, 0},
    {16384, 8192, 14336, 1.0, 5530.40, 1455.8, 0},  {32768, 1024, 4096, 1.0, 449.52, 1548.8, 0},
    {1024, 5120, 5120, 1.0, 82.06, 1541.6, 0},      {4096, 1024, 1024, 1.0, 16.53, 1829.7, 0},
    {10624, 10112, 13392, 1.0, 4106.82, 1481.8, 0}};

struct Errors {
  double time = 0, time_bias = 0, clock = 0, at_full = 0, at_full_bias = 0;
};

// Means over the rows, each printed.
Errors errors_on(std::span<const Measured> rows) {
  Cluster cluster;
  cluster.gpu = Catalog().gpu("h200-141gb-sxm").value();
  const auto choice = ProfileStore().costs_for(cluster, "");
  REQUIRE(choice.has_value());
  const PowerModel* power = choice->costs->power();
  REQUIRE(power != nullptr);

  std::printf("product            share   us  here  error   MHz  here  at full clock\n");
  Errors mean;
  for (const Measured& row : rows) {
    const Operator op = linear({.m = row.m, .k = row.k, .n = row.n});
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
    const double mhz = clock * power->reference_mhz, count = static_cast<double>(rows.size());
    std::printf("%5lldx%5lldx%5lld  %3.0f %% %5.0f %5.0f %+5.1f %% %5.0f %5.0f        %+5.1f %%\n",
                static_cast<long long>(row.m), static_cast<long long>(row.k), static_cast<long long>(row.n),
                100 * row.share, row.us, us, 100 * error, row.clock_mhz, mhz, 100 * at_full);
    mean.time += std::abs(error) / count, mean.time_bias += error / count;
    mean.clock += std::abs(mhz / row.clock_mhz - 1) / count;
    mean.at_full += std::abs(at_full) / count, mean.at_full_bias += at_full / count;
  }
  std::printf(
      "mean absolute error of the time %.1f %% (bias %+.1f %%), of the clock %.1f %%; "
      "at the full clock %.1f %% (%+.1f %%)\n",
      100 * mean.time, 100 * mean.time_bias, 100 * mean.clock, 100 * mean.at_full, 100 * mean.at_full_bias);
  return mean;
}

}  // namespace

TEST_CASE("the governor foretells the clock, and so the time, of a product by its share of the time") {
  const Errors mean = errors_on(kMeasured);
  CHECK(mean.time < 0.06);
  CHECK(mean.clock < 0.08);
  CHECK(mean.time < mean.at_full);
}

TEST_CASE("and of products alone, short ones too, on a GPU that was not sampled") {
  const Errors mean = errors_on(kAlone);
  CHECK(mean.time < 0.04);
  CHECK(mean.clock < 0.04);
  CHECK(mean.time < mean.at_full);
}
