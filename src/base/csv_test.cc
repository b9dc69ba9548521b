#include "base/csv.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace foretrain {
namespace {

CsvTable parsed(std::string text) {
  auto table = CsvTable::parse(std::move(text), "t.csv");
  REQUIRE(table.has_value());
  return *std::move(table);
}

std::string refusal(std::string text, std::size_t max_rows = 100) {
  const auto table = CsvTable::parse(std::move(text), "t.csv", max_rows);
  REQUIRE(!table.has_value());
  return table.error().text();
}

TEST_CASE("a header names the columns, each further line is a row") {
  const CsvTable table = parsed("op,us\ngemm,1.5\nnorm,\n");
  CHECK(table.columns() == std::vector<std::string>{"op", "us"});
  CHECK(table.rows() == 2);
  CHECK(table.cell(0, *table.column("us")) == "1.5");
  CHECK(table.cell(1, 1) == "");
  CHECK(!table.column("ms"));
  CHECK(table.file() == "t.csv");
}

TEST_CASE("a cell knows where it stands") {
  const Position at = parsed("op,us\ngemm,1.5\n").position(0, 1);
  CHECK(at.file == "t.csv");
  CHECK(at.line == 2);
  CHECK(at.column == 6);
}

TEST_CASE("cells stay valid when the table moves, short text included") {
  CsvTable first = parsed("a\n1");
  const CsvTable second = std::move(first);
  CHECK(second.cell(0, 0) == "1");
}

TEST_CASE("the last newline, CR LF and a byte order mark make no difference") {
  for (const char* text : {"a,b\n1,2", "a,b\n1,2\n", "a,b\r\n1,2\r\n",
                           "\xef\xbb\xbf"
                           "a,b\n1,2\n"}) {
    CAPTURE(text);
    const CsvTable table = parsed(text);
    CHECK(table.column("a") == 0);
    CHECK(table.rows() == 1);
    CHECK(table.cell(0, 1) == "2");
  }
}

TEST_CASE("a header alone is a table without rows") { CHECK(parsed("a,b\n").rows() == 0); }

TEST_CASE("what is no table is refused with its place") {
  CHECK(refusal("") == "t.csv:1:1: error: found nothing, expected a header line");
  CHECK(refusal("\n\n") == "t.csv:1:1: error: found nothing, expected a header line");
  CHECK(refusal("a,b,a\n") == "t.csv:1:5: error: found column 'a' twice, expected distinct column names");
  CHECK(refusal("a,b\n1,2\n1\n") == "t.csv:3:1: error: found 1 cell, expected 2 cells as in the header");
  CHECK(refusal("a,b\n\n1,2\n") ==
        "t.csv:2:1: error: found an empty line, expected 2 cells as in the header");
  CHECK(refusal("a,b\n1,\"2\"\n") ==
        "t.csv:2:3: error: found a double quote, expected plain cells without quoting");
  CHECK(refusal("a,b\n1,2\r3\n") ==
        "t.csv:2:4: error: found a carriage return inside a line, expected it before a line's end");
  CHECK(refusal(std::string("a\n\0\n", 4)) == "t.csv:2:1: error: found a NUL byte, expected text");
  CHECK(refusal(std::string(10'000, ',') + "\n") ==
        "t.csv:1:1: error: found 10001 columns, expected at most 10000");
  CHECK(refusal("a\n1\n2\n3\n", 2) == "t.csv:4:1: error: found more rows, expected at most 2");
}

}  // namespace
}  // namespace foretrain
