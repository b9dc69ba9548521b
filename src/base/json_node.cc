#include "base/json_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace foretrain {
namespace {

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

class Reader {
 public:
  Reader(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  Result<Node> document() {
    TRY_ASSIGN(Node node, value(0));
    skip_space();
    if (!rest_.empty()) return wrong("the end of the document");
    return node;
  }

 private:
  Position here() const { return {file_, line_, column_}; }

  void take(std::size_t count) {
    for (const char c : rest_.substr(0, count)) {
      ++column_;
      if (c == '\n') ++line_, column_ = 1;
    }
    rest_.remove_prefix(count);
  }
  void skip_space() {
    const std::size_t end = rest_.find_first_not_of(" \t\r\n");
    take(end == std::string_view::npos ? rest_.size() : end);
  }
  bool taken(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    take(1);
    return true;
  }
  tl::unexpected<Error> wrong(std::string_view expected) const {
    const std::size_t end = std::max<std::size_t>(1, std::min(rest_.find_first_of(" \t\r\n,"), rest_.size()));
    const std::string found = rest_.empty() ? "the end of the text" : quoted(rest_.substr(0, end));
    return fail(fmt::format("found {}, expected {}", found, expected), here());
  }

  Result<Node> value(int depth) {
    skip_space();
    if (depth > kMaxYamlDepth)
      return fail(fmt::format("nested more than {} levels deep", kMaxYamlDepth), here());
    if (++nodes_ > kMaxYamlNodes)
      return fail(fmt::format("more than {} keys and values", kMaxYamlNodes), here());
    if (rest_.starts_with('{')) return object(depth);
    if (rest_.starts_with('[')) return list(depth);
    Node node;
    node.at = here();
    if (rest_.starts_with('"')) {
      TRY_ASSIGN(node.scalar, string());
      node.kind = Node::Kind::kScalar;
      return node;
    }
    return word(std::move(node));
  }

  Result<Node> word(Node node) {
    const std::size_t end = std::min(rest_.find_first_of(" \t\r\n,]}:\"{["), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    const bool known = word == "true" || word == "false" || word == "null" || word == "NaN" ||
                       word == "Infinity" || word == "-Infinity";
    if (!known && !parse_number(word)) return wrong("a value of JSON");
    node.kind = word == "null" ? Node::Kind::kNull : Node::Kind::kScalar;
    if (word != "null") node.scalar = word;
    take(end);
    return node;
  }

  Result<Node> object(int depth) {
    Node node;
    node.at = here();
    node.kind = Node::Kind::kMap;
    take(1);
    if (taken('}')) return node;
    std::unordered_set<std::string> known;
    do {
      skip_space();
      const Position at = here();
      if (!rest_.starts_with('"')) return wrong("a key between double quotes");
      TRY_ASSIGN(std::string key, string());
      if (!known.insert(key).second) return fail("duplicate key " + quoted(key), at);
      if (!taken(':')) return wrong("':' after a key");
      TRY_ASSIGN(Node child, value(depth + 1));
      node.entries.emplace_back(std::move(key), std::move(child));
      node.key_at.push_back(at);
    } while (taken(','));
    if (!taken('}')) return wrong("',' or '}'");
    return node;
  }

  Result<Node> list(int depth) {
    Node node;
    node.at = here();
    node.kind = Node::Kind::kList;
    take(1);
    if (taken(']')) return node;
    do {
      TRY_ASSIGN(Node child, value(depth + 1));
      node.items.push_back(std::move(child));
    } while (taken(','));
    if (!taken(']')) return wrong("',' or ']'");
    return node;
  }

  Result<std::string> string() {
    const Position at = here();
    take(1);
    std::string out;
    while (true) {
      const std::size_t end = rest_.find_first_of("\"\\\n");
      if (end == std::string_view::npos || rest_[end] == '\n')
        return fail("a text between double quotes does not end", at);
      out += rest_.substr(0, end);
      take(end);
      if (rest_.starts_with('"')) break;
      TRY(escape(out));
    }
    take(1);
    return out;
  }

  Result<void> escape(std::string& out) {
    constexpr std::string_view kSigns = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (rest_.size() < 2) return wrong("a sign after '\\'");
    if (const std::size_t sign = kSigns.find(rest_[1]); sign != std::string_view::npos) {
      out += kMeant[sign];
      take(2);
      return {};
    }
    TRY_ASSIGN(unsigned code, hexadecimal());
    if (code >= 0xD800 && code < 0xDC00 && rest_.starts_with("\\u")) {
      TRY_ASSIGN(const unsigned low, hexadecimal());
      code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
    }
    append_utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return {};
  }

  // \uXXXX
  Result<unsigned> hexadecimal() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (rest_.size() < 6 || rest_[1] != 'u') return wrong("a sign after '\\', as \\n or \\u00e9");
    unsigned code = 0;
    for (const char c : rest_.substr(2, 4)) {
      const std::size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (digit == std::string_view::npos) return wrong("four hexadecimal digits after '\\u'");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    take(6);
    return code;
  }

  std::string_view rest_;
  std::string file_;
  int line_ = 1, column_ = 1;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<Node> parse_json(std::string_view text, std::string file_name, std::size_t max_bytes) {
  if (text.size() > max_bytes)
    return fail(fmt::format("larger than {} bytes", max_bytes), {std::move(file_name), 0, 0});
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Reader(text, std::move(file_name)).document();
}

bool looks_like_json(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace foretrain
