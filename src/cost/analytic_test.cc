#include "cost/analytic.h"

#include <doctest/doctest.h>

#include <tuple>

#include "operators/attention.h"
#include "operators/experts.h"
#include "operators/pointwise.h"
#include "operators/product.h"

using namespace foretrain;

namespace {

Cluster h200() {
  Cluster cluster;
  cluster.gpu.rates[static_cast<std::size_t>(Dtype::kBf16)] = teraflops(989);
  cluster.gpu.hbm = gigabytes_per_second(4800);
  cluster.gpu.sms = 132;
  cluster.gpu.clock_max_mhz = 1980;
  cluster.gpu.power_cap_w = 700;
  cluster.gpu.product_efficiency = 0.69;
  cluster.gpu.memory_efficiency = 0.9;
  cluster.host_launch = microseconds(6);
  return cluster;
}

Operator linear(std::int64_t m, std::int64_t k, std::int64_t n, PassKind pass = PassKind::kForward) {
  return foretrain::linear({.m = m, .k = k, .n = n}, {.pass = pass});
}

}  // namespace

TEST_CASE("A large product on an H200 takes what steady load measured, within a tenth") {
  // docs: 8192 x 4096 x 4096 took 0.409 ms and 8192 x 4096 x 11008 1.115 ms in a steady loop.
  const AnalyticCost costs(h200());
  CHECK(costs.cost(linear(8192, 4096, 4096)).gpu.value == doctest::Approx(0.409e-3).epsilon(0.1));
  CHECK(costs.cost(linear(8192, 4096, 11008)).gpu.value == doctest::Approx(1.115e-3).epsilon(0.1));
}

TEST_CASE("Attention in Triton takes 1.4 times as long as FlashAttention 2 forward, twice backward") {
  const AnalyticCost costs(h200());
  // Long enough for launches not to count.
  Operator op = attention({.batch = 4, .heads = 32, .kv_heads = 32, .seq = 16384, .head_dim = 128});
  for (const auto& [pass, ratio] :
       {std::pair(PassKind::kForward, 1.4), std::pair(PassKind::kBackward, 2.0)}) {
    op.pass = pass;
    op.impl = Impl::kFlash;
    const Seconds flash = costs.cost(op).gpu;
    op.impl = Impl::kTriton;
    CHECK(costs.cost(op).gpu / flash == doctest::Approx(ratio).epsilon(0.001));
  }
}

TEST_CASE("Rows that are no multiple of 16 bytes take kernels that load less at a time") {
  // Measured: linears of 2048 x 4096 x n on an H200 at full clock, 691 TFLOP/s for n = 4096, 212 for
  // 4100 (pairs of elements), 79 for 4097 (one at a time); a head of 50257 columns 96, of 50304 694. The rule is
  // 890 and 430 operations a clock and SM, times 132 SMs at 1980 MHz: 233 and 112 TFLOP/s before tiles that jut out.
  const AnalyticCost costs(h200());
  const auto rate = [&](const Operator& op) { return flops(op).value / costs.cost(op).gpu.value; };
  CHECK(rate(linear(8192, 4096, 50304)) > 600e12);
  CHECK(rate(linear(8192, 4096, 50257)) == doctest::Approx(112.4e12).epsilon(0.1));
  CHECK(rate(linear(8192, 4096, 50260)) == doctest::Approx(232.6e12).epsilon(0.1));
  // The depth counts as well as the width, and a batch's rows as a matrix's.
  CHECK(rate(linear(8192, 4097, 4096)) < 120e12);
  CHECK(rate(batched_product({.batch = 64, .m = 2048, .k = 109, .n = 2048})) < 120e12);
  // fp32 is loaded four at a time; it has no such rule.
  Cluster with_fp32 = h200();
  with_fp32.gpu.rates[static_cast<std::size_t>(Dtype::kFp32)] = teraflops(400);
  Operator router = linear(8192, 4096, 50257);
  router.dtype = Dtype::kFp32;
  CHECK(flops(router).value / AnalyticCost(with_fp32).cost(router).gpu.value > 200e12);
}

