// What the manifest of real files says of each: FORETRAIN_FORMATS names its folder (tests/accuracy/check sets
// it). Cells are quoted here, so base/csv.h does not read it.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace foretrain {

struct ManifestRow {
  std::string file, kind, expect;
  std::map<std::string, std::string> facts;  // "tables=1; rows=31" by key

  bool is_read() const { return expect == "read"; }
  double number(const std::string& key) const {
    const auto found = facts.find(key);
    return found == facts.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
  }
};

inline std::string formats_folder() {
  const char* folder = std::getenv("FORETRAIN_FORMATS");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  return folder;
}

inline std::vector<std::string> quoted_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted)
      cells.emplace_back();
    else if (c != '"')
      cells.back() += c;
  }
  return cells;
}

// The rows of one kind, each with its text.
inline std::vector<std::pair<ManifestRow, Source>> manifest_files(std::string_view kind) {
  const std::string folder = formats_folder();
  const std::string manifest = read_file(folder + "/MANIFEST.csv", 16 << 20).value();
  const auto lines = split(manifest, '\n');
  std::vector<std::pair<ManifestRow, Source>> rows;
  for (const std::string_view line : lines) {
    const auto cells = quoted_cells(line);
    if (cells.size() < 9 || cells[1] != kind) continue;
    ManifestRow row{cells[0], cells[1], cells[2], {}};
    for (const std::string_view fact : split(cells[8], ';')) {
      const std::size_t at = fact.find('=');
      if (at != std::string_view::npos)
        row.facts[std::string(trim(fact.substr(0, at)))] = trim(fact.substr(at + 1));
    }
    const std::string path = folder + "/" + row.file;
    rows.push_back({row, {path, read_file(path, 256 << 20).value()}});
  }
  REQUIRE(!rows.empty());
  return rows;
}

}  // namespace foretrain
