#include "spec/fitted_collective_text.h"

#include <fmt/format.h>

#include "spec/read_fields.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxEntries = 64;
constexpr std::int64_t kMaxRanks = 1'000'000;

Result<std::vector<double>> read_numbers(const Node& map, std::string_view key, double low, double high) {
  const Node* list = map.find(key);
  if (list == nullptr) return missing(map, key);
  if (!list->is_list() || list->items.empty() || list->items.size() > kMaxFittedKnots)
    return fail(fmt::format("{}: expected a list of 1 to {} numbers", key, kMaxFittedKnots), list->at);
  std::vector<double> numbers;
  for (const Node& item : list->items) {
    const auto value = item.number(low, high);
    if (!value) return named(key, value.error());
    numbers.push_back(*value);
  }
  return numbers;
}

Result<FittedLayout> parse_layout(const Node& node) {
  TRY(only_fields(node, "a layout",
                  {"ranks", "ranks_per_node", "samples", "error", "spread", "bytes", "factor"}));
  FittedLayout layout;
  TRY(read_required(node, "ranks", layout.ranks, WholeNumber{2, kMaxRanks}));
  TRY(read_required(node, "ranks_per_node", layout.ranks_per_node, WholeNumber{1, kMaxRanks}));
  if (layout.ranks % layout.ranks_per_node != 0)
    return fail(
        fmt::format("ranks {} is not a multiple of ranks_per_node {}", layout.ranks, layout.ranks_per_node),
        node.find("ranks")->at);
  TRY(read_optional(node, "samples", layout.samples, WholeNumber{0, 1'000'000'000}));
  TRY(read_optional(node, "error", layout.error, RealNumber{0.0, 1e6}));
  TRY(read_required(node, "spread", layout.spread, RealNumber{0.0, 1e6}));
  TRY_ASSIGN(layout.bytes, read_numbers(node, "bytes", 1.0, 1e18));
  TRY_ASSIGN(layout.factor, read_numbers(node, "factor", 1e-12, 1e12));
  if (layout.bytes.size() != layout.factor.size())
    return fail(fmt::format("factor: found {} numbers, expected {}, one for each of bytes",
                            layout.factor.size(), layout.bytes.size()),
                node.find("factor")->at);
  for (std::size_t i = 1; i < layout.bytes.size(); ++i)
    if (layout.bytes[i] <= layout.bytes[i - 1])
      return fail(fmt::format("bytes: found {} after {}, expected growing sizes", layout.bytes[i],
                              layout.bytes[i - 1]),
                  node.find("bytes")->items[i].at);
  return layout;
}

Result<FittedCollective> parse_collective(const Node& node) {
  TRY(only_fields(
      node, "a fitted collective",
      {"collective", "tier", "bandwidth_share", "latency_scale", "row_ns", "unseen_error", "layouts"}));
  FittedCollective fitted;
  TRY(read_required(node, "collective", fitted.kind, OneOf{kCollectiveNames}));
  TRY(read_required(node, "tier", fitted.tier, OneOf{kTierNames}));
  TRY(read_required(node, "bandwidth_share", fitted.bandwidth_share, RealNumber{1e-6, 10.0}));
  TRY(read_optional(node, "latency_scale", fitted.latency_scale, RealNumber{1e-3, 1e3}));
  double row_ns = 0;
  TRY(read_optional(node, "row_ns", row_ns, RealNumber{0.0, 1e6}));
  if (const Node* row = node.find("row_ns"); row != nullptr && !is_routed(fitted.kind))
    return fail(fmt::format("row_ns: found with {}, expected with a dispatch or combine", name(fitted.kind)),
                row->at);
  fitted.row = Seconds(row_ns * 1e-9);
  TRY(read_required(node, "unseen_error", fitted.unseen_error, RealNumber{0.0, 1e6}));
  const Node* layouts = node.find("layouts");
  if (layouts == nullptr) return fitted;
  if (!layouts->is_list() || layouts->items.size() > kMaxFittedLayouts)
    return fail(fmt::format("layouts: expected a list of at most {}", kMaxFittedLayouts), layouts->at);
  for (const Node& item : layouts->items) {
    TRY_ASSIGN(FittedLayout layout, parse_layout(item));
    for (const FittedLayout& other : fitted.layouts)
      if (other.ranks == layout.ranks && other.ranks_per_node == layout.ranks_per_node)
        return fail(fmt::format("the layout of {} ranks, {} a node, stands here twice", layout.ranks,
                                layout.ranks_per_node),
                    item.at);
    fitted.layouts.push_back(std::move(layout));
  }
  return fitted;
}

// A list over as many lines as it needs.
std::string wrapped(const std::vector<double>& numbers, std::string_view indent) {
  constexpr std::size_t kWidth = 108;
  std::string out, line(indent);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string number = fmt::format("{}{}", numbers[i], i + 1 < numbers.size() ? ", " : "]");
    if (line.size() + number.size() > kWidth) {
      while (line.ends_with(' ')) line.pop_back();
      out += line + "\n";
      line = indent;
    }
    line += number;
  }
  return (out + line).substr(indent.size());
}

}  // namespace

Result<std::vector<FittedCollective>> parse_fitted_collectives(const Node& list) {
  if (!list.is_list() || list.items.size() > kMaxEntries)
    return fail(fmt::format("collectives: expected a list of at most {}", kMaxEntries), list.at);
  std::vector<FittedCollective> collectives;
  for (const Node& item : list.items) {
    TRY_ASSIGN(FittedCollective fitted, parse_collective(item));
    for (const FittedCollective& other : collectives)
      if (other.kind == fitted.kind && other.tier == fitted.tier)
        return fail(fmt::format("{} on tier {} stands here twice", name(fitted.kind), name(fitted.tier)),
                    item.at);
    collectives.push_back(std::move(fitted));
  }
  return collectives;
}

std::string to_yaml(const std::vector<FittedCollective>& collectives) {
  if (collectives.empty()) return {};
  std::string out = "collectives:\n";
  for (const FittedCollective& c : collectives) {
    out += fmt::format("  - collective: {}\n    tier: {}\n    bandwidth_share: {}\n    latency_scale: {}\n",
                       name(c.kind), name(c.tier), c.bandwidth_share, c.latency_scale);
    if (is_routed(c.kind)) out += fmt::format("    row_ns: {:.6g}\n", c.row.value * 1e9);
    out += fmt::format("    unseen_error: {}\n", c.unseen_error);
    if (!c.layouts.empty()) out += "    layouts:\n";
    for (const FittedLayout& l : c.layouts)
      out += fmt::format(
          "      - {{ranks: {}, ranks_per_node: {}, samples: {}, error: {}, spread: {},\n"
          "         bytes: [{},\n         factor: [{}}}\n",
          l.ranks, l.ranks_per_node, l.samples, l.error, l.spread, wrapped(l.bytes, "                 "),
          wrapped(l.factor, "                 "));
  }
  return out;
}

}  // namespace foretrain