TEST_CASE("A product is never faster than the peak rate, nor a stream than the memory") {
  const Cluster cluster = h200();
  const AnalyticCost costs(cluster);
  for (std::int64_t m = 1; m <= 65536; m = m * 3 + 1)
    for (std::int64_t k = 8; k <= 32768; k = k * 5 + 3)
      for (std::int64_t n = 8; n <= 32768; n = n * 4 + 1)
        for (const PassKind pass :
             {PassKind::kForward, PassKind::kBackward, PassKind::kInput, PassKind::kWeight}) {
          const Operator op = linear(m, k, n, pass);
          const OperatorCost cost = costs.cost(op);
          REQUIRE(cost.gpu >= flops(op) / cluster.gpu.rate(Dtype::kBf16));
          REQUIRE(cost.gpu >= bytes(op) / cluster.gpu.hbm);
          REQUIRE(cost.clocked_share >= 0);
          REQUIRE(cost.clocked_share <= 1);
        }
}

TEST_CASE("More tokens are never faster") {
  const AnalyticCost costs(h200());
  Seconds before(0);
  for (std::int64_t m = 16; m <= 65536; m += 272) {
    const Seconds now = costs.cost(linear(m, 4096, 11008)).gpu;
    REQUIRE(now >= before);
    before = now;
  }
}

TEST_CASE("A pointwise operator is bound by memory and draws less than the cap") {
  const AnalyticCost costs(h200());
  const Operator add = pointwise(OperatorKind::kAdd, {.tokens = 8192, .width = 4096});
  const OperatorCost cost = costs.cost(add);
  CHECK(cost.clocked_share == 0);
  CHECK(cost.watts < 700);
  CHECK(cost.origin == Origin::kAnalytic);
  CHECK(cost.spread > 0);
  // 3 tensors of 2 bytes at 0.95 * 0.9 of 4.8 TB/s, and one kernel gap.
  CHECK(cost.gpu.value == doctest::Approx(8192.0 * 4096 * 6 / (4.8e12 * 0.9 * 0.95) + 1.5e-6));
  CHECK(cost.host == microseconds(6));
}

TEST_CASE("Kernels that load one element at a time are bound by instructions") {
  // Measured on our H200 (fp16, sums of kernel times): a bias added to 16384 x 8192 took 317 us, more than
  // the residual add of three tensors (186); RMSNorm of 16384 x 4096 by library kernels 387 and 1654 us, with
  // an fp32 scale 490 and 1955.
  const AnalyticCost costs(h200());
  const auto us = [&](OperatorKind kind, Impl impl, PassKind pass, std::int64_t width) {
    const Operator op = pointwise(kind, {.tokens = 16384, .width = width}, {.impl = impl, .pass = pass});
    return costs.cost(op).gpu.value * 1e6;
  };
  const auto near = [](double measured) { return doctest::Approx(measured).epsilon(0.1); };
  CHECK(us(OperatorKind::kBias, Impl::kAten, PassKind::kForward, 8192) == near(317));
  CHECK(us(OperatorKind::kAdd, Impl::kAten, PassKind::kForward, 8192) == near(186));
  for (const auto& [impl, pass, measured] : {std::tuple(Impl::kAten, PassKind::kForward, 387),
                                             {Impl::kAten, PassKind::kBackward, 1654},
                                             {Impl::kFp32Scale, PassKind::kForward, 490},
                                             {Impl::kFp32Scale, PassKind::kBackward, 1955}})
    CHECK(us(OperatorKind::kRmsnorm, impl, pass, 4096) == near(measured));
  CHECK(us(OperatorKind::kRope, Impl::kAten, PassKind::kForward, 4096) == near(597));
}

