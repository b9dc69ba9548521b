#include "samples/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/check.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "workload/operator_text.h"

namespace foretrain {
namespace {

enum Column {
  kOperator,
  kImpl,
  kPass,
  kDtype,
  kDims,
  kUs,
  kSpread,
  kHostUs,
  kLaunches,
  kClock,
  kPower,
  kGroup,
  kColumnCount
};
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {"operator", "impl",  "pass",   "dtype",
                                                                     "dims",     "us",    "spread", "host_us",
                                                                     "launches", "clock", "power",  "group"};
constexpr Column kRequired[] = {kOperator, kImpl, kPass, kDims, kUs};

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
constexpr double kMaxUs = 1e12;  // eleven days

using Columns = std::array<std::optional<std::size_t>, kColumnCount>;

Position header_position(const CsvTable& table, std::size_t column) {
  std::size_t offset = 1;
  for (std::size_t i = 0; i < column; ++i) offset += table.columns()[i].size() + 1;
  return {table.file(), 1, static_cast<int>(offset)};
}

Result<Columns> find_columns(const CsvTable& table) {
  const std::vector<std::string> known(kColumnNames.begin(), kColumnNames.end());
  Columns columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const std::string& word = table.columns()[i];
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end())
      return fail("unknown column " + quoted(word) + suggestion(word, known), header_position(table, i));
    columns[static_cast<std::size_t>(found - known.begin())] = i;
  }
  for (const Column column : kRequired)
    if (!columns[column])
      return fail(fmt::format("found no column '{}', expected operator, impl, pass, dims and us",
                              kColumnNames[column]),
                  Position{table.file(), 1, 1});
  return columns;
}

class RowReader {
 public:
  RowReader(const CsvTable& table, const Columns& columns, std::size_t row)
      : table_(table), columns_(columns), row_(row) {}

  std::string_view text(Column column) const {
    return columns_[column] ? trim(table_.cell(row_, *columns_[column])) : std::string_view{};
  }

  // Where the trimmed text begins.
  Position position(Column column) const {
    if (!columns_[column]) return {};
    Position at = table_.position(row_, *columns_[column]);
    const std::string_view cell = table_.cell(row_, *columns_[column]);
    if (const std::string_view word = trim(cell); !word.empty())
      at.column += static_cast<int>(word.data() - cell.data());
    return at;
  }

  // Above `low` (or equal to it, where it may be), none where the cell is empty.
  Result<std::optional<double>> number(Column column, double low, bool low_allowed, double high) const {
    const std::string_view word = text(column);
    if (word.empty()) return std::nullopt;
    const auto value = parse_number(word);
    if (!value || *value < low || (*value == low && !low_allowed) || *value > high)
      return fail(fmt::format("{}: found {}, expected a number {} {:g}, at most {:g}", kColumnNames[column],
                              quoted(word), low_allowed ? "from" : "above", low, high),
                  position(column));
    return value;
  }

 private:
  const CsvTable& table_;
  const Columns& columns_;
  std::size_t row_;
};

Result<Operator> read_operator(const RowReader& row) {
  const std::string_view dtype = row.text(kDtype);
  const OperatorPositions at{row.position(kOperator), row.position(kImpl), row.position(kPass),
                             row.position(kDtype), row.position(kDims)};
  return parse_operator(row.text(kOperator), row.text(kImpl), row.text(kPass), dtype.empty() ? "bf16" : dtype,
                        row.text(kDims), at);
}

