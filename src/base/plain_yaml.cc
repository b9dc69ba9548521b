#include "base/plain_yaml.h"

#include <algorithm>
#include <array>
#include <utility>

namespace foretrain {
namespace {

// Thrown where the text is not plain; nothing was promised until then.
struct NotPlain {};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '/' || c == '+';
}

// What the library takes for nothing where a value or key stands without quotes.
bool is_null(std::string_view word) {
  return word == "~" || word == "null" || word == "Null" || word == "NULL";
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Node document() {
    to_content();
    if (at_ == text_.size() || column() != 0) give_up();
    Node root = block(1);
    if (at_ != text_.size()) give_up();
    return root;
  }

 private:
  [[noreturn]] static void give_up() { throw NotPlain{}; }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';  // the end of the text ends a line
  }
  int column() const { return static_cast<int>(at_ - line_start_); }

  Node node(Node::Kind kind) {
    if (++nodes_ > kMaxYamlNodes) give_up();
    Node made;
    made.kind = kind;
    made.at = Position{file_, line_, column() + 1};
    return made;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  // Past a comment, which stands at the start of a line or after a space.
  void skip_comment() {
    if (peek() != '#') return;
    if (at_ > line_start_ && text_[at_ - 1] != ' ') give_up();
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // To the next line, from the end of what this one holds.
  bool next_line() {
    if (at_ == text_.size() || text_[at_] != '\n') return false;
    ++at_;
    ++line_;
    line_start_ = at_;
    return true;
  }

  // To the first character that is no space, comment or end of a line.
  void to_content() {
    do {
      skip_spaces();
      skip_comment();
    } while (next_line());
    if (at_ < text_.size() && (text_[at_] == '\t' || text_[at_] == '\r')) give_up();
  }

  // From the end of a value in a block of this column: to what comes next, which is not further in.
  void end_of_value(int block_column) {
    skip_spaces();
    skip_comment();
    if (peek() != '\n') give_up();
    to_content();
    if (at_ < text_.size() && column() > block_column) give_up();
  }

  bool begins_item() const { return peek() == '-' && (peek(1) == ' ' || peek(1) == '\n'); }

  // A key of a block and its colon, if that is what stands here.
  std::optional<std::string_view> key() {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end == at_ || end - at_ > kMostKey || end == text_.size() || text_[end] != ':') return std::nullopt;
    if (end + 1 < text_.size() && text_[end + 1] != ' ' && text_[end + 1] != '\n') return std::nullopt;
    const std::string_view word = text_.substr(at_, end - at_);
    if (is_null(word) || begins_item() || word.starts_with("---") || word.starts_with("...")) give_up();
    return word;
  }

  void add_key(Node& map, std::string_view word) {
    if (++nodes_ > kMaxYamlNodes || map.find(word) != nullptr || map.entries.size() == kMostKeys) give_up();
    map.key_at.push_back({file_, line_, column() + 1});
    map.entries.emplace_back(std::string(word), Node{});
    at_ += word.size() + 1;
  }

  // A map or list of a block, from its first character to what comes after it.
  Node block(int depth) {
    if (depth > kMaxYamlDepth) give_up();
    return begins_item() ? block_list(depth) : block_map(depth);
  }

  Node block_map(int depth) {
    const int here = column();
    Node map = node(Node::Kind::kMap);
    do {
      const auto word = key();
      if (!word) give_up();
      add_key(map, *word);
      skip_spaces();
      skip_comment();
      if (peek() != '\n') {
        map.entries.back().value = value(depth + 1);
        end_of_value(here);
        continue;
      }
      to_content();
      const bool further = at_ < text_.size() && (column() > here || (column() == here && begins_item()));
      if (!further) give_up();
      const bool brackets = peek() == '{' || peek() == '[';
      map.entries.back().value = brackets ? flow(depth + 1) : block(depth + 1);
      if (brackets) end_of_value(here);
    } while (at_ < text_.size() && column() == here);
    if (at_ < text_.size() && column() > here) give_up();
    return map;
  }

  Node block_list(int depth) {
    const int here = column();
    Node list = node(Node::Kind::kList);
    do {
      ++at_;
      skip_spaces();
      if (peek() == '\n' || peek() == '#' || begins_item()) give_up();
      const std::size_t begin = at_;
      if (key()) {
        at_ = begin;
        list.items.push_back(block(depth + 1));
      } else {
        list.items.push_back(value(depth + 1));
        end_of_value(here);
      }
    } while (at_ < text_.size() && column() == here && begins_item());
    if (at_ < text_.size() && column() > here) give_up();
    return list;
  }

  // What stands behind a key or a dash, on its line.
  Node value(int depth) {
    switch (peek()) {
      case '[':
      case '{':
        return flow(depth);
      case '"':
      case '\'':
        return quoted_scalar();
      default:
        return plain_scalar();
    }
  }

  Node quoted_scalar() {
    Node scalar = node(Node::Kind::kScalar);
    const char quote = text_[at_];
    const std::size_t end = text_.find_first_of(quote == '"' ? "\"\\\n" : "'\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] != quote) give_up();
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (!is_printable(inside)) give_up();
    scalar.scalar = inside;
    at_ = end + 1;
    if (quote == '\'' && peek() == '\'') give_up();  // two of them stand for one
    return scalar;
  }

  static bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  }

  // To the end of the line or to its comment.
  Node plain_scalar() {
    if (!is_word(peek()) || begins_item()) give_up();
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != '\n' && !(text_[end] == '#' && text_[end - 1] == ' ')) {
      const bool ends_key =
          text_[end] == ':' && (end + 1 == text_.size() || text_[end + 1] == ' ' || text_[end + 1] == '\n');
      if (ends_key) give_up();
      ++end;
    }
    return plain(end);
  }

