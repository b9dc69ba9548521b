#include "samples/collective_sample.h"

#include <fmt/format.h>

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
  kColumnCount
};
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {
    "collective", "bytes", "ranks", "ranks_per_node", "us", "spread", "algorithm", "protocol", "source"};
constexpr int kRequired[] = {kCollective, kBytes, kRanks, kRanksPerNode, kUs};

constexpr std::int64_t kMaxBytes = 1'000'000'000'000'000;
constexpr std::int64_t kMaxRanks = 10'000'000;
constexpr double kMaxUs = 1e12;  // eleven days

template <class T>
Result<T> filled(const Result<std::optional<T>>& cell, const SampleTable& table, std::size_t row,
                 Column column, std::string_view expected) {
  if (!cell) return tl::unexpected(cell.error());
  if (*cell) return **cell;
  return fail(fmt::format("{}: found nothing, expected {}", kColumnNames[column], expected),
              table.position(row, column));
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
  return sample;
}

}  // namespace

std::string layout_label(const CollectiveSample& sample) {
  return fmt::format("{} {}x{}", name(sample.kind), sample.nodes(), sample.ranks_per_node);
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
  std::string text;
  for (const std::string_view word : kColumnNames) text += (text.empty() ? "" : ",") + std::string(word);
  text += '\n';
  for (const CollectiveSample& s : samples) {
    for (const std::string* label : {&s.algorithm, &s.protocol, &s.source})
      CHECK_THAT(label->find_first_of(",\"\r\n") == std::string::npos);
    // Twelve digits: what the clock gave, without the last bit of the change of unit.
    text += fmt::format("{},{:.0f},{},{},{:.12g},{},{},{},{}\n", name(s.kind), s.bytes.value, s.ranks,
                        s.ranks_per_node, s.seconds.value * 1e6,
                        s.spread > 0 ? fmt::format("{}", s.spread) : "", s.algorithm, s.protocol, s.source);
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
      return (n - 1) / n;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendReceive:
      break;
  }
  return 1;
}

}  // namespace foretrain
