#include "samples/collective_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "samples/sample_table.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

enum Column {
  kCollective,
  kBytes,
  kRanks,
  kRanksPerNode,
  kUs,
  kSpread,
  kAlgorithm,
  kProtocol,
  kSource,
  kTokens,
  kHidden,
  kTopK,
  kExperts,
  kSms,
  kColumnCount
};
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {
    "collective", "bytes",  "ranks",  "ranks_per_node", "us",    "spread",  "algorithm",
    "protocol",   "source", "tokens", "hidden",         "top_k", "experts", "sms"};
constexpr int kRequired[] = {kCollective, kBytes, kRanks, kRanksPerNode, kUs};

constexpr std::int64_t kMaxBytes = 1'000'000'000'000'000;
constexpr std::int64_t kMaxRanks = 10'000'000;
constexpr double kMaxUs = 1e12;  // eleven days
constexpr std::int64_t kMaxTokens = 1'000'000'000, kMaxExperts = 100'000, kMaxHidden = 10'000'000;

template <class T>
Result<T> filled(const Result<std::optional<T>>& cell, const SampleTable& table, std::size_t row,
                 Column column, std::string_view expected) {
  if (!cell) return tl::unexpected(cell.error());
  if (*cell) return **cell;
  return fail(fmt::format("{}: found nothing, expected {}", kColumnNames[column], expected),
              table.position(row, column));
}

