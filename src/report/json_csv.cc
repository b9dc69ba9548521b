#include "report/json_csv.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json_node.h"
#include "base/text.h"

namespace foretrain {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;  // a column, what stands there

void add_cells(const Node& node, const std::string& column, Cells& cells) {
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries)
      add_cells(value, column.empty() ? key : column + "." + key, cells);
    return;
  }
  std::string text = node.scalar;
  for (const Node& item : node.items) {
    if (!item.is_scalar()) return;
    text += (text.empty() ? "" : " ") + item.scalar;
  }
  cells.emplace_back(column, std::move(text));
}

std::string quoted_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// The texts of the objects that are rows. JsonWriter begins each level on a line of its own, two places further in, and
// text has no line's end inside: a row begins and ends with the only brace of its line at its place.
std::vector<std::string_view> row_texts(std::string_view json, std::string_view key) {
  const bool is_list = json.starts_with('[');
  if (key.empty() && !is_list) return {json};
  std::size_t at = 0;
  if (!key.empty()) {
    const std::string head = "\n  \"" + std::string(key) + "\": [\n";
    at = json.find(head);
    if (at == std::string_view::npos) return {};  // an empty list
    json = json.substr(0, json.find("\n  ]", at));
  }
  const std::string indent = key.empty() ? "\n  " : "\n    ";
  std::vector<std::string_view> rows;
  while ((at = json.find(indent + "{\n", at)) != std::string_view::npos) {
    const std::size_t end = json.find(indent + "}", at);
    CHECK_THAT(end != std::string_view::npos);
    rows.push_back(json.substr(at, end + indent.size() + 1 - at));
    at = end;
  }
  return rows;
}

}  // namespace

std::string csv_of(std::string_view json, std::string_view key) {
  std::vector<Cells> rows;
  std::vector<std::string> columns;
  for (const std::string_view text : row_texts(json, key)) {
    const Result<Node> node = parse_json(text, "answer");
    CHECK_THAT(node.has_value());
    Cells cells;
    add_cells(*node, "", cells);
    for (const auto& [column, cell] : cells)
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    rows.push_back(std::move(cells));
  }
  std::vector<std::string> line;
  for (const std::string& column : columns) line.push_back(quoted_cell(column));
  std::string out = columns.empty() ? "" : join(line, ",") + "\n";
  for (const Cells& cells : rows) {
    line.clear();
    for (const std::string& column : columns) {
      const auto found =
          std::find_if(cells.begin(), cells.end(), [&](const auto& cell) { return cell.first == column; });
      line.push_back(found == cells.end() ? "" : quoted_cell(found->second));
    }
    out += join(line, ",") + "\n";
  }
  return out;
}

}  // namespace foretrain
