#include "base/json.h"

#include <doctest/doctest.h>

#include <limits>

namespace foretrain {
namespace {

std::string written(auto value) {
  JsonWriter writer;
  writer.value(value);
  return writer.text();
}

TEST_CASE("keys keep their order and levels indent by two") {
  JsonWriter writer;
  writer.begin_object().key("step_s").value(1.5).key("ranks").begin_array().value(8).value("all").end_array();
  writer.key("fits").value(true).key("note").null().end_object();
  CHECK(writer.text() == R"({
  "step_s": 1.5,
  "ranks": [
    8,
    "all"
  ],
  "fits": true,
  "note": null
}
)");
}

TEST_CASE("empty objects and arrays stay on one line") {
  JsonWriter writer;
  writer.begin_array().begin_object().end_object().begin_array().end_array().end_array();
  CHECK(writer.text() == "[\n  {},\n  []\n]\n");
}

TEST_CASE("numbers take the shortest form that reads back equal") {
  CHECK(written(0.1) == "0.1\n");
  CHECK(written(3.0) == "3\n");
  CHECK(written(1.0 / 3.0) == "0.3333333333333333\n");
  CHECK(written(1e300) == "1e+300\n");
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808\n");
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615\n");
  CHECK(written(std::size_t{7}) == "7\n");
}

TEST_CASE("zero has no sign") { CHECK(written(-0.0) == "0\n"); }

TEST_CASE("an answer begins with the version of its form") {
  JsonWriter writer;
  writer.begin_answer().key("step_s").value(1.5).end_object();
  CHECK(writer.text() == "{\n  \"version\": 1,\n  \"step_s\": 1.5\n}\n");
}

TEST_CASE("what JSON has no number for is null") {
  CHECK(written(std::numeric_limits<double>::quiet_NaN()) == "null\n");
  CHECK(written(-std::numeric_limits<double>::infinity()) == "null\n");
}

TEST_CASE("text is escaped, and always valid UTF-8") {
  CHECK(written("a\"b\\c\nd\te\x01") == "\"a\\\"b\\\\c\\nd\\te\\u0001\"\n");
  CHECK(written("caf\xc3\xa9") == "\"caf\xc3\xa9\"\n");
  CHECK(written("a\xff\xc3") == "\"a\xef\xbf\xbd\xef\xbf\xbd\"\n");
  CHECK(written(std::string_view("\0", 1)) == "\"\\u0000\"\n");
  CHECK(written(std::string("text")) == "\"text\"\n");
}

TEST_CASE("keys are escaped like text") {
  JsonWriter writer;
  writer.begin_object().key("a\"b").value(false).end_object();
  CHECK(writer.text() == "{\n  \"a\\\"b\": false\n}\n");
}

}  // namespace
}  // namespace foretrain
