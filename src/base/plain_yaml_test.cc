#include "base/plain_yaml.h"

#include <doctest/doctest.h>

#include <iterator>
#include <random>
#include <string>

#include "base/testing.h"

namespace foretrain {
namespace {

// Kinds, scalars, keys and every place, in one line.
std::string drawn(const Node& node) {
  const auto place = [](const Position& at) {
    return "@" + std::to_string(at.line) + ":" + std::to_string(at.column);
  };
  std::string text = place(node.at);
  switch (node.kind) {
    case Node::Kind::kNull:
      return text + "nothing";
    case Node::Kind::kScalar:
      return text + "<" + node.scalar + ">";
    case Node::Kind::kList:
      text += "[";
      for (const Node& item : node.items) text += drawn(item);
      return text + "]";
    case Node::Kind::kMap:
      text += "{";
      for (std::size_t i = 0; i < node.entries.size(); ++i)
        text += node.entries[i].key + place(node.key_at[i]) + drawn(node.entries[i].value);
      return text + "}";
  }
  return text;
}

// Empty where the text is not plain.
std::string plain(const std::string& text) {
  const auto node = read_plain_yaml(text, "f.yaml");
  return node ? drawn(*node) : "";
}

std::string by_library(const std::string& text) {
  const auto node = parse_yaml_by_library(text, "f.yaml");
  return node ? drawn(*node) : node.error().text();
}

TEST_CASE("what is plain is read as the library reads it, place by place") {
  for (const std::string text : {"a: 1",
                                 "a: 1\n",
                                 "# c\n\na: x y  # d\nb:\n  c: -3\n  d: 1e-3\n\ne: /x/y.yaml\n",
                                 "a:\n- b\n- c: 1\n  d: 2\n- [1, 2]\n",
                                 "a:\n  - b\n  -   c: 1\n      d: 2\n  - {e: 1, f: x y}\nb: 2\n",
                                 "- a\n- b: c\n",
                                 "a: \"b: # c\"\nd: 'e' # f\n",
                                 "a: {b: [1, 2,\n    3], c: {d: e}}\n",
                                 "a: [x,\n # c\n y, # d\n z]\n",
                                 "a: b#c\nd: e:f\ng: h, [i] {j}\n",
                                 "a:\n  b:\n    c: 1\n  d: 2\ne: 3",
                                 "a: 'x: y'\n",
                                 "a: .5\nb: +1\nc: -x\n",
                                 "a: x   \nb: y\n",
                                 "a:\n    # deep\n  # less\n  b: 1\n",
                                 "a: {b: 'c, d', e: \"f}\"}\n",
                                 "a: yes\n# end",
                                 "a: x\n\n\n   \nb: y\n",
                                 "a-b.c/d: 1\n",
                                 "a:  # b\n  {c: 1,\n   d: 2}\ne: 3\n",
                                 "a: []\nb: {c: [ ], d: {}}\n"}) {
    CAPTURE(text);
    CHECK(!plain(text).empty());
    CHECK(plain(text) == by_library(text));
  }
}

TEST_CASE("what is not plain, or wrong, is left to the library") {
  for (const char* text : {"",
                           "# c\n",
                           "x",
                           "a:",
                           "a: ~\n",
                           "a: null\n",
                           "a:\nb: 1\n",
                           "a: 1\na: 2\n",
                           "a: &x 1\n",
                           "a: *x\n",
                           "a: !t 1\n",
                           "a: |\n  x\n",
                           "a: >\n  x\n",
                           "a: x\n  y\n",
                           "a: \"x\n  y\"\n",
                           "a: \"\\n\"\n",
                           "a: 'x''y'\n",
                           "a: [1, 2\n",
                           "a: [1, 2]]\n",
                           "a: [1,, 2]\n",
                           "a: [1, 2,]\n",

                           "a: {b}\n",
                           "a: {b: 1} c\n",
                           "a: 1\n b: 2\n",
                           "  a: 1\nb: 2\n",
                           "a:\n  b: 1\n c: 2\n",
                           "a:\tb\n",
                           "a: 1\r\n",
                           "---\na: 1\n",
                           "a: 1\n...\n",
                           "a: 1\n---\nb: 2\n",
                           "k: v: w\n",
                           "a: - b\n",
                           "a: @b\n",
                           "a: `b\n",
                           "a: %b\n",
                           "? a\n: b\n",
                           ": b\n",
                           "a : b\n",
                           "a: x:\n",
                           "- - a\n",
                           "-\n",
                           "- \n  a: 1\n",
                           "a: {b:1}\n",
                           "a: [b: 1]\n",
                           "a: {b: 1,c: 2}\n",
                           "a: [1\n]\n",
                           "null: 1\n",
                           "<<: 1\n",
                           "\"a\": 1\n",
                           "a: \xc3\xa9\n",
                           "\xef\xbb\xbf"
                           "a: 1\n",
                           "a: [\nb]\n",
                           "a: [x #c\n, y]\n",
                           "a: #\n",
                           "a: {b: ~}\n",
                           "a: [null]\n",
                           "- a\nb: c\n",
                           "a: 1\n- b\n",
                           "a:\n  - b\n - c\n"}) {
    CAPTURE(text);
    CHECK(plain(text).empty());
  }
  CHECK(plain(std::string(200, 'k') + ": 1\n").empty());
  std::string deep = "a: ";
  for (int i = 0; i < kMaxYamlDepth; ++i) deep = deep + "[";
  CHECK(plain(deep + "1" + std::string(kMaxYamlDepth, ']') + "\n").empty());
}

// Short texts of the marks that matter, all kinds of wrong among them.
TEST_CASE("whatever is taken for plain the library takes for the same") {
  constexpr const char* kPieces[] = {
      "a", "b: ", "c:", "- ", "-",           " ",           "  ",  "\n",  "\n",   "\n  ", "\n- ",
      "[", "]",   "{",  "}",  ", ",          ",",           "#",   " # ", "'",    "\"",   "'x'",
      "1", "0.5", ": ", ":",  "~",           "?",           "...", "---", "null", "x y",  "d: 1\n",
      "|", "&",   "\t", "\\", "e: [1, 2]\n", "f: {g: h}\n", "%",   "=",   "\n   "};
  std::mt19937 random(7);
  int taken = 0;
  for (int trial = 0; trial < trials(200'000); ++trial) {
    std::string text = trial % 3 == 0 ? "" : "k: v\nm:\n";
    for (std::size_t n = 1 + random() % 8; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    const std::string tree = plain(text);
    if (tree.empty()) continue;
    ++taken;
    CAPTURE(text);
    REQUIRE(tree == by_library(text));
  }
  CHECK(taken > trials(1000));
}

}  // namespace
}  // namespace foretrain
