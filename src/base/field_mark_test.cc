#include "base/field_mark.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

std::string option(std::string_view field) { return "--" + std::string(field); }

TEST_CASE("a face spells the fields that a text speaks of in its own words") {
  const std::string text = "found no " + marked("tokens") + ", nor " + marked("seq");
  CHECK(spelled(text, option) == "found no --tokens, nor --seq");
  CHECK(spelled(text, [](std::string_view) { return std::string("it"); }) == "found no it, nor it");
  CHECK(spelled("plain", option) == "plain");
}

TEST_CASE("half a mark is left as it stands") {
  CHECK(spelled("a\x0e"
                "b",
                option) ==
        "a\x0e"
        "b");
  CHECK(spelled("a\x0f"
                "b",
                option) ==
        "a\x0f"
        "b");
  CHECK(spelled("\x0f"
                "a" +
                    marked("b"),
                option) ==
        "\x0f"
        "a--b");
}

TEST_CASE("an error begins with its field, unless it has a place or speaks of the field itself") {
  CHECK(text_of(fail_field("top", "found 0").value(), option) == "foretrain: error: --top: found 0");
  CHECK(fail_field("top", "found 0").value().text() == "foretrain: error: top: found 0");
  CHECK(text_of({"found 0", {"run.yaml", 2, 1}, "top"}, option) == "run.yaml:2:1: error: found 0");
  CHECK(text_of({"no top: give " + marked("top"), {}, "top"}, option) ==
        "foretrain: error: no top: give --top");
}

TEST_CASE("the field that was asked for comes first, then the one that it led to") {
  const Error inner = fail_field("profile", "unknown profile").value();
  CHECK(text_of(in_field("what_if", inner).value(), option) ==
        "foretrain: error: --what_if: --profile: unknown profile");
  CHECK(in_field("model", {"no such key", {"m.yaml", 1, 1}}).value().field.empty());
  CHECK(of_field("model", Result<int>(3)).value() == 3);
}

}  // namespace
}  // namespace foretrain
