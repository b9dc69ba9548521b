#include "segment/contention.h"

#include <doctest/doctest.h>

#include "network/algorithm.h"

namespace foretrain {
namespace {

TEST_CASE("beside an exchange compute has the SMs that are left") {
  // 20 of 132: 132/112; 16 of 148: 148/132.
  const SlowDown deepep = beside_exchange(exchange_sms(CollectiveKind::kDispatch) / 132.0, 1);
  CHECK(deepep.compute == doctest::Approx(1.1786).epsilon(1e-4));
  const SlowDown hybrid = beside_exchange(exchange_sms(CollectiveKind::kHybridCombine) / 148.0, 1);
  CHECK(hybrid.compute == doctest::Approx(1.1212).epsilon(1e-4));
  // Fewer than beside NCCL's kernels, and more SMs cost more.
  CHECK(hybrid.compute < deepep.compute);
  CHECK(deepep.compute < kComputeBeside);
  CHECK(beside_exchange(0, 1).compute == kComputeBeside);
}

TEST_CASE("what an overlapped exchange takes from the compute beside it") {
  const SlowDown slow = beside_exchange(20 / 132.0, 1);
  const double longer = 132.0 / 112 - 1;
  // An exchange of 2 ms behind 3 ms of compute is hidden, and costs 0.179 of itself: 3.36 ms.
  const Beside hidden = beside(microseconds(3000), microseconds(2000), slow);
  CHECK(hidden.compute.value * 1e3 == doctest::Approx(3 + 2 * longer));
  CHECK(hidden.both.value * 1e3 == doctest::Approx(2 * (1 + longer)));
  // The other way round the exchange remains, later by what the compute took from it.
  const Beside shown = beside(microseconds(2000), microseconds(3000), slow);
  CHECK(shown.compute.value * 1e3 == doctest::Approx(2 * (1 + longer)));
  CHECK(collective_delay(microseconds(3000), shown.both, slow).value * 1e3 == doctest::Approx(2 * longer));
  // Either way both together take 14.6 % of the shorter one longer, in the mean, where it was measured: the
  // share of SMs says 17.9 % for DeepEP on an H100, 12.1 for HybridEP on a B200.
  CHECK(longer > 0.09);
  CHECK(longer < 0.22);
}

TEST_CASE("a cluster's own measurements say how much longer both take") {
  CHECK(beside_collective(1).compute == kComputeBeside);
  CHECK(beside_collective(2).compute == doctest::Approx(1 + 2 * 0.189));
  CHECK(beside_collective(2).collective == doctest::Approx(1 + 2 * 0.189));
  CHECK(beside_exchange(0.25, 0.5).compute == doctest::Approx(1 + 0.5 / 3));
  // Beside something that slows nothing down, it is as if alone.
  CHECK(beside(microseconds(3000), microseconds(2000), beside_collective(0)).compute == microseconds(3000));
}

TEST_CASE("without an exchange beside it compute takes what it takes") {
  CHECK(beside(microseconds(3000), Seconds(0), beside_exchange(20 / 132.0, 1)).compute == microseconds(3000));
  CHECK(beside(microseconds(3000), Seconds(0), {}).both == Seconds(0));
}

}  // namespace
}  // namespace foretrain
