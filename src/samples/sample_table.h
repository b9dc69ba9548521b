// What all tables of samples have in common: a header of known columns in any order, of which some must be
// there, cells read with their position, a bound on the rows, and folders whose tables are read in order of
// name. A folder may hold tables of several kinds; the column that only one kind has ("operator",
// "collective") tells them apart.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/files.h"

namespace foretrain {

inline constexpr std::size_t kMaxSamples = 5'000'000;

class SampleTable {
 public:
  // Columns are told by their index in `names`; the `required` ones must be there. A table without rows, or
  // with more than kMaxSamples, is refused.
  static Result<SampleTable> parse(std::string text, const std::string& file_name,
                                   std::span<const std::string_view> names, std::span<const int> required);

  std::size_t rows() const { return table_.rows(); }

  // Trimmed; empty where the table has no such column.
  std::string_view text(std::size_t row, int column) const;
  Position position(std::size_t row, int column) const;

  // Above `low` (or equal to it, where it may be), none where the cell is empty.
  Result<std::optional<double>> number(std::size_t row, int column, double low, bool low_allowed,
                                       double high) const;
  Result<std::optional<std::int64_t>> whole(std::size_t row, int column, std::int64_t low,
                                            std::int64_t high) const;

 private:
  CsvTable table_;
  std::span<const std::string_view> names_;
  std::vector<std::optional<std::size_t>> columns_;
};

// The file, or every *.csv of the folder, sorted; of which there must be one.
Result<Sources> sample_sources(const Files& files, const std::string& path);
bool is_table_of_another_kind(std::string_view text, std::string_view key);
Result<void> check_sample_count(std::size_t count, const std::string& file);

// All samples of a file, or of a folder's tables that have the column `key`; `parse` turns a text and its
// file's name into a Result of a vector.
template <class Parse>
auto parse_sample_tables(Sources sources, std::string_view key, Parse parse)
    -> decltype(parse(std::string(), sources.name)) {
  typename decltype(parse(std::string(), sources.name))::value_type samples;
  for (Source& file : sources.files) {
    if (sources.folder && is_table_of_another_kind(file.text, key)) continue;
    TRY_ASSIGN(auto more, parse(std::move(file.text), file.name));
    TRY(check_sample_count(samples.size() + more.size(), file.name));
    std::move(more.begin(), more.end(), std::back_inserter(samples));
  }
  if (samples.empty())
    return fail("found no table with a column '" + std::string(key) + "', expected one",
                Position{sources.name});
  return samples;
}

}  // namespace foretrain
