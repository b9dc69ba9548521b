#include "samples/nccl_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace foretrain {

std::optional<NcclRank> nccl_rank(const std::vector<NcclWord>& words) {
  if (words.size() < 6 || words[0].text != "Rank") return std::nullopt;
  NcclRank line;
  const auto rank = parse_integer(words[1].text);
  if (!rank || *rank < 0 || *rank > 10'000'000) return std::nullopt;
  line.rank = *rank;
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i].text == "Group") line.group = parse_integer(words[i + 1].text).value_or(0);
    if (words[i].text == "on") line.host = words[i + 1].text;
    if (words[i].text != "device") continue;
    line.device = words[i + 1].text;
    if (i + 2 < words.size() && words[i + 2].text.starts_with('[')) line.device += words[i + 2].text;
    break;
  }
  if (line.host.empty()) return std::nullopt;
  return line;
}

bool is_complete(std::span<const NcclRank> ranks) {
  std::int64_t last = -1;
  for (const NcclRank& rank : ranks) last = std::max(last, rank.rank);
  return !ranks.empty() && last == static_cast<std::int64_t>(ranks.size()) - 1;
}

NcclLayout partial_layout(std::span<const NcclRank> ranks) {
  NcclLayout layout;
  for (const NcclRank& rank : ranks) {
    layout.ranks = std::max(layout.ranks, rank.rank + 1);
    const std::string_view device(rank.device);
    const auto number = parse_integer(device.substr(0, device.find('[')));
    if (number && *number >= 0 && *number < rank.rank + 1)
      layout.ranks_per_node = std::max(layout.ranks_per_node, *number + 1);
  }
  if (layout.ranks_per_node > 0 && layout.ranks % layout.ranks_per_node != 0) layout.ranks_per_node = 0;
  return layout;
}

std::int64_t usual_node(std::int64_t ranks) {
  constexpr std::int64_t kUsual = 8;
  for (std::int64_t size = std::min(kUsual, ranks); size > 1; --size)
    if (ranks % size == 0) return size;
  return 1;
}

Result<NcclLayout> nccl_layout(std::span<const NcclRank> ranks, const Position& table) {
  NcclLayout layout;
  std::map<std::string_view, std::int64_t> by_host;
  std::set<std::pair<std::string_view, std::string_view>> devices;
  std::set<std::int64_t> numbers, groups;
  for (const NcclRank& rank : ranks) {
    ++by_host[rank.host];
    groups.insert(rank.group);
    if (!numbers.insert(rank.rank).second)
      return fail(fmt::format("found rank {} twice before this table, expected one run a table: were the "
                              "tests built without MPI?",
                              rank.rank),
                  table);
    if (!devices.emplace(rank.host, rank.device).second)
      layout.skipped = fmt::format("two ranks on one device of {}", printable(rank.host));
  }
  layout.ranks = static_cast<std::int64_t>(ranks.size());
  if (*numbers.begin() != 0 || *numbers.rbegin() != layout.ranks - 1)
    return fail(fmt::format("found {} lines of ranks from {} to {} before this table, expected one for each "
                            "from 0",
                            layout.ranks, *numbers.begin(), *numbers.rbegin()),
                table);
  layout.ranks_per_node = by_host.begin()->second;
  for (const auto& [host, count] : by_host)
    if (count != layout.ranks_per_node)
      layout.skipped = fmt::format("{} ranks on {}, {} on {}", layout.ranks_per_node,
                                   printable(by_host.begin()->first), count, printable(host));
  if (groups.size() > 1) layout.skipped = fmt::format("{} groups at a time", groups.size());
  if (layout.ranks < 2) layout.skipped = "one rank";
  return layout;
}

}  // namespace foretrain
