// A GPU as its datasheet and a few sustained measurements describe it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "spec/dtype.h"
#include "spec/fitted_collective.h"

namespace foretrain {

// What kernels are written for. A GPU whose file names none is told by its rates: with nvfp4 Blackwell, with fp8 Hopper.
enum class Architecture : unsigned char { kAmpere, kAda, kHopper, kBlackwell, kCdna3, kCdna4 };
inline constexpr std::array<std::string_view, 6> kArchitectureNames = {"ampere",    "ada",   "hopper",
                                                                       "blackwell", "cdna3", "cdna4"};
constexpr std::string_view name(Architecture a) { return kArchitectureNames[static_cast<int>(a)]; }
constexpr bool is_nvidia(Architecture a) { return a <= Architecture::kBlackwell; }

struct Gpu {
  std::string name;
  Architecture architecture = Architecture::kAmpere;
  std::array<FlopsPerSecond, kDtypeCount> rates{};  // dense; zero: the part has no such unit
  BytesPerSecond hbm;
  Bytes memory;  // as nvidia-smi totals it
  Bytes usable;  // as CUDA reports it to a process
  Bytes l2;
  std::int64_t sms = 0;
  double clock_base_mhz = 0;
  double clock_max_mhz = 0;
  double power_cap_w = 0;
  BytesPerSecond nvlink;                           // each way
  BytesPerSecond host = gigabytes_per_second(25);  // each way, to the host's memory
  double product_efficiency = 0.7;  // share of the rate that a very large product reaches under steady load
  double memory_efficiency = 0.85;  // share of hbm that a long stream reaches
  std::vector<FittedCollective>
      collectives;  // inside an NVLink domain, where a cluster has no fit of its own
  std::string source;

  FlopsPerSecond rate(Dtype dtype) const { return rates[static_cast<std::size_t>(dtype)]; }
  bool operator==(const Gpu&) const = default;
};

}  // namespace foretrain
