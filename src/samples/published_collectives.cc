#include "samples/published_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "base/csv.h"
#include "base/text.h"
#include "spec/choice.h"
#include "spec/dtype.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxRows = 1'000'000;
constexpr double kMaxSize = 1e15;
constexpr double kMaxUs = 1e12;

struct Named {
  std::string_view name;
  CollectiveKind kind;
};
constexpr Named kNamed[] = {{"allreduce", CollectiveKind::kAllReduce},
                            {"allgather", CollectiveKind::kAllGather},
                            {"p2p", CollectiveKind::kSendReceive}};

// "NVIDIAX1_allgather_large_fp16_2_4.csv" holds all-gathers in fp16 on two nodes of four GPUs.
struct FileName {
  CollectiveKind kind;
  Dtype dtype;
  std::optional<std::pair<std::int64_t, std::int64_t>> layout;
};

std::optional<FileName> parse_file_name(std::string_view file) {
  if (!file.starts_with("NVIDIA") || !file.ends_with(".csv")) return std::nullopt;
  file.remove_suffix(4);
  std::vector<std::string_view> words = split(file, '_');
  words.erase(words.begin());
  FileName result{};
  if (words.size() > 3) {
    const auto nodes = parse_integer(words[words.size() - 2]), gpus = parse_integer(words.back());
    if (nodes && gpus) {
      result.layout = {*nodes, *gpus};
      words.resize(words.size() - 2);
    }
  }
  if (words.size() == 3 && words[1] == "large") words.erase(words.begin() + 1);
  if (words.size() != 2) return std::nullopt;
  const auto dtype = parse_choice<Dtype>(words[1], kDtypeNames);
  const auto named = std::find_if(std::begin(kNamed), std::end(kNamed),
                                  [&](const Named& candidate) { return candidate.name == words[0]; });
  if (!dtype || named == std::end(kNamed)) return std::nullopt;
  result.kind = named->kind;
  result.dtype = *dtype;
  return result;
}

enum Column { kShape, kNodes, kGpus, kUs, kColumnCount };
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {"shape", "nodes", "GPUsPerNode",
                                                                     "dur(us)"};
using Columns = std::array<std::size_t, kColumnCount>;

Result<Columns> find_columns(const CsvTable& csv) {
  Columns columns{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto found = csv.column(kColumnNames[i]);
    if (!found)
      return fail(fmt::format("found no column '{}', expected shape, nodes, GPUsPerNode and dur(us)",
                              kColumnNames[i]),
                  Position{csv.file(), 1, 1});
    columns[i] = *found;
  }
  return columns;
}

// "2.0" is a whole number here.
Result<std::int64_t> read_whole(const CsvTable& csv, std::size_t row, std::size_t column, double high) {
  const std::string_view cell = csv.cell(row, column);
  const auto number = parse_number(cell);
  if (!number || *number < 1 || *number > high ||
      *number != static_cast<double>(static_cast<std::int64_t>(*number)))
    return fail(fmt::format("{}: found {}, expected a whole number from 1 to {:g}", csv.columns()[column],
                            quoted(cell), high),
                csv.position(row, column));
  return static_cast<std::int64_t>(*number);
}

