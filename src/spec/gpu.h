// A GPU as its datasheet and a few sustained measurements describe it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/dtype.h"
#include "spec/fitted_collective.h"

namespace foretrain {

struct Gpu {
  std::string name;
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
