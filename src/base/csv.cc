#include "base/csv.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMaxColumns = 10'000;

std::string count(std::size_t n, std::string_view noun) {
  return std::to_string(n) + ' ' + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string text, std::string file_name, std::size_t max_rows) {
  CsvTable table;
  table.text_ = std::move(text);
  table.file_ = std::move(file_name);
  const std::string_view all = table.text_;
  std::size_t at = all.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;

  for (int line_number = 1; at < all.size(); ++line_number) {
    const std::size_t newline = std::min(all.find('\n', at), all.size());
    std::string_view line = all.substr(at, newline - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto position = [&](std::size_t offset) {
      return Position{table.file_, line_number, static_cast<int>(offset) + 1};
    };

    constexpr std::string_view kRefused("\"\0", 2);
    if (const std::size_t bad = line.find_first_of(kRefused); bad != std::string_view::npos) {
      return fail(line[bad] == '"' ? "found a double quote, expected plain cells without quoting"
                                   : "found a NUL byte, expected text",
                  position(bad));
    }

    // Counted before it is cut: a line of nothing but commas would take sixteen times its own memory.
    const std::size_t cell_count = 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
    if (line_number == 1) {
      if (trim(line).empty()) break;
      if (cell_count > kMaxColumns) {
        return fail(
            "found " + count(cell_count, "column") + ", expected at most " + std::to_string(kMaxColumns),
            position(0));
      }
      std::unordered_set<std::string_view> seen;
      for (const std::string_view name : split(line, ',')) {
        if (!seen.insert(name).second) {
          return fail("found column " + quoted(name) + " twice, expected distinct column names",
                      position(static_cast<std::size_t>(name.data() - line.data())));
        }
        table.columns_.emplace_back(name);
      }
    } else {
      if (cell_count != table.columns_.size()) {
        return fail("found " + (line.empty() ? std::string("an empty line") : count(cell_count, "cell")) +
                        ", expected " + count(table.columns_.size(), "cell") + " as in the header",
                    position(0));
      }
      if (table.row_count_ == max_rows) {
        return fail("found more rows, expected at most " + std::to_string(max_rows), position(0));
      }
      for (const std::string_view cell : split(line, ',')) {
        table.cells_.push_back({static_cast<std::size_t>(cell.data() - all.data()), cell.size()});
      }
      table.lines_.push_back(line_number);
      ++table.row_count_;
    }
    at = newline + 1;
  }
  if (table.columns_.empty()) {
    return fail("found nothing, expected a header line", Position{table.file_, 1, 1});
  }
  return table;
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::string_view CsvTable::cell(std::size_t row, std::size_t column) const {
  CHECK_THAT(row < row_count_ && column < columns_.size());
  const Span span = cells_[row * columns_.size() + column];
  return std::string_view(text_).substr(span.begin, span.size);
}

Position CsvTable::position(std::size_t row, std::size_t column) const {
  CHECK_THAT(row < row_count_ && column < columns_.size());
  const std::size_t begin = cells_[row * columns_.size() + column].begin;
  const std::size_t line_begin = cells_[row * columns_.size()].begin;
  return {file_, lines_[row], static_cast<int>(begin - line_begin) + 1};
}

}  // namespace foretrain
