#include "report/table.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

std::size_t places(std::string_view cell) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  return cell.size() - static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), continues));
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  CHECK_THAT(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], places(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - places(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i] == Align::kLeft ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace foretrain
