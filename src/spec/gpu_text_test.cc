#include "spec/gpu_text.h"

#include <doctest/doctest.h>

#include <string>

#include "spec/testing.h"

using namespace foretrain;

namespace {

const std::string kGpu =
    "name: card\nrates_tflops: {bf16: 989.4, fp16: 989, fp32: 66.9}\nhbm_gbytes: 3352.3\nmemory_mib: 81559\n"
    "usable_mib: 81079\nl2_mib: 50\nsms: 132\nclock_mhz: {base: 1590, max: 1980}\npower_cap_w: 700\n"
    "nvlink_gbytes: 450\nefficiency: {product: 0.69, memory: 0.9}\n";

Result<Gpu> gpu_of(const std::string& yaml) { return parse_yaml(yaml, "g.yaml").and_then(parse_gpu); }

}  // namespace

TEST_CASE("a GPU's figures are read in the units of its file") {
  const auto gpu = gpu_of(kGpu);
  REQUIRE_MESSAGE(gpu.has_value(), error_of(gpu));
  CHECK(gpu->rate(Dtype::kBf16) == teraflops(989.4));
  CHECK(gpu->rate(Dtype::kFp8) == FlopsPerSecond());
  CHECK(gpu->hbm == gigabytes_per_second(3352.3));
  CHECK(gpu->usable == mib(81079));
  CHECK(gpu->clock_max_mhz == 1980);
}

TEST_CASE("an architecture is stated, or told by the rates") {
  CHECK(gpu_of(kGpu)->architecture == Architecture::kAmpere);
  const auto with = [](std::string_view rates) {
    std::string text = kGpu;
    return gpu_of(text.replace(text.find("fp32: 66.9"), 10, rates));
  };
  CHECK(with("fp8: 1979")->architecture == Architecture::kHopper);
  CHECK(with("fp8: 4500, nvfp4: 9000")->architecture == Architecture::kBlackwell);
  CHECK(gpu_of(kGpu + "architecture: cdna3\n")->architecture == Architecture::kCdna3);
  CHECK(error_of(gpu_of(kGpu + "architecture: hoper\n")).find("hopper") != std::string::npos);
  CHECK(*gpu_of(to_yaml(*gpu_of(kGpu + "architecture: ada\n"))) == *gpu_of(kGpu + "architecture: ada\n"));
}

TEST_CASE("a GPU written as YAML reads back equal, to the last bit") {
  const Gpu gpu = *gpu_of(kGpu);
  CHECK(*gpu_of(to_yaml(gpu)) == gpu);
  CHECK(to_yaml(gpu).find("  bf16: 989.4\n") != std::string::npos);
}

TEST_CASE("what was fitted of a GPU's own links reads back, and speaks of no network") {
  const std::string fitted =
      "collectives:\n  - {collective: dispatch, tier: intra, bandwidth_share: 0.9, row_ns: 15, unseen_error: "
      "0.1,\n"
      "     layouts: [{ranks: 8, ranks_per_node: 8, spread: 0.1, bytes: [1000, 2000], factor: [1, 0.9]}]}\n";
  const auto gpu = gpu_of(kGpu + fitted);
  REQUIRE_MESSAGE(gpu.has_value(), error_of(gpu));
  REQUIRE(gpu->collectives.size() == 1);
  CHECK(*gpu_of(to_yaml(*gpu)) == *gpu);
  CHECK(error_of(gpu_of(kGpu + replaced(fitted, "tier: intra", "tier: inter"))) ==
        "g.yaml:13:5: error: collectives: found tier inter, expected intra: a network is its cluster's");
}

TEST_CASE("a wrong GPU is refused") {
  CHECK(error_of(gpu_of(replaced(kGpu, "fp32", "fp31"))) ==
        "g.yaml:2:40: error: unknown key 'fp31'; did you mean 'fp32'?");
  CHECK(error_of(gpu_of(replaced(kGpu, "usable_mib: 81079", "usable_mib: 90000"))) ==
        "g.yaml:5:13: error: usable_mib is more than memory_mib");
  CHECK(error_of(gpu_of(replaced(kGpu, "base: 1590", "base: 2590"))) ==
        "g.yaml:8:12: error: clock_mhz: base is more than max");
  CHECK(error_of(gpu_of(replaced(kGpu, "{bf16: 989.4, fp16: 989, fp32: 66.9}", "{fp32: 66.9}"))) ==
        "g.yaml:2:15: error: rates_tflops: expected bf16 or fp16 at least");
  CHECK(error_of(gpu_of(replaced(kGpu, "{bf16: 989.4, fp16: 989, fp32: 66.9}", "989"))) ==
        "g.yaml:2:15: error: expected a map that describes rates_tflops");
}