TEST_CASE("A chain of eager kernels costs its launches on the host") {
  const AnalyticCost costs(h200());
  const Operator norm =
      pointwise(OperatorKind::kRmsnorm, {.tokens = 16, .width = 64}, {.impl = Impl::kEager, .launches = 6});
  CHECK(costs.cost(norm).host.value == doctest::Approx(36e-6));
  CHECK(costs.cost(norm).gpu >= microseconds(9));
}

TEST_CASE(
    "A grouped product is as slow as its tiles, a loop over experts as its partial waves and launches") {
  const AnalyticCost costs(h200());
  Operator op = grouped_product({.experts = 8, .m = 16384, .k = 4096, .n = 14336});
  const Seconds together = costs.cost(op).gpu;
  // As the product of all rows, and at most the half tile more that each expert's rows take: 0.5 of 16.
  const Seconds plain = costs.cost(linear(16384, 4096, 14336)).gpu;
  CHECK(together >= plain);
  CHECK(together / plain < 1.05);
  CHECK(costs.cost(op).clocked_share > 0.9);
  // 64 experts with 256 rows each: 2.5 x 4 tiles of 128 x 256 fill a thirteenth of the SMs, one at a time.
  op = grouped_product({.experts = 64, .m = 16384, .k = 512, .n = 1024});
  const Seconds kernel = costs.cost(op).gpu;
  op.impl = Impl::kEager;
  op.launches = usual_launches(op);
  const OperatorCost loop = costs.cost(op);
  CHECK(loop.gpu > kernel * 3);
  CHECK(loop.host == microseconds(6) * 64.0);
  // A whole backward is both of its products.
  op.impl = Impl::kAten;
  op.launches = 1;
  op.pass = PassKind::kInput;
  const Seconds input = costs.cost(op).gpu;
  op.pass = PassKind::kWeight;
  const Seconds weight = costs.cost(op).gpu;
  op.pass = PassKind::kBackward;
  op.launches = 2;
  CHECK(costs.cost(op).gpu.value == doctest::Approx((input + weight).value));
  // One row an expert: the weights have to be read all the same.
  op = grouped_product({.experts = 64, .m = 64, .k = 4096, .n = 4096});
  CHECK(costs.cost(op).gpu.value > 64 * 4096.0 * 4096 * 2 / 4.8e12);
  CHECK(costs.cost(op).clocked_share == 0);
}

TEST_CASE("Rows sent to experts are bound by memory, eager chains more so than one kernel") {
  const AnalyticCost costs(h200());
  for (const OperatorKind kind : {OperatorKind::kPermute, OperatorKind::kUnpermute, OperatorKind::kRoute})
    for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
      const Variant fused_way = {.impl = Impl::kFused, .pass = pass};
      Operator op = kind == OperatorKind::kRoute
                        ? route({.tokens = 16384, .experts = 64, .top_k = 4}, fused_way)
                        : Operator(kind, SentSizes{.tokens = 16384, .width = 4096, .top_k = 4}, fused_way);
      op.launches = usual_launches(op);
      const OperatorCost fused = costs.cost(op);
      CHECK(fused.gpu > bytes(op) / h200().gpu.hbm);
      CHECK(fused.clocked_share == 0);
      op.impl = Impl::kEager;
      op.launches = usual_launches(op);
      CAPTURE(name(kind));
      if (kind != OperatorKind::kPermute || pass == PassKind::kBackward)
        CHECK(costs.cost(op).gpu > fused.gpu);
      CHECK(costs.cost(op).host >= fused.host);
    }
}

TEST_CASE("scores of heads that are no multiple of 16 bytes run at what batches of such rows reach") {
  // Measured on an H200: 64 heads of 2048 tokens take 552 us with heads of 108, 763 us with 150.
  const AnalyticCost costs(h200());
  for (const auto& [head_dim, us] : {std::pair<std::int64_t, double>(108, 552), {150, 763}})
    CHECK(costs.cost(batched_product({.batch = 64, .m = 2048, .k = head_dim, .n = 2048})).gpu.value * 1e6 ==
          doctest::Approx(us).epsilon(0.1));
}
