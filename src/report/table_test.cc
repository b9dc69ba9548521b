#include "report/table.h"

#include <doctest/doctest.h>

namespace foretrain {

TEST_CASE("columns are as wide as their widest cell, and lines end where their text ends") {
  Table table({Align::kLeft, Align::kRight, Align::kLeft});
  table.add({"", "s", ""});
  table.add({"forward", "10.5", "##"});
  table.add({"send", "0.1", ""});
  CHECK(table.text() ==
        "              s\n"
        "  forward  10.5  ##\n"
        "  send      0.1\n");
}

TEST_CASE("a character takes one place, however many bytes it has") {
  Table table({Align::kLeft, Align::kLeft});
  table.add({"é", "x"});
  table.add({"ee", "x"});
  CHECK(table.text("") == "é   x\nee  x\n");
}

TEST_CASE("no rows, no text") { CHECK(Table({Align::kLeft}).text().empty()); }

}  // namespace foretrain
