#include "base/yaml.h"

#include <doctest/doctest.h>

#include <ctime>
#include <limits>
#include <random>

namespace foretrain {
namespace {

Node parsed(std::string_view text) {
  auto node = parse_yaml(text, "f.yaml");
  if (!node) FAIL(node.error().text());
  return *std::move(node);
}

std::string refusal(std::string_view text) {
  const auto node = parse_yaml(text, "f.yaml");
  return node ? "accepted" : node.error().text();
}

std::string place(const Position& at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() + unit.size() <= bytes) text += unit;
  return text;
}

TEST_CASE("maps keep the order of the file, and every node its place") {
  const Node root = parsed("model: llama\nplan:\n  tp: 8\n  ranks: [0, 1]\n");
  REQUIRE(root.is_map());
  REQUIRE(root.entries.size() == 2);
  CHECK(root.entries[0].key == "model");
  CHECK(root.find("model")->scalar == "llama");
  const Node* plan = root.find("plan");
  REQUIRE(plan != nullptr);
  CHECK(plan->key_at.size() == 2);
  CHECK(plan->at.file == "f.yaml");
  CHECK(place(plan->at) == "3:3");
  CHECK(place(root.key_at[1]) == "2:1");
  CHECK(place(plan->find("tp")->at) == "3:7");
  REQUIRE(plan->find("ranks")->is_list());
  CHECK(plan->find("ranks")->items[1].scalar == "1");
  CHECK(place(plan->find("ranks")->items[1].at) == "4:14");
  CHECK(root.find("tp") == nullptr);
}

TEST_CASE("a missing value stands where its key does") {
  const Node root = parsed("a:\nb: ~\nc: ''\n");
  CHECK(root.find("a")->kind == Node::Kind::kNull);
  CHECK(place(root.find("a")->at) == "1:1");
  CHECK(place(root.find("b")->at) == "2:4");
  CHECK(root.find("c")->is_scalar());  // quoted: empty text, not nothing
}

TEST_CASE("comments, a document marker, CR LF and a byte order mark make no difference") {
  for (const char* text : {"a: 1", "# c\na: 1 # d\n", "---\na: 1\n...\n", "a: 1\r\n",
                           "\xef\xbb\xbf"
                           "a: 1\n"}) {
    CAPTURE(text);
    CHECK(parsed(text).find("a")->scalar == "1");
  }
}

TEST_CASE("whole numbers are strict and bounded") {
  const auto read = [](const char* text, std::int64_t low = 1, std::int64_t high = 100'000) {
    return parsed(text).find("a")->integer(low, high);
  };
  CHECK(read("a: 32").value() == 32);
  CHECK(read("a: -3").error().text() ==
        "f.yaml:1:4: error: found '-3', expected a whole number from 1 to 100000");
  CHECK(read("a: 100001").error().message == "found '100001', expected a whole number from 1 to 100000");
  for (const char* text : {"a: 1e3", "a: 1.0", "a: 1_000", "a: 0x10", "a: +1", "a: x", "a:", "a: [1]"}) {
    CAPTURE(text);
    CHECK(!read(text));
  }
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(read("a: 0", 1, kMax).error().message == "found '0', expected a whole number of at least 1");
}

TEST_CASE("numbers are finite and bounded") {
  const auto read = [](const char* text, double low = 0.0, double high = 1.0) {
    return parsed(text).find("a")->number(low, high);
  };
  CHECK(read("a: 1e-3").value() == 1e-3);
  CHECK(read("a: 1").value() == 1.0);
  CHECK(read("a: 1.5").error().text() == "f.yaml:1:4: error: found '1.5', expected a number from 0 to 1");
  CHECK(read("a:\n").error().text() == "f.yaml:1:1: error: found nothing, expected a number from 0 to 1");
  for (const char* text : {"a: nan", "a: .nan", "a: inf", "a: .inf", "a: 0x1", "a: 0.5s", "a: {b: 1}"}) {
    CAPTURE(text);
    CHECK(!read(text));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(read("a: x", 0.0, kInfinity).error().message == "found 'x', expected a number of at least 0");
  CHECK(read("a: x", -kInfinity, 9.5).error().message == "found 'x', expected a number of at most 9.5");
  CHECK(read("a: x", -kInfinity, kInfinity).error().message == "found 'x', expected a number");
}

TEST_CASE("truth has eight spellings") {
  for (const char* text : {"a: true", "a: 1", "a: yes", "a: on"})
    CHECK(parsed(text).find("a")->boolean().value());
  for (const char* text : {"a: false", "a: 0", "a: no", "a: off"}) {
    CHECK_FALSE(parsed(text).find("a")->boolean().value());
  }
  CHECK(parsed("a: maybe").find("a")->boolean().error().message == "found 'maybe', expected true or false");
}

TEST_CASE("text is any scalar") {
  CHECK(parsed("a: 1.0").find("a")->text().value() == "1.0");
  CHECK(parsed("a: |\n  x\n  y\n").find("a")->text().value() == "x\ny\n");
  CHECK(parsed("a: [x]").find("a")->text().error().message == "found a list, expected text");
}

TEST_CASE("an unknown key is refused where it stands, with the nearest known one") {
  const Node root = parsed("layers: 2\nhiden: 4\n");
  CHECK(root.only_keys({"layers", "hiden"}).has_value());
  CHECK(root.only_keys({"layers", "hidden"}).error().text() ==
        "f.yaml:2:1: error: unknown key 'hiden'; did you mean 'hidden'?");
  CHECK(root.only_keys({"layers", "tp"}).error().message ==
        "unknown key 'hiden'; expected one of layers, tp");
  CHECK(parsed("- a").only_keys({"a"}).error().message == "found a list, expected a map");
}

TEST_CASE("what is not plain data is refused") {
  CHECK(refusal("a: &x 1") ==
        "f.yaml:1:4: error: found an anchor ('&'), expected plain data; anchors are not supported");
  CHECK(refusal("a: *x") ==
        "f.yaml:1:4: error: found an alias ('*'), expected plain data; aliases are not supported");
  CHECK(refusal("a: &x 1\nb: *x").find("anchor") != std::string::npos);
  CHECK(refusal("a: !!python/object x") ==
        "f.yaml:1:4: error: found tag 'tag:yaml.org,2002:python/object', expected plain data; "
        "tags are not supported");
  CHECK(refusal("a: !x\n").find("found tag '!x'") != std::string::npos);
  CHECK(refusal("a: !x [1]\n").find("found tag '!x'") != std::string::npos);
  CHECK(refusal("? [a]\n: b") ==
        "f.yaml:1:3: error: found a list as a key, expected text; check the brackets");
  CHECK(refusal(": b") == "f.yaml:1:1: error: found nothing, expected a key");
}

TEST_CASE("a key stands once") {
  CHECK(refusal("a: 1\nb: 2\na: 3\n") == "f.yaml:3:1: error: duplicate key 'a'; it already stands on line 1");
  CHECK(refusal("{a: 1, 'a': 2}").find("duplicate key 'a'") != std::string::npos);
  CHECK(parsed("x: {a: 1}\ny: {a: 1}\n").entries.size() == 2);
}

TEST_CASE("a file is one document, and not an empty one") {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "~", "%YAML 1.2\n"}) {
    CAPTURE(text);
    CHECK(refusal(text) == "f.yaml:1:1: error: found nothing, expected a map");
  }
  for (const char* text :
       {"a: 1\n---\nb: 2\n", "---\n---\n", "[a]\n[b]", "[a],", "{a: b},", "'a' 'b'", "- a\nb: c"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("found text after the end of the document") != std::string::npos);
  }
}

