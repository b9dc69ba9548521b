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

// A line of the file, without its end.
struct CsvTable::Line {
  const std::string& file;
  int number;
  std::string_view text;

  Position at(std::size_t offset) const { return {file, number, static_cast<int>(offset) + 1}; }
  Position at(std::string_view cell) const { return at(static_cast<std::size_t>(cell.data() - text.data())); }

  // Counted before it is cut: a line of nothing but commas would take sixteen times its own memory.
  std::size_t cells() const {
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
  }

  // What no cell may hold: a table that was read can be written again as it was.
  Result<void> refuse_what_needs_quotes() const {
    constexpr std::string_view kRefused("\"\0\r", 3);
    const std::size_t bad = text.find_first_of(kRefused);
    if (bad == std::string_view::npos) return {};
    return fail(text[bad] == '"'    ? "found a double quote, expected plain cells without quoting"
                : text[bad] == '\r' ? "found a carriage return inside a line, expected it before a line's end"
                                    : "found a NUL byte, expected text",
                at(bad));
  }
};

Result<CsvTable> CsvTable::parse(std::string text, std::string file_name, std::size_t max_rows) {
  CsvTable table;
  table.text_ = std::move(text);
  table.file_ = std::move(file_name);
  const std::string_view all = table.text_;
  std::size_t at = all.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;

  for (int line_number = 1; at < all.size(); ++line_number) {
    const std::size_t newline = std::min(all.find('\n', at), all.size());
    Line line{table.file_, line_number, all.substr(at, newline - at)};
    if (line.text.ends_with('\r')) line.text.remove_suffix(1);
    TRY(line.refuse_what_needs_quotes());
    if (line_number == 1) {
      if (trim(line.text).empty()) break;
      TRY(table.take_header(line));
    } else {
      TRY(table.take_row(line, max_rows));
    }
    at = newline + 1;
  }
  if (table.columns_.empty()) {
    return fail("found nothing, expected a header line", Position{table.file_, 1, 1});
  }
  return table;
}

Result<void> CsvTable::take_header(const Line& line) {
  if (const std::size_t cells = line.cells(); cells > kMaxColumns) {
    return fail("found " + count(cells, "column") + ", expected at most " + std::to_string(kMaxColumns),
                line.at(0));
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string_view name : split(line.text, ',')) {
    if (!seen.insert(name).second) {
      return fail("found column " + quoted(name) + " twice, expected distinct column names", line.at(name));
    }
    columns_.emplace_back(name);
  }
  return {};
}

Result<void> CsvTable::take_row(const Line& line, std::size_t max_rows) {
  if (const std::size_t cells = line.cells(); cells != columns_.size()) {
    return fail("found " + (line.text.empty() ? std::string("an empty line") : count(cells, "cell")) +
                    ", expected " + count(columns_.size(), "cell") + " as in the header",
                line.at(0));
  }
  if (row_count_ == max_rows) {
    return fail("found more rows, expected at most " + std::to_string(max_rows), line.at(0));
  }
  for (const std::string_view cell : split(line.text, ',')) {
    cells_.push_back({static_cast<std::size_t>(cell.data() - text_.data()), cell.size()});
  }
  lines_.push_back(line.number);
  ++row_count_;
  return {};
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
