#include "search/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/text.h"

namespace foretrain {
namespace {

struct Change {
  std::string_view key;
  double low, high;
  bool whole;
  void (*apply)(Problem& problem, double value);
};

std::int64_t count(double value) { return static_cast<std::int64_t>(value); }

constexpr Change kChanges[] = {
    {"gpus", 1, 10'000'000, true, [](Problem& p, double v) { p.gpus = {count(v)}; }},
    {"global_batch", 1, 1e9, true, [](Problem& p, double v) { p.global_batch = count(v); }},
    {"seq", 1, 1e8, true, [](Problem& p, double v) { p.seq = count(v); }},
    {"inter_gbps", 1e-3, 1e6, false,
     [](Problem& p, double v) { p.cluster.inter.bandwidth = BytesPerSecond(v * 1e9 / 8); }},
    {"inter_latency_us", 0, 1e6, false,
     [](Problem& p, double v) { p.cluster.inter.latency = microseconds(v); }},
    {"nics", 1, 1024, true, [](Problem& p, double v) { p.cluster.nics = count(v); }},
    {"oversubscription", 1, 1000, false, [](Problem& p, double v) { p.cluster.fabric.oversubscription = v; }},
    {"intra_gbytes", 1e-3, 1e6, false,
     [](Problem& p, double v) { p.cluster.intra.bandwidth = gigabytes_per_second(v); }},
    {"host_launch_us", 0, 1e6, false, [](Problem& p, double v) { p.cluster.host_launch = microseconds(v); }},
    {"usable_gib", 1e-3, 1e6, false, [](Problem& p, double v) { p.cluster.gpu.usable = gib(v); }},
    {"price_per_gpu_hour", 0, 1e6, false, [](Problem& p, double v) { p.cluster.price_per_gpu_hour = v; }},
};

}  // namespace

Result<WhatIf> what_if(const Problem& problem, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return fail(fmt::format("found {}, expected key=value such as gpus=512", quoted(text)));
  const std::string_view key = trim(text.substr(0, equals)), word = trim(text.substr(equals + 1));
  const auto* found = std::find_if(std::begin(kChanges), std::end(kChanges),
                                   [key](const Change& change) { return change.key == key; });
  if (found == std::end(kChanges)) {
    std::vector<std::string> keys;
    for (const Change& change : kChanges) keys.emplace_back(change.key);
    return fail(fmt::format("unknown key {}{}", quoted(key), suggestion(key, keys)));
  }
  const auto value = parse_number(word);
  if (!value || *value < found->low || *value > found->high ||
      (found->whole && *value != static_cast<double>(count(*value))))
    return fail(fmt::format("{}: found {}, expected {} from {} to {}", key, quoted(word),
                            found->whole ? "a whole number" : "a number", found->low, found->high));
  WhatIf out{fmt::format("{}={}", key, word), problem};
  found->apply(out.problem, *value);
  return out;
}

}  // namespace foretrain