  Node plain(std::size_t end) {
    Node scalar = node(Node::Kind::kScalar);
    while (text_[end - 1] == ' ') --end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (is_null(word) || !is_printable(word) || word.starts_with("---") || word.starts_with("...")) give_up();
    scalar.scalar = word;
    at_ = end;
    return scalar;
  }

  // Words with single spaces between them, which no mark of a flow can be taken for.
  Node flow_scalar() {
    if (peek() == '"' || peek() == '\'') return quoted_scalar();
    std::size_t end = at_;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == ' ')) ++end;
    if (!is_word(peek()) || begins_item()) give_up();
    return plain(end);
  }

  // Between the marks of a flow: to what comes next, if need be on another line that is not the block's margin.
  void within_flow() {
    to_content();
    if (at_ == text_.size() || column() == 0) give_up();
  }

  Node flow(int depth) {
    if (depth > kMaxYamlDepth) give_up();
    const bool is_map = text_[at_] == '{';
    Node made = node(is_map ? Node::Kind::kMap : Node::Kind::kList);
    const char closing = is_map ? '}' : ']';
    ++at_;
    within_flow();
    if (peek() == closing) {
      ++at_;
      return made;
    }
    while (true) {
      if (is_map) {
        const auto word = key();
        if (!word || peek(word->size() + 1) != ' ') give_up();
        add_key(made, *word);
        skip_spaces();
      }
      Node held = peek() == '[' || peek() == '{' ? flow(depth + 1) : flow_scalar();
      (is_map ? made.entries.back().value : made.items.emplace_back()) = std::move(held);
      skip_spaces();
      const char mark = peek();
      if (mark != ',' && mark != closing) give_up();
      ++at_;
      if (mark == closing) return made;
      if (peek() != ' ' && peek() != '\n') give_up();
      within_flow();
    }
  }

  static constexpr std::size_t kMostKey = 100;    // the library's is 1024 characters
  static constexpr std::size_t kMostKeys = 1000;  // each is looked for among those before it

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  std::size_t nodes_ = 0;
};

}  // namespace

std::optional<Node> read_plain_yaml(std::string_view text, const std::string& file_name) {
  try {
    return Reader(text, file_name).document();
  } catch (const NotPlain&) {
    return std::nullopt;
  }
}

}  // namespace foretrain