Result<void> read_routing(const SampleTable& table, std::size_t row, CollectiveSample& sample) {
  const auto whole = [&](Column column, std::int64_t most, std::string_view expected) {
    return filled(table.whole(row, column, 1, most), table, row, column, expected);
  };
  TRY_ASSIGN(sample.tokens, whole(kTokens, kMaxTokens, "how many tokens a rank has"));
  TRY_ASSIGN(const std::int64_t experts, whole(kExperts, kMaxExperts, "how many experts there are"));
  TRY_ASSIGN(const std::int64_t top_k, whole(kTopK, kMaxExperts, "how many experts a token has"));
  if (top_k > experts)
    return fail(fmt::format("top_k: found {}, expected at most the {} experts", top_k, experts),
                table.position(row, kTopK));
  TRY_ASSIGN(const auto hidden, table.whole(row, kHidden, 1, kMaxHidden));
  TRY_ASSIGN(const auto sms, table.whole(row, kSms, 1, 10'000));
  sample.experts = static_cast<std::int32_t>(experts);
  sample.top_k = static_cast<std::int32_t>(top_k);
  sample.hidden = hidden.value_or(0);
  sample.sms = static_cast<std::int32_t>(sms.value_or(0));
  return {};
}

Result<CollectiveSample> read_sample(const SampleTable& table, std::size_t row) {
  CollectiveSample sample;
  TRY_ASSIGN(sample.kind, parse_choice<CollectiveKind>(table.text(row, kCollective), kCollectiveNames,
                                                       table.position(row, kCollective)));
  TRY_ASSIGN(const std::int64_t bytes,
             filled(table.whole(row, kBytes, 1, kMaxBytes), table, row, kBytes, "a number of bytes"));
  TRY_ASSIGN(sample.ranks,
             filled(table.whole(row, kRanks, 2, kMaxRanks), table, row, kRanks, "how many ranks take part"));
  TRY_ASSIGN(sample.ranks_per_node, filled(table.whole(row, kRanksPerNode, 1, kMaxRanks), table, row,
                                           kRanksPerNode, "how many of them share a node"));
  if (sample.ranks % sample.ranks_per_node != 0)
    return fail(fmt::format("ranks_per_node: found {}, expected a divisor of the {} ranks",
                            sample.ranks_per_node, sample.ranks),
                table.position(row, kRanksPerNode));
  TRY_ASSIGN(const double us,
             filled(table.number(row, kUs, 0, false, kMaxUs), table, row, kUs, "a time in microseconds"));
  TRY_ASSIGN(const auto spread, table.number(row, kSpread, 0, true, 100));
  sample.bytes = Bytes(static_cast<double>(bytes));
  sample.seconds = microseconds(us);
  sample.spread = spread.value_or(0);
  sample.algorithm = std::string(table.text(row, kAlgorithm));
  sample.protocol = std::string(table.text(row, kProtocol));
  sample.source = std::string(table.text(row, kSource));
  if (is_routed(sample.kind)) TRY(read_routing(table, row, sample));
  return sample;
}

}  // namespace

std::string layout_label(const CollectiveSample& sample) {
  std::string label = fmt::format("{} {}x{}", name(sample.kind), sample.nodes(), sample.ranks_per_node);
  if (!is_routed(sample.kind)) return label;
  if (sample.hidden > 0) label += fmt::format(" {}", sample.hidden);
  label += fmt::format(" {}/{}", sample.top_k, sample.experts);
  if (sample.sms > 0) label += fmt::format(" {} SMs", sample.sms);
  return label;
}

std::string source_label(std::string_view file_name) {
  std::string label(trim(file_name));
  for (char& c : label)
    if (c == ',' || c == '"' || static_cast<unsigned char>(c) < ' ') c = '_';
  return label;
}

Result<std::vector<CollectiveSample>> parse_collective_samples(std::string text,
                                                               const std::string& file_name) {
  TRY_ASSIGN(const SampleTable table,
             SampleTable::parse(std::move(text), file_name, kColumnNames, kRequired));
  std::vector<CollectiveSample> samples;
  samples.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    TRY_ASSIGN(CollectiveSample sample, read_sample(table, i));
    if (sample.source.empty()) sample.source = file_name;
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<CollectiveSample>> parse_collective_samples(Sources tables) {
  return parse_sample_tables(std::move(tables), kColumnNames[kCollective],
                             [](std::string text, const std::string& file) {
                               return parse_collective_samples(std::move(text), file);
                             });
}

Result<std::vector<CollectiveSample>> read_collective_samples(const Files& files, const std::string& path) {
  TRY_ASSIGN(Sources tables, sample_sources(files, path));
  return parse_collective_samples(std::move(tables));
}

std::string to_csv(const std::vector<CollectiveSample>& samples) {
  const bool routed =
      std::any_of(samples.begin(), samples.end(), [](const auto& s) { return is_routed(s.kind); });
  std::string text;
  for (int column = 0; column < (routed ? kColumnCount : kTokens); ++column)
    text += (text.empty() ? "" : ",") + std::string(kColumnNames[static_cast<std::size_t>(column)]);
  text += '\n';
  const auto known = [](std::int64_t count) { return count > 0 ? fmt::format("{}", count) : std::string(); };
  for (const CollectiveSample& s : samples) {
    for (const std::string* label : {&s.algorithm, &s.protocol, &s.source})
      CHECK_THAT(label->find_first_of(",\"\r\n") == std::string::npos);
    // Twelve digits: what the clock gave, without the last bit of the change of unit.
    text += fmt::format("{},{:.0f},{},{},{:.12g},{},{},{},{}", name(s.kind), s.bytes.value, s.ranks,
                        s.ranks_per_node, s.seconds.value * 1e6,
                        s.spread > 0 ? fmt::format("{}", s.spread) : "", s.algorithm, s.protocol, s.source);
    if (routed)
      text += fmt::format(",{},{},{},{},{}", known(s.tokens), known(s.hidden), known(s.top_k),
                          known(s.experts), known(s.sms));
    text += '\n';
  }
  return text;
}

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kDispatch:
    case CollectiveKind::kCombine:
    case CollectiveKind::kHybridDispatch:
    case CollectiveKind::kHybridCombine:
      return (n - 1) / n;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendReceive:
      break;
  }
  return 1;
}

}  // namespace foretrain
