// Properties of the border: whatever comes in, an answer comes out, and what is written reads back. One file,
// for rapidcheck's headers take long to compile.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstring>

#include "base/csv.h"
#include "base/did_you_mean.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace foretrain {
namespace {

const std::string kRunFile =
    "# a run\nmodel: {name: llama, layers: 32, hidden: 4096}\nplan:\n  tp: 8\n  pp: 2\n  \"zero\": 1\n"
    "ranks:\n  - 0\n  - [1, 2]\nnote: |\n  two\n  lines\n";

// An answer is a tree, or one line at a place of the file.
void expect_answer(const std::string& text) {
  const auto node = parse_yaml(text, "f.yaml");
  if (node) {
    RC_ASSERT(node->kind != Node::Kind::kNull);
  } else {
    const std::string line = node.error().text();
    RC_ASSERT(line.starts_with("f.yaml:"));
    RC_ASSERT(printable(line) == line);
    RC_ASSERT(line.size() < 400u);
  }
}

TEST_CASE("any bytes get an answer") {
  CHECK(rc::check([](const std::string& bytes) { expect_answer(bytes); }));
}

TEST_CASE("any heap of YAML's own signs gets an answer") {
  CHECK(rc::check([] {
    const auto signs = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", "b: ", "- ", "? ", ": ", "[", "]", "{", "}", ", ", "\n", "\n  ", "'", "\"", "|\n", "&x ", "*x ",
        "!t ", "#", "---\n", "...\n", "%", "\\", "~", "\t"));
    expect_answer(join(signs, ""));
  }));
}

TEST_CASE("a run file with some bytes changed gets an answer") {
  REQUIRE(parse_yaml(kRunFile, "f.yaml").has_value());
  CHECK(rc::check([] {
    std::string text = kRunFile;
    for (int edits = *rc::gen::inRange(1, 5); edits > 0; --edits) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const char c =
          *rc::gen::oneOf(rc::gen::element('[', ']', '{', '}', ':', '-', '\'', '"', '\n', ' ', '#'),
                          rc::gen::arbitrary<char>());
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        default:
          text.erase(at, *rc::gen::inRange<std::size_t>(1, 9));
          break;
      }
    }
    expect_answer(text);
  }));
}

TEST_CASE("a table reads back as it was written") {
  const auto cell = rc::gen::container<std::string>(rc::gen::inRange<char>('#', 'z'));  // 'z' > ',' > '#'
  CHECK(rc::check([&] {
    const auto columns = *rc::gen::inRange<std::size_t>(1, 6);
    const auto rows = *rc::gen::inRange<std::size_t>(0, 8);
    std::vector<std::vector<std::string>> cells(rows, std::vector<std::string>(columns));
    std::vector<std::string> lines(1);
    for (std::size_t c = 0; c < columns; ++c) lines[0] += (c > 0 ? ",c" : "c") + std::to_string(c);
    for (auto& row : cells) {
      for (auto& text : row) {
        text = *cell;
        std::erase(text, ',');
      }
      lines.push_back(join(row, ","));
    }
    const auto table = CsvTable::parse(join(lines, "\n") + "\n", "t.csv");
    RC_ASSERT(table.has_value());
    RC_ASSERT(table->columns().size() == columns);
    RC_ASSERT(table->rows() == rows);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        RC_ASSERT(table->cell(r, c) == cells[r][c]);
        const Position at = table->position(r, c);
        const std::string& line = lines[static_cast<std::size_t>(at.line) - 1];
        RC_ASSERT(
            std::string_view(line).substr(static_cast<std::size_t>(at.column) - 1).starts_with(cells[r][c]));
      }
    }
  }));
}

TEST_CASE("any bytes are a table or an error") {
  CHECK(rc::check([](const std::string& bytes) {
    const auto table = CsvTable::parse(bytes, "t.csv");
    if (!table) RC_ASSERT(table.error().at.line >= 1);
  }));
}

TEST_CASE("one edit away is near") {
  // Words that share no letter: no edit of one comes near another.
  const std::vector<std::string> words = {"hidden", "layers", "topk", "bucum"};
  CHECK(rc::check([&] {
    const std::string word = *rc::gen::elementOf(words);
    const auto at = *rc::gen::inRange<std::size_t>(0, word.size());
    const char letter = *rc::gen::inRange('a', 'z');
    std::string typo = word;
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        typo[at] = letter;
        break;
      case 1:
        typo.insert(at, 1, letter);
        break;
      case 2:
        typo.erase(at, 1);
        break;
      default:
        std::swap(typo[at], typo[(at + 1) % word.size() == 0 ? at : at + 1]);
        break;
    }
    RC_ASSERT(nearest(typo, words) == word);
  }));
}

TEST_CASE("a number in JSON reads back equal, to the bit") {
  CHECK(rc::check([](std::uint64_t bits) {
    double number = 0.0;
    std::memcpy(&number, &bits, sizeof number);
    RC_PRE(number == number && number - number == 0.0);
    JsonWriter writer;
    const std::string text = writer.value(number).text();
    const double back = parse_number(trim(text)).value();
    RC_ASSERT(std::memcmp(&back, &number, sizeof number) == 0);
  }));
}

TEST_CASE("any bytes become JSON text that is UTF-8 without control characters") {
  CHECK(rc::check([](const std::string& bytes) {
    JsonWriter writer;
    const std::string written = writer.value(bytes).text();
    const std::string_view text = trim(written);
    RC_ASSERT(text.size() >= 2u);
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t length = utf8_length(text.substr(i));
      RC_ASSERT(length > 0u);
      RC_ASSERT(length > 1u || static_cast<unsigned char>(text[i]) >= 0x20u);
      i += length;
    }
  }));
}

TEST_CASE("joining undoes splitting, whatever the text") {
  CHECK(rc::check([](const std::string& text) {
    const auto parts = split(text, ',');
    RC_ASSERT(join({parts.begin(), parts.end()}, ",") == text);
  }));
}

}  // namespace
}  // namespace foretrain
