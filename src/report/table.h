// Columns of text, each as wide as its widest cell and two spaces from the next:
//     stage  layers   GiB
//     1-3        11  61.2
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

enum class Align : unsigned char { kLeft, kRight };

class Table {
 public:
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // One cell a column. A cell counts a place for each UTF-8 character.
  void add(std::vector<std::string> row);

  // A line a row, each after `indent`, without spaces at the end.
  std::string text(std::string_view indent = "  ") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace foretrain
