#include "spec/row_words.h"

#include <doctest/doctest.h>

#include "base/yaml.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

Result<std::vector<RowWords>> words_of(const std::string& text) {
  return row_words_of(parse_yaml(text, "s.yaml").value());
}

TEST_CASE("a stack's file states which rows mean it") {
  const auto words = words_of(
      "name: a\nrows:\n  - {stack: b, note: precision_detail, holds: (TE)}\n"
      "  - {stack: [b, c], zero: [2, 3], attention: unfused}\n");
  REQUIRE(words.has_value());
  REQUIRE(words->size() == 2);
  CHECK((*words)[0].note == "precision_detail");
  CHECK((*words)[0].holds == "(TE)");
  CHECK((*words)[1].stacks == std::vector<std::string>{"b", "c"});
  CHECK((*words)[1].zero == std::vector<std::int64_t>{2, 3});
  CHECK((*words)[1].attention == AttentionKind::kUnfused);
  CHECK(words_of("name: a").value().empty());
}

TEST_CASE("words that tell nothing, or nothing known, are refused with their place") {
  const auto error_of = [](const std::string& rows) { return words_of("rows: " + rows).error().text(); };
  CHECK(error_of("b") == "s.yaml:1:7: error: rows: expected a list of maps");
  CHECK(error_of("[{zero: 3}]") == "s.yaml:1:8: error: rows: missing key 'stack'");
  CHECK(error_of("[{stack: b}]") ==
        "s.yaml:1:8: error: rows: found a stack alone, expected what tells its rows apart (zero, attention "
        "or note)");
  CHECK(error_of("[{stack: [], zero: 3}]") ==
        "s.yaml:1:16: error: rows: stack: found an empty list, expected at least one value");
  CHECK(error_of("[{stack: b, zeros: 3}]").find("did you mean 'zero'?") != std::string::npos);
  CHECK(error_of("[{stack: b, holds: x}]") == "s.yaml:1:8: error: rows: missing key 'note'");
}

TEST_CASE("the rows of every preset name stacks that there are, and a base's are its own") {
  const Catalog catalog;
  std::size_t stated = 0;
  for (const std::string& name : catalog.names("stacks")) {
    const auto words = row_words_of(parse_yaml(catalog.text("stacks", name).value(), name).value());
    REQUIRE(words.has_value());
    for (const RowWords& word : *words)
      for (const std::string& stack : word.stacks) {
        INFO(name, " ", stack);
        const auto meant = catalog.meant("stacks", stack);
        CHECK(meant.has_value());
        CHECK(meant != name);
        ++stated;
      }
  }
  CHECK(stated > 0);
}

}  // namespace
}  // namespace foretrain
