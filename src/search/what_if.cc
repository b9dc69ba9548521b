#include "search/what_if.h"

#include <fmt/format.h>

#include <vector>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "spec/cluster_figures.h"

namespace foretrain {
namespace {

constexpr RunFigure kRunFigures[] = {
    {"gpus", "how many GPUs there are", 1, 10'000'000, [](Problem& p, std::int64_t v) { p.gpus = {v}; }},
    {"global_batch", "sequences a step", 1, 1'000'000'000,
     [](Problem& p, std::int64_t v) { p.global_batch = v; }},
    {"seq", "tokens a sequence", 1, 100'000'000, [](Problem& p, std::int64_t v) { p.seq = v; }},
};

}  // namespace

std::span<const RunFigure> run_figures() { return kRunFigures; }

Result<WhatIf> what_if(const Problem& problem, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return fail(fmt::format("found {}, expected key=value such as gpus=512", quoted(text)));
  const std::string_view key = trim(text.substr(0, equals)), word = trim(text.substr(equals + 1));
  const auto refused = [&](std::string_view expected) {
    return fail(fmt::format("{}: found {}, expected {}", key, quoted(word), expected));
  };
  WhatIf out{fmt::format("{}={}", key, word), problem};
  for (const RunFigure& change : kRunFigures) {
    if (change.key != key) continue;
    const auto value = parse_count(word);
    if (!value || *value < change.low || *value > change.high)
      return refused(fmt::format("a whole number from {} to {}", change.low, change.high));
    change.apply(out.problem, *value);
    return out;
  }
  const ClusterFigure* figure = find_cluster_figure(key);
  if (figure == nullptr) {
    std::vector<std::string> keys;
    for (const RunFigure& change : kRunFigures) keys.emplace_back(change.key);
    for (const ClusterFigure& known : cluster_figures()) keys.emplace_back(known.key);
    return fail(fmt::format("unknown key {}{}", quoted(key), suggestion(key, keys)));
  }
  const auto value = parse_number(word);
  if (!value || !may_be(*figure, *value)) return refused(expected_of(*figure));
  TRY(set_figure(out.problem.cluster, *figure, *value));
  return out;
}

}  // namespace foretrain