Result<CollectiveSample> read_row(const CsvTable& csv, const Columns& columns, std::size_t row,
                                  const FileName& what) {
  TRY_ASSIGN(const std::int64_t shape, read_whole(csv, row, columns[kShape], kMaxSize));
  TRY_ASSIGN(const std::int64_t nodes, read_whole(csv, row, columns[kNodes], 1e6));
  TRY_ASSIGN(const std::int64_t gpus, read_whole(csv, row, columns[kGpus], 1e3));
  const auto wrong = [&](Column column, std::int64_t found, const std::string& expected) {
    return fail(fmt::format("{}: found {}, expected {}", kColumnNames[column], found, expected),
                csv.position(row, columns[column]));
  };
  if (what.layout && nodes != what.layout->first)
    return wrong(kNodes, nodes, fmt::format("{}, as in the file's name", what.layout->first));
  if (what.layout && gpus != what.layout->second)
    return wrong(kGpus, gpus, fmt::format("{}, as in the file's name", what.layout->second));
  if (nodes * gpus < 2) return wrong(kGpus, gpus, "two ranks or more");
  if (what.kind == CollectiveKind::kSendReceive && nodes * gpus != 2) return wrong(kGpus, gpus, "two ranks");

  CollectiveSample sample;
  sample.kind = what.kind;
  sample.ranks = nodes * gpus;
  sample.ranks_per_node = gpus;
  const auto parts = static_cast<double>(what.kind == CollectiveKind::kAllGather ? sample.ranks : 1);
  sample.bytes = Bytes(std::ceil(static_cast<double>(shape) * parts * bytes_of(what.dtype)));
  if (sample.bytes.value > kMaxSize) return wrong(kShape, shape, "at most 10^15 bytes in all");
  const auto us = parse_number(csv.cell(row, columns[kUs]));
  if (!us || *us <= 0 || *us > kMaxUs)
    return fail(fmt::format("dur(us): found {}, expected a number above 0, at most {:g}",
                            quoted(csv.cell(row, columns[kUs])), kMaxUs),
                csv.position(row, columns[kUs]));
  sample.seconds = microseconds(*us);
  return sample;
}

using Key = std::tuple<CollectiveKind, double, std::int64_t, std::int64_t, double>;
Key key_of(const CollectiveSample& s) {
  return {s.kind, s.bytes.value, s.ranks, s.ranks_per_node, s.seconds.value};
}

Result<void> import_file(const Source& source, const FileName& what, std::set<Key>& seen,
                         PublishedCollectives& imported) {
  const std::string file = file_name(source.name);
  TRY_ASSIGN(const CsvTable csv, CsvTable::parse(source.text, source.name, kMaxRows));
  TRY_ASSIGN(const Columns columns, find_columns(csv));
  ImportedCollectives counts{file, csv.rows(), 0};
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    TRY_ASSIGN(CollectiveSample sample, read_row(csv, columns, row, what));
    const bool is_new = seen.insert(key_of(sample)).second;
    if (!is_new && !what.layout) continue;
    sample.source = source_label(file);
    imported.samples.push_back(std::move(sample));
    ++counts.samples;
  }
  imported.files.push_back(std::move(counts));
  return {};
}

}  // namespace

Result<Sources> published_collective_sources(const Files& files, const std::string& folder) {
  Sources tables{folder + (folder.ends_with('/') ? "" : "/") + "nccl", true, {}};
  if (!files.is_folder(tables.name)) return tables;
  TRY_ASSIGN(const std::vector<std::string> names, files.list(tables.name, ".csv"));
  for (const std::string& name : names) {
    Source source{tables.name + "/" + name, {}};
    if (parse_file_name(name)) {
      TRY_ASSIGN(source.text, files.read(source.name, kMaxBytes));
    }
    tables.files.push_back(std::move(source));
  }
  return tables;
}

Result<PublishedCollectives> import_published_collectives(const Sources& tables) {
  PublishedCollectives imported;
  std::set<Key> seen;
  for (const bool with_layout : {true, false})
    for (const Source& source : tables.files) {
      const auto what = parse_file_name(file_name(source.name));
      if (!what && !with_layout) imported.ignored.push_back(file_name(source.name));
      if (what && what->layout.has_value() == with_layout) TRY(import_file(source, *what, seen, imported));
    }
  return imported;
}

std::string import_text(const PublishedCollectives& imported) {
  if (imported.files.empty()) return "";
  std::size_t width = 0;
  for (const ImportedCollectives& file : imported.files) width = std::max(width, file.name.size());
  const auto count = [](std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); };
  std::string text;
  for (const ImportedCollectives& file : imported.files) {
    text += fmt::format("{:<{}}  {:>6} rows  {:>6} samples", file.name, width, count(file.rows),
                        count(file.samples));
    if (file.samples < file.rows)
      text += fmt::format("  {} as in other tables", count(file.rows - file.samples));
    text += '\n';
  }
  text += fmt::format("{} samples of collectives, {} tables\n", count(imported.samples.size()),
                      imported.files.size());
  for (const std::string& file : imported.ignored) text += fmt::format("ignored: {}\n", file);
  return text;
}

}  // namespace foretrain
