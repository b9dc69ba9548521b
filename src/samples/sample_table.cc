#include "samples/sample_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
constexpr std::string_view kKeys[] = {"operator", "collective"};

Position header_position(const CsvTable& table, std::size_t column) {
  std::size_t offset = 1;
  for (std::size_t i = 0; i < column; ++i) offset += table.columns()[i].size() + 1;
  return {table.file(), 1, static_cast<int>(offset)};
}

// Before anything is taken apart: a table of 10^7 rows is refused in a moment.
Result<void> check_row_count(const std::string& text, const std::string& file_name) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) +
                     (text.empty() || text.back() == '\n' ? 0 : 1);
  if (lines <= kMaxSamples + 1) return {};
  return fail(fmt::format("found {} rows, expected at most {}",
                          with_commas(static_cast<std::int64_t>(lines - 1)), with_commas(kMaxSamples)),
              Position{file_name, kMaxSamples + 2, 1});
}

// "operator, impl and us"
std::string listed(std::span<const std::string_view> names, std::span<const int> which) {
  std::string text;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (i > 0) text += i + 1 < which.size() ? ", " : " and ";
    text += names[static_cast<std::size_t>(which[i])];
  }
  return text;
}

}  // namespace

Result<SampleTable> SampleTable::parse(std::string text, const std::string& file_name,
                                       std::span<const std::string_view> names,
                                       std::span<const int> required) {
  TRY(check_row_count(text, file_name));
  SampleTable result;
  TRY_ASSIGN(result.table_, CsvTable::parse(std::move(text), file_name, kMaxSamples));
  result.names_ = names;
  result.columns_.resize(names.size());
  const std::vector<std::string> known(names.begin(), names.end());
  const CsvTable& table = result.table_;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const std::string& word = table.columns()[i];
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end())
      return fail("unknown column " + quoted(word) + suggestion(word, known), header_position(table, i));
    result.columns_[static_cast<std::size_t>(found - known.begin())] = i;
  }
  for (const int column : required)
    if (!result.columns_[static_cast<std::size_t>(column)])
      return fail(fmt::format("found no column '{}', expected {}", names[static_cast<std::size_t>(column)],
                              listed(names, required)),
                  Position{file_name, 1, 1});
  if (table.rows() == 0)
    return fail("found a header and no rows, expected samples", Position{file_name, 1, 1});
  return result;
}

std::string_view SampleTable::text(std::size_t row, int column) const {
  const auto& found = columns_[static_cast<std::size_t>(column)];
  return found ? trim(table_.cell(row, *found)) : std::string_view{};
}

Position SampleTable::position(std::size_t row, int column) const {
  const auto& found = columns_[static_cast<std::size_t>(column)];
  if (!found) return {};
  Position at = table_.position(row, *found);
  const std::string_view cell = table_.cell(row, *found);
  if (const std::string_view word = trim(cell); !word.empty())
    at.column += static_cast<int>(word.data() - cell.data());
  return at;
}

Result<std::optional<double>> SampleTable::number(std::size_t row, int column, double low, bool low_allowed,
                                                  double high) const {
  const std::string_view word = text(row, column);
  if (word.empty()) return std::nullopt;
  const auto value = parse_number(word);
  if (!value || *value < low || (*value == low && !low_allowed) || *value > high)
    return fail(fmt::format("{}: found {}, expected a number {} {:g}, at most {:g}",
                            names_[static_cast<std::size_t>(column)], quoted(word),
                            low_allowed ? "from" : "above", low, high),
                position(row, column));
  return value;
}

Result<std::optional<std::int64_t>> SampleTable::whole(std::size_t row, int column, std::int64_t low,
                                                       std::int64_t high) const {
  const std::string_view word = text(row, column);
  if (word.empty()) return std::nullopt;
  const auto value = parse_integer(word);
  if (!value || *value < low || *value > high)
    return fail(fmt::format("{}: found {}, expected a whole number from {} to {}",
                            names_[static_cast<std::size_t>(column)], quoted(word), low, high),
                position(row, column));
  return value;
}

Result<Sources> sample_sources(const Files& files, const std::string& path) {
  TRY_ASSIGN(Sources sources, read_sources(files, path, ".csv", kMaxBytes));
  if (sources.files.empty()) return fail("found no .csv file, expected tables of samples", Position{path});
  return sources;
}

bool is_table_of_another_kind(std::string_view text, std::string_view key) {
  const auto header = split(text.substr(0, text.find('\n')), ',');
  const auto has = [&](std::string_view column) {
    return std::any_of(header.begin(), header.end(), [&](auto cell) { return trim(cell) == column; });
  };
  return !has(key) && std::any_of(std::begin(kKeys), std::end(kKeys), has);
}

Result<void> check_sample_count(std::size_t count, const std::string& file) {
  if (count <= kMaxSamples) return {};
  return fail(fmt::format("found {} samples up to here, expected at most {}",
                          with_commas(static_cast<std::int64_t>(count)), with_commas(kMaxSamples)),
              Position{file, 1, 1});
}

}  // namespace foretrain