Result<Sample> read_sample(const RowReader& row) {
  Sample sample;
  TRY_ASSIGN(sample.op, read_operator(row));
  TRY_ASSIGN(const auto us, row.number(kUs, 0, false, kMaxUs));
  if (!us) return fail("us: found nothing, expected a time in microseconds", row.position(kUs));
  sample.us = *us;
  TRY_ASSIGN(const auto spread, row.number(kSpread, 0, true, 100));
  sample.spread = spread.value_or(0);
  TRY_ASSIGN(sample.host_us, row.number(kHostUs, 0, true, kMaxUs));
  TRY_ASSIGN(sample.clock_mhz, row.number(kClock, 0, false, 1e5));
  TRY_ASSIGN(sample.power_w, row.number(kPower, 0, true, 1e5));
  if (const std::string_view word = row.text(kLaunches); !word.empty()) {
    const auto launches = parse_integer(word);
    if (!launches || *launches < 1 || *launches > 1'000'000)
      return fail("launches: found " + quoted(word) + ", expected a whole number from 1 to 10^6",
                  row.position(kLaunches));
    sample.op.launches = static_cast<std::int32_t>(*launches);
  }
  sample.group = std::string(row.text(kGroup));
  return sample;
}

std::string cell_of(const std::optional<double>& number) { return number ? fmt::format("{}", *number) : ""; }

// Before anything is taken apart: a table of 10^7 rows is refused in a moment.
Result<void> check_row_count(const std::string& text, const std::string& file_name) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) +
                     (text.empty() || text.back() == '\n' ? 0 : 1);
  if (lines <= kMaxSamples + 1) return {};
  return fail(fmt::format("found {} rows, expected at most {}",
                          with_commas(static_cast<std::int64_t>(lines - 1)), with_commas(kMaxSamples)),
              Position{file_name, kMaxSamples + 2, 1});
}

}  // namespace

std::string operator_label(const Operator& op) {
  return fmt::format("{} {} {} {}", name(op.kind), impl_text(op), name(op.pass), name(op.dtype));
}

Result<std::vector<Sample>> parse_samples(std::string text, const std::string& file_name) {
  TRY(check_row_count(text, file_name));
  TRY_ASSIGN(const CsvTable table, CsvTable::parse(std::move(text), file_name, kMaxSamples));
  TRY_ASSIGN(const Columns columns, find_columns(table));
  if (table.rows() == 0)
    return fail("found a header and no rows, expected samples", Position{file_name, 1, 1});
  std::vector<Sample> samples;
  samples.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    TRY_ASSIGN(Sample sample, read_sample(RowReader(table, columns, i)));
    sample.source = file_name;
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<Sample>> read_samples(const std::string& path) {
  std::vector<std::string> files = {path};
  if (is_folder(path)) {
    TRY_ASSIGN(files, list_folder(path, ".csv"));
    if (files.empty()) return fail("found no .csv file, expected tables of samples", Position{path});
    for (std::string& file : files) file = path + (path.ends_with('/') ? "" : "/") + file;
  }
  std::vector<Sample> samples;
  for (const std::string& file : files) {
    TRY_ASSIGN(std::string text, read_file(file, kMaxBytes));
    TRY_ASSIGN(std::vector<Sample> more, parse_samples(std::move(text), file));
    if (samples.size() + more.size() > kMaxSamples)
      return fail(fmt::format("found {} samples up to here, expected at most {}",
                              with_commas(static_cast<std::int64_t>(samples.size() + more.size())),
                              with_commas(kMaxSamples)),
                  Position{file, 1, 1});
    std::move(more.begin(), more.end(), std::back_inserter(samples));
  }
  return samples;
}

std::string to_csv(const std::vector<Sample>& samples) {
  std::string text;
  for (const std::string_view word : kColumnNames) text += (text.empty() ? "" : ",") + std::string(word);
  text += '\n';
  for (const Sample& s : samples) {
    CHECK_THAT(s.group.find_first_of(",\"\r\n") == std::string::npos);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", name(s.op.kind), impl_text(s.op),
                        name(s.op.pass), name(s.op.dtype), sizes_text(s.op), s.us,
                        s.spread > 0 ? fmt::format("{}", s.spread) : "", cell_of(s.host_us),
                        s.op.launches == 1 ? "" : fmt::format("{}", s.op.launches), cell_of(s.clock_mhz),
                        cell_of(s.power_w), s.group);
  }
  return text;
}

}  // namespace foretrain
