#include "spec/gpu_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/yaml_text.h"
#include "spec/fitted_collective_text.h"
#include "spec/read_fields.h"

namespace foretrain {

namespace {

// Reads a positive figure in the file's unit into a quantity that has `value`.
template <class Quantity>
Result<void> read_quantity(const Node& map, std::string_view key, Quantity& out, double low, double high,
                           Quantity (*unit)(double)) {
  double figure = 0;
  TRY(read_required(map, key, figure, RealNumber{low, high}));
  out = unit(figure);
  return {};
}

// Rows and blocks are scaled beside the same units: they have the rate of fp8 where none is stated.
constexpr Dtype kFp8Scalings[] = {Dtype::kFp8Row, Dtype::kFp8Block};

bool has_rate_of_fp8(const Gpu& gpu, Dtype dtype) {
  return std::find(std::begin(kFp8Scalings), std::end(kFp8Scalings), dtype) != std::end(kFp8Scalings) &&
         gpu.rate(dtype) == gpu.rate(Dtype::kFp8);
}

Result<void> read_rates(const Node& node, Gpu& gpu) {
  TRY_ASSIGN(const Node* rates, required_section(node, "rates_tflops",
                                                 {"bf16", "fp16", "tf32", "fp32", "fp8", "mxfp8", "nvfp4",
                                                  "fp8-row", "fp8-block"}));
  for (std::size_t i = 0; i < kDtypeNames.size(); ++i) {
    double figure = 0;
    TRY(read_optional(*rates, kDtypeNames[i], figure, RealNumber{1e-3, 1e6}));
    gpu.rates[i] = teraflops(figure);
  }
  for (const Dtype scaling : kFp8Scalings) {
    FlopsPerSecond& rate = gpu.rates[static_cast<std::size_t>(scaling)];
    if (rate == FlopsPerSecond()) rate = gpu.rate(Dtype::kFp8);
  }
  if (gpu.rate(Dtype::kFp16) == FlopsPerSecond() && gpu.rate(Dtype::kBf16) == FlopsPerSecond())
    return fail("rates_tflops: expected bf16 or fp16 at least", rates->at);
  return {};
}

Result<void> read_architecture(const Node& node, Gpu& gpu) {
  const auto has = [&](Dtype dtype) { return gpu.rate(dtype) != FlopsPerSecond(); };
  gpu.architecture = has(Dtype::kNvfp4) ? Architecture::kBlackwell
                     : has(Dtype::kFp8) ? Architecture::kHopper
                                        : Architecture::kAmpere;
  return read_optional(node, "architecture", gpu.architecture, OneOf{kArchitectureNames});
}

Result<void> read_memory(const Node& node, Gpu& gpu) {
  TRY(read_quantity(node, "hbm_gbytes", gpu.hbm, 1e-3, 1e6, gigabytes_per_second));
  TRY(read_quantity(node, "memory_mib", gpu.memory, 1, 1e9, mib));
  TRY(read_quantity(node, "usable_mib", gpu.usable, 1, 1e9, mib));
  if (gpu.usable > gpu.memory) return fail("usable_mib is more than memory_mib", node.find("usable_mib")->at);
  return read_quantity(node, "l2_mib", gpu.l2, 1e-3, 1e6, mib);
}

Result<void> read_clock(const Node& node, Gpu& gpu) {
  TRY_ASSIGN(const Node* clock, required_section(node, "clock_mhz", {"base", "max"}));
  TRY(read_required(*clock, "base", gpu.clock_base_mhz, RealNumber{1.0, 1e5}));
  TRY(read_required(*clock, "max", gpu.clock_max_mhz, RealNumber{1.0, 1e5}));
  if (gpu.clock_base_mhz > gpu.clock_max_mhz) return fail("clock_mhz: base is more than max", clock->at);
  return {};
}

}  // namespace

Result<Gpu> parse_gpu(const Node& node) {
  TRY(only_fields(
      node, "a GPU",
      {"name", "source", "architecture", "rates_tflops", "hbm_gbytes", "memory_mib", "usable_mib", "l2_mib",
       "sms", "clock_mhz", "power_cap_w", "nvlink_gbytes", "host_gbytes", "efficiency", "collectives"}));
  Gpu gpu;
  gpu.name = "inline";
  TRY(read_optional(node, "name", gpu.name));
  TRY(read_optional(node, "source", gpu.source));
  TRY(read_rates(node, gpu));
  TRY(read_architecture(node, gpu));
  TRY(read_memory(node, gpu));
  TRY(read_required(node, "sms", gpu.sms, WholeNumber{1, 100'000}));
  TRY(read_clock(node, gpu));
  TRY(read_required(node, "power_cap_w", gpu.power_cap_w, RealNumber{1.0, 1e5}));
  double nvlink = 0;  // a part without NVLink has no such line
  TRY(read_optional(node, "nvlink_gbytes", nvlink, RealNumber{0.0, 1e6}));
  gpu.nvlink = gigabytes_per_second(nvlink);
  double host = gpu.host.value / 1e9;
  TRY(read_optional(node, "host_gbytes", host, RealNumber{1e-3, 1e6}));
  gpu.host = gigabytes_per_second(host);
  TRY_ASSIGN(const Node* efficiency, optional_section(node, "efficiency", {"product", "memory"}));
  TRY(read_optional(*efficiency, "product", gpu.product_efficiency, RealNumber{0.01, 1.0}));
  TRY(read_optional(*efficiency, "memory", gpu.memory_efficiency, RealNumber{0.01, 1.0}));
  if (const Node* fitted = node.find("collectives")) {
    TRY_ASSIGN(gpu.collectives, parse_fitted_collectives(*fitted));
    for (std::size_t i = 0; i < gpu.collectives.size(); ++i)
      if (gpu.collectives[i].tier != Tier::kIntra)
        return fail("collectives: found tier inter, expected intra: a network is its cluster's",
                    fitted->items[i].at);
  }
  return gpu;
}

std::string to_yaml(const Gpu& gpu) {
  std::string out = fmt::format("name: {}\n", yaml_quoted(gpu.name));
  if (!gpu.source.empty()) out += fmt::format("source: {}\n", yaml_quoted(gpu.source));
  out += fmt::format("architecture: {}\n", name(gpu.architecture));
  out += "rates_tflops:\n";
  for (std::size_t i = 0; i < kDtypeNames.size(); ++i)
    if (gpu.rates[i] > FlopsPerSecond() && !has_rate_of_fp8(gpu, static_cast<Dtype>(i)))
      out += fmt::format("  {}: {}\n", kDtypeNames[i], in_units_of(1e12, gpu.rates[i].value));
  out += fmt::format("hbm_gbytes: {}\n", in_units_of(1e9, gpu.hbm.value));
  out += fmt::format("memory_mib: {}\n", in_units_of(mib(1).value, gpu.memory.value));
  out += fmt::format("usable_mib: {}\n", in_units_of(mib(1).value, gpu.usable.value));
  out += fmt::format("l2_mib: {}\n", in_units_of(mib(1).value, gpu.l2.value));
  out += fmt::format("sms: {}\n", gpu.sms);
  out += fmt::format("clock_mhz:\n  base: {}\n  max: {}\n", gpu.clock_base_mhz, gpu.clock_max_mhz);
  out += fmt::format("power_cap_w: {}\n", gpu.power_cap_w);
  out += fmt::format("nvlink_gbytes: {}\n", in_units_of(1e9, gpu.nvlink.value));
  out += fmt::format("host_gbytes: {}\n", in_units_of(1e9, gpu.host.value));
  out += fmt::format("efficiency:\n  product: {}\n  memory: {}\n", gpu.product_efficiency,
                     gpu.memory_efficiency);
  return out + to_yaml(gpu.collectives);
}

}  // namespace foretrain
