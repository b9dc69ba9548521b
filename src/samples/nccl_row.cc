#include "samples/nccl_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr double kMaxSize = 1e15, kMaxUs = 1e12;
constexpr std::size_t kMaxPlainName =
    20;                                  // of a column, in an error; what the header calls it may be anything
constexpr double kRounding = 0.01;       // numbers are printed with three digits or more
constexpr double kShortRounding = 0.06;  // but for those in the form 1.2e+07

// The words of versions from 2015 on.
std::string_view plain_column(std::string_view word) {
  if (word == "bytes") return "size";
  if (word == "N") return "count";
  if (word == "op") return "redop";
  if (word == "#wrong" || word == "res" || word == "delta") return "error";
  return word;
}

struct TypeBytes {
  std::string_view type;
  double bytes;
};
constexpr TypeBytes kTypes[] = {
    {"int8", 1},   {"char", 1},   {"uint8", 1},  {"int32", 4},    {"int", 4},     {"uint32", 4}, {"int64", 8},
    {"uint64", 8}, {"half", 2},   {"fp16", 2},   {"bfloat16", 2}, {"bf16", 2},    {"float", 4},  {"fp32", 4},
    {"double", 8}, {"f8e4m3", 1}, {"f8e5m2", 1}, {"fp8_e4m3", 1}, {"fp8_e5m2", 1}};

}  // namespace

std::optional<double> nccl_type_bytes(std::string_view type) {
  for (const TypeBytes& known : kTypes)
    if (known.type == type) return known.bytes;
  return std::nullopt;
}

std::optional<NcclColumns> nccl_columns(const std::vector<NcclWord>& words) {
  NcclColumns columns;
  for (const NcclWord& word : words) columns.names.emplace_back(plain_column(word.text));
  const auto find = [&](std::string_view name) {
    const auto found = std::find(columns.names.begin(), columns.names.end(), name);
    return static_cast<std::size_t>(found - columns.names.begin());
  };
  const std::size_t none = columns.names.size();
  if (none == 0 || columns.names[0] != "size") return std::nullopt;
  columns.is_host_time = find("cputime") != none;
  columns.time = columns.is_host_time ? find("cputime") : find("time");
  columns.algbw = find("algbw"), columns.busbw = find("busbw");
  if (columns.time == none || columns.algbw == none || columns.busbw == none) return std::nullopt;
  // Of the first half: the next time begins the second.
  const auto next = std::find(columns.names.begin() + static_cast<std::ptrdiff_t>(columns.time) + 1,
                              columns.names.end(), columns.names[columns.time]);
  const auto half = static_cast<std::size_t>(next - columns.names.begin());
  if (find("error") < half) columns.wrong = find("error");
  if (find("i_cv%") < half) columns.cv = find("i_cv%");
  const auto before_time = [&](std::string_view name) {
    const std::size_t at = find(name);
    return at < columns.time ? at : 0;
  };
  columns.elements = before_time("count"), columns.type = before_time("type");
  columns.redop = before_time("redop"), columns.root = before_time("root");
  columns.count = none + (find("timestamp") != none ? 1 : 0);
  return columns;
}

std::optional<std::size_t> nccl_blank_cells(const std::vector<NcclWord>& words, const NcclColumns& columns) {
  if (words.size() == columns.count) return 0;
  const std::size_t most = (columns.redop > 0 ? 1 : 0) + (columns.redop > 0 && columns.root > 0 ? 1 : 0);
  if (words.size() > columns.count || words.size() + most < columns.count) return std::nullopt;
  // An operation is a word: a number in its place is the cell behind it.
  if (columns.redop >= words.size() || !parse_number(words[columns.redop].text)) return std::nullopt;
  return columns.count - words.size();
}

namespace {

struct RowReader {
  const std::vector<NcclWord>& words;
  const NcclColumns& columns;
  std::size_t blank;
  const std::string& file;
  int line;

  // Cells before the blank ones stand where the header has them, those of times so much further left.
  const NcclWord& cell(std::size_t column) const {
    return words[column < columns.time ? column : column - blank];
  }

  Result<NcclNumber> number(const NcclWord& word, std::string_view column) const {
    if (word.text == "N/A" || word.text == "n/a") return NcclNumber{0, false, kRounding};
    const auto value = parse_number(word.text);
    if (!value || *value < 0) {
      const bool is_plain = column.size() < kMaxPlainName && printable(column) == column;
      return fail(fmt::format("{}: found {}, expected a number",
                              is_plain ? std::string(column) : quoted(column), quoted(word.text)),
                  Position{file, line, word.column});
    }
    return NcclNumber{*value, true,
                      word.text.find('e') == std::string_view::npos ? kRounding : kShortRounding};
  }

  Result<void> read_times(NcclRow& row) const {
    for (std::size_t i = columns.time; i < columns.names.size(); ++i) {
      const std::string& column = columns.names[i];
      if (column == "timestamp") break;
      TRY_ASSIGN(const NcclNumber value, number(cell(i), column));
      if (i == columns.time) row.time = value;
      if (i == columns.algbw) row.algbw = value;
      if (i == columns.busbw) row.busbw = value;
      if (i == columns.wrong) row.wrong = value;
      if (i == columns.cv) row.cv = value;
    }
    // An error below 1 is the largest difference of old versions, not a count.
    if (row.wrong.value < 1) row.wrong.value = 0;
    return {};
  }

  void read_kind(NcclRow& row) const {
    if (columns.elements > 0) row.elements = parse_number(cell(columns.elements).text).value_or(0);
    if (columns.type > 0) row.type = cell(columns.type).text;
    const bool has_redop = columns.redop > 0 && blank == 0;
    row.is_reduction = has_redop && cell(columns.redop).text != "none";
    // With one blank cell it is that of redop, and root stands in its place.
    if (columns.root > 0 && blank < 2)
      row.root =
          parse_number(words[columns.root - (columns.redop < columns.root ? blank : 0)].text).value_or(-1);
  }
};

}  // namespace

Result<NcclRow> nccl_row(const std::vector<NcclWord>& words, const NcclColumns& columns, std::size_t blank,
                         const std::string& file, int line) {
  const RowReader reader{words, columns, blank, file, line};
  NcclRow row;
  TRY(reader.read_times(row));
  reader.read_kind(row);
  const NcclWord& size_word = words[columns.size];
  TRY_ASSIGN(const NcclNumber size, reader.number(size_word, "size"));
  row.size = size.value;
  if (row.size != std::floor(row.size))
    return fail(fmt::format("size: found {}, expected a whole number", quoted(size_word.text)),
                Position{file, line, size_word.column});
  if (row.size > kMaxSize || row.time.value > kMaxUs)
    return fail("found a size or time out of range, expected at most 10^15 bytes and 10^12 us",
                Position{file, line, words[0].column});
  return row;
}

}  // namespace foretrain
