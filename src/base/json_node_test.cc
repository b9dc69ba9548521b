#include "base/json_node.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

std::string error_of(const std::string& text) {
  const auto node = parse_json(text, "a.json");
  return node ? "" : node.error().text();
}

TEST_CASE("JSON becomes nodes with positions") {
  const auto node = parse_json(
      "{\n\t\"a\": [1, 2.5e3, true, null],\n  \"b\": {\"c\": \"x\\n\\u00e9\\ud83d\\ude00\"}}", "a.json");
  REQUIRE(node);
  const Node* a = node->find("a");
  REQUIRE(a->items.size() == 4);
  CHECK(a->items[1].number(0, 1e9).value() == 2500);
  CHECK(a->items[3].kind == Node::Kind::kNull);
  CHECK(a->at.line == 2);
  CHECK(a->at.column == 7);
  CHECK(node->find("b")->find("c")->scalar == "x\n\xc3\xa9\xf0\x9f\x98\x80");
}

TEST_CASE("wrong JSON is refused where it is wrong") {
  CHECK(error_of("{\"a\": 1,}") == "a.json:1:9: error: found '}', expected a key between double quotes");
  CHECK(error_of("{\"a\": 1, \"a\": 2}") == "a.json:1:10: error: duplicate key 'a'");
  CHECK(error_of("[1] 2") == "a.json:1:5: error: found '2', expected the end of the document");
  CHECK(error_of("[\"abc") == "a.json:1:2: error: a text between double quotes does not end");
  CHECK(error_of("[wide]") == "a.json:1:2: error: found 'wide]', expected a value of JSON");
  CHECK(error_of("").find("the end of the text") != std::string::npos);
  CHECK(error_of(std::string(100, '[')).find("nested more than 32 levels deep") != std::string::npos);
}

TEST_CASE("JSON is told by its first sign") {
  CHECK(looks_like_json(" \n{\"a\": 1}"));
  CHECK_FALSE(looks_like_json("a: {b: 1}"));
}

}  // namespace
}  // namespace foretrain