TEST_CASE("what is not text is refused where it stands") {
  CHECK(refusal(std::string_view("a: \0", 4)) ==
        "f.yaml:1:4: error: found control character '\\x00', expected text");
  CHECK(refusal("a: b\nc: \x04") == "f.yaml:2:4: error: found control character '\\x04', expected text");
  CHECK(refusal("\xff\xfe") == "f.yaml:1:1: error: found byte 0xff, expected UTF-8 text");
  CHECK(refusal("a: \xc2\x9b") == "f.yaml:1:4: error: found control character '\\xc2\\x9b', expected text");
  CHECK(refusal("a: \"x\\0\"") == "f.yaml:1:4: error: found a control character in 'x\\x00', expected text");
  CHECK(refusal("a: \"\\e[0m\"").find("control character") != std::string::npos);
}

TEST_CASE("what is not YAML is refused with what to mend") {
  CHECK(refusal("k: v: w") ==
        "f.yaml:1:5: error: found ':' where no key can stand; check the indentation and quotes");
  CHECK(refusal("x: 1\na: [1, 2\n") ==
        "f.yaml:3:1: error: expected ',' or ']' to end the list that begins on line 2, column 4");
  CHECK(refusal("x: {a: 1") ==
        "f.yaml:1:4: error: expected ',' or '}' to end the map that begins on line 1, column 4");
  CHECK(refusal("a: 'x") == "f.yaml:1:6: error: found the end of the file, expected a closing quote");
  CHECK(refusal("a: ]") == "f.yaml:1:4: error: found a closing bracket that nothing opened");
  CHECK(refusal("a: @x") ==
        "f.yaml:1:4: error: found a character that begins no value, expected text in quotes");
  CHECK(refusal("a: \"\\q\"") == "f.yaml:1:7: error: not valid YAML: unknown escape character: q");
}

