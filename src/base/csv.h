// Plain CSV at the border: a header line, then one line a row; no quoting (a cell that holds a comma or a
// double quote is refused with its position). Cells are views into the table's own text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

class CsvTable {
 public:
  // Refuses an empty file, a row whose cell count differs from the header's, a repeated column name,
  // double quotes, NUL bytes, carriage returns inside a line, more than 10,000 columns, and more than max_rows
  // rows. A byte order mark is skipped, and lines may end in CR LF.
  static Result<CsvTable> parse(std::string text, std::string file_name, std::size_t max_rows = 2'000'000);

  std::size_t rows() const { return row_count_; }
  const std::vector<std::string>& columns() const { return columns_; }
  std::optional<std::size_t> column(std::string_view name) const;
  std::string_view cell(std::size_t row, std::size_t column) const;
  Position position(std::size_t row, std::size_t column) const;
  const std::string& file() const { return file_; }

 private:
  struct Line;
  Result<void> take_header(const Line& line);
  Result<void> take_row(const Line& line, std::size_t max_rows);

  std::string text_;
  std::string file_;
  std::vector<std::string> columns_;
  struct Span {
    std::size_t begin, size;
  };
  std::vector<Span> cells_;  // row-major; offsets, so that the table can be moved
  std::vector<int> lines_;   // of each row
  std::size_t row_count_ = 0;
};

}  // namespace foretrain
