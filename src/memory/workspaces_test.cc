#include "memory/workspaces.h"

#include <doctest/doctest.h>

#include "spec/catalog.h"

namespace foretrain {
namespace {

Bytes of(const char* stack, const char* cluster, bool has_experts) {
  const Catalog catalog;
  return workspace_bytes(catalog.stack(stack).value(), catalog.cluster(cluster).value().gpu, has_experts);
}

TEST_CASE("Megatron keeps two workspaces of torch, one of Transformer Engine, and four more for experts") {
  CHECK(of("megatron", "dgx-h100", false) == mib(3 * 32));
  CHECK(of("megatron", "dgx-h100", true) == mib(7 * 32));
  // 4096 KiB twice and 16 KiB eight times, before Hopper.
  CHECK(of("megatron", "dgx-a100", false) == mib(2 * (8 + 0.125) + 4));
  CHECK(of("megatron", "dgx-a100", true) == mib(2 * (8 + 0.125) + 5 * 4));
}

TEST_CASE("An AMD GPU that multiplies fp8 is no Hopper, nor is an Ada") {
  CHECK(of("megatron", "mlperf-amd-mi300x-192gb", false) == mib(2 * 128 + 32));
  CHECK(of("megatron", "mlperf-amd-mi355x-288gb", false) == mib(2 * 128 + 64));
  CHECK(of("megatron", "mlperf-nvidia-l40s", false) == mib(2 * (8 + 0.125) + 4));
}

TEST_CASE("A stack that says nothing of workspaces has none") {
  CHECK(of("generic", "dgx-h100", true) == Bytes(0));
}

}  // namespace
}  // namespace foretrain