TEST_CASE("size, nesting and the number of nodes are bounded, and the bounds themselves allowed") {
  CHECK(refusal("a: " + std::string(kMaxYamlBytes - 3, 'x')) == "accepted");
  CHECK(refusal("a: " + std::string(kMaxYamlBytes - 2, 'x')) ==
        "f.yaml: error: found 1048577 bytes, expected at most 1048576");
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(refusal(nested(kMaxYamlDepth)) == "accepted");
  CHECK(refusal(nested(kMaxYamlDepth + 1)) ==
        "f.yaml:1:33: error: found more than 32 levels of nesting, expected at most that");
  CHECK(refusal(repeated("- a\n", 4 * (kMaxYamlNodes - 1))) == "accepted");  // the list is a node, too
  CHECK(refusal(repeated("- a\n", 4 * kMaxYamlNodes)) ==
        "f.yaml:100000:3: error: found more than 100000 keys and values, expected at most that");
}

TEST_CASE("a mebibyte of anything is answered within two seconds, in one line") {
  for (const char* unit :
       {"[", "{", "- ", "? ", ": ", "&a", "!!", "[],", "[a,", "a\n", "a: b\n", "\"", "%"}) {
    CAPTURE(unit);
    const std::string text = repeated(unit, kMaxYamlBytes);
    const std::clock_t begin = std::clock();  // of the processor: other programs may hold up the wall's
    const std::string answer = refusal(text);
    CHECK(std::clock() - begin < 2 * CLOCKS_PER_SEC);
    CHECK(answer.find('\n') == std::string::npos);
    CHECK(answer.size() < 200);
  }
}

TEST_CASE("a quote that nothing closes is found where it was opened") {
  CHECK(refusal("model: 'gpt2\ngpus: 8\n") ==
        "f.yaml:1:8: error: found a quote ' that nothing closes, opened here");
  CHECK(refusal("gpus: 8\nmodel: \"gpt\\\"2\n") ==
        "f.yaml:2:8: error: found a quote \" that nothing closes, opened here");
  CHECK(refusal("a: 'it''s'\nb: \"x\\\"y\"\nc: don't\n") == "accepted");
}

TEST_CASE("a mebibyte of noise is refused") {
  std::mt19937 random(1);
  std::string noise(kMaxYamlBytes, ' ');
  for (char& c : noise) c = static_cast<char>(random());
  CHECK(refusal(noise).starts_with("f.yaml:1:"));
}

}  // namespace
}  // namespace foretrain
