#include "base/toml_node.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

TEST_CASE("TOML becomes nodes with positions, and what is wrong is told where it stands") {
  const auto node = parse_toml("[a]\nb = 1_000\nc = [1.5, true, 'x']\n", "t.toml");
  REQUIRE(node);
  const Node* a = node->find("a");
  CHECK(a->find("b")->scalar == "1000");
  CHECK(a->find("c")->items[2].scalar == "x");
  CHECK(a->find("b")->at.line == 2);
  const auto wrong = parse_toml("[a]\nb = \n", "t.toml");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text().find("t.toml:2:") == 0);
}

TEST_CASE("a letter with an accent is no part of a bare key, and is one of a text") {
  CHECK(parse_toml("a = 'cl\u00e9'\n", "t.toml")->find("a")->scalar == "cl\u00e9");
  const auto wrong = parse_toml("[a]\ncl\u00e9 = 1\n", "t.toml");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text().find("t.toml:2:") == 0);
}

TEST_CASE("a key that begins with no sign of a key is an error of the file") {
  const auto wrong = parse_toml("[a]\nb = 1\n[&c]\nd = 2\n", "t.toml");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text() ==
        "t.toml:3: error: found what begins no key, expected letters, digits, - or _, or a quoted key");
}

}  // namespace
}  // namespace foretrain
