// Wraps yaml-cpp 0.7. Its event interface is used, not its tree: a limit stops the parser before anything is
// built. Text that is plain (plain_yaml.h) never comes to it. What yaml-cpp does not bear is kept from it by refuse_early(), which reads the bytes alone.
#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <tuple>
#include <unordered_set>

#include "base/plain_yaml.h"
#include "base/text.h"
#include "base/utf8.h"

namespace foretrain {
namespace {

// yaml-cpp tokenises to the end of the outermost bracket before its parser sees the first token, so a file of
// brackets costs 250 bytes of memory a byte. Brackets in comments and quotes are counted too: hence far above
// kMaxYamlDepth, which the events then enforce exactly.
constexpr int kMaxOpenBrackets = 1000;

// yaml-cpp takes byte 4 for the end of the file, guesses UTF-16 from NUL bytes, and passes malformed UTF-8
// on: so the text must be UTF-8 without control characters.
Result<void> refuse_early(std::string_view text, const std::string& file) {
  if (text.size() > kMaxYamlBytes) {
    return fail(fmt::format("found {} bytes, expected at most {}", text.size(), kMaxYamlBytes),
                Position{file});
  }
  Position at{file, 1, 1};
  int open_brackets = 0;
  while (!text.empty()) {
    const char c = text.front();
    const bool ascii = c >= ' ' && c <= '~';
    const std::size_t length = ascii ? 1 : utf8_length(text);
    const bool space = c == '\t' || c == '\n' || c == '\r';
    if (!ascii && (length == 0 || (length <= 2 && !space && !utf8_printable(text.substr(0, length))))) {
      const auto byte = static_cast<unsigned char>(c);
      return fail(length == 0 ? fmt::format("found byte 0x{:02x}, expected UTF-8 text", byte)
                              : fmt::format("found control character {}, expected text",
                                            quoted(text.substr(0, length))),
                  at);
    }
    if (c == '[' || c == '{') ++open_brackets;
    if ((c == ']' || c == '}') && open_brackets > 0) --open_brackets;
    if (open_brackets > kMaxOpenBrackets) {
      return fail(fmt::format("found over {} open brackets, expected nesting of at most {}", kMaxOpenBrackets,
                              kMaxYamlDepth),
                  at);
    }
    at.column += static_cast<int>(length);
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    }
    text.remove_prefix(length);
  }
  return {};
}

// Thrown by the event handler: the only way to make yaml-cpp stop.
struct Refused {
  Error error;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  // The document's node, if there was a document.
  bool found_root() const { return found_root_; }
  Node take_root() { return std::move(root_); }

  // The list or map that was being read when the parser stopped; null where none.
  const Node* innermost() const { return open_.empty() ? nullptr : &open_.back().node; }

  Position position(const YAML::Mark& mark) const {
    return mark.is_null() ? Position{file_} : Position{file_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp also calls so what follows a finished value ("[a] b"), and calls it for ever on some of that.
    if (found_root_) refuse("found text after the end of the document, expected one document", mark);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (expects_key()) refuse("found nothing, expected a key", mark);
    Node node = begin_node(Node::Kind::kNull, mark);
    // A missing value is reported where the next token stands, maybe lines below: its key is the better
    // place.
    if (!open_.empty() && open_.back().node.is_map() && open_.back().key_at.line != node.at.line) {
      node.at = open_.back().key_at;
    }
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse("found an alias ('*'), expected plain data; aliases are not supported", mark);
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    refuse("found an anchor ('&'), expected plain data; anchors are not supported", mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    refuse_tag(tag, mark);
    refuse_control_characters(value, mark);
    refuse_open_quote(mark);
    Node node = begin_node(Node::Kind::kScalar, mark);
    if (expects_key()) return set_key(value, std::move(node.at));
    node.scalar = value;
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, tag, mark);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, tag, mark);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map whose end has not come yet.
  struct Open {
    Node node;
    std::unordered_set<std::string> keys;
    std::string key;  // read, its value is still to come
    Position key_at;
    bool has_key = false;
  };

  [[noreturn]] void refuse(std::string message, const YAML::Mark& mark) const {
    throw Refused{{std::move(message), position(mark)}};
  }

  // Plain scalars and all maps and lists come with "?", quoted scalars with "!".
  void refuse_tag(const std::string& tag, const YAML::Mark& mark) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(fmt::format("found tag {}, expected plain data; tags are not supported", quoted(tag)), mark);
  }

  // The file has none, but "\0" or "\e" in double quotes make them.
  // yaml-cpp takes the rest of the file for what a quote opens that nothing closes.
  void refuse_open_quote(const YAML::Mark& mark) const {
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
    const char quote = text_[at];
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '"' || i + 1 == text_.size() || text_[i + 1] != quote) return;
        ++i;
      }
    }
    refuse(fmt::format("found a quote {} that nothing closes, opened here", quote), mark);
  }

  void refuse_control_characters(std::string_view value, const YAML::Mark& mark) const {
    for (std::size_t i = 0; i < value.size();) {
      const std::size_t length = utf8_length(value.substr(i));
      const bool space = value[i] == '\t' || value[i] == '\n';
      if (length == 0 || (length <= 2 && !space && !utf8_printable(value.substr(i, length)))) {
        refuse(fmt::format("found a control character in {}, expected text", quoted(value)), mark);
      }
      i += length;
    }
  }

  bool expects_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key; }

  Node begin_node(Node::Kind kind, const YAML::Mark& mark) {
    if (++node_count_ > kMaxYamlNodes) {
      refuse(fmt::format("found more than {} keys and values, expected at most that", kMaxYamlNodes), mark);
    }
    Node node;
    node.kind = kind;
    node.at = position(mark);
    return node;
  }

  void open(Node::Kind kind, const std::string& tag, const YAML::Mark& mark) {
    refuse_tag(tag, mark);
    if (expects_key()) {
      refuse(fmt::format("found a {} as a key, expected text; check the brackets",
                         kind == Node::Kind::kMap ? "map" : "list"),
             mark);
    }
    if (open_.size() == kMaxYamlDepth) {
      refuse(fmt::format("found more than {} levels of nesting, expected at most that", kMaxYamlDepth), mark);
    }
    open_.emplace_back().node = begin_node(kind, mark);
  }

  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void set_key(const std::string& key, Position at) {
    Open& map = open_.back();
    if (!map.keys.insert(key).second) {
      std::size_t first = 0;
      while (map.node.entries[first].key != key) ++first;
      throw Refused{{fmt::format("duplicate key {}; it already stands on line {}", quoted(key),
                                 map.node.key_at[first].line),
                     std::move(at)}};
    }
    map.key = key;
    map.key_at = std::move(at);
    map.has_key = true;
  }

  void add(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      found_root_ = true;
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_list()) {
      parent.node.items.push_back(std::move(node));
    } else {
      parent.node.entries.emplace_back(std::move(parent.key), std::move(node));
      parent.node.key_at.push_back(std::move(parent.key_at));
      parent.has_key = false;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Open> open_;
  std::size_t node_count_ = 0;
  Node root_;
  bool found_root_ = false;
};

// yaml-cpp says "illegal map value" and the like; the frequent ones in terms of what to mend.
std::string in_our_words(const std::string& complaint) {
  namespace Msg = YAML::ErrorMsg;
  if (complaint == Msg::MAP_VALUE)
    return "found ':' where no key can stand; check the indentation and quotes";
  if (complaint == Msg::END_OF_MAP)
    return "expected the next key; check the indentation, brackets and quotes";
  if (complaint == Msg::END_OF_SEQ) return "expected the next '- '; check the indentation";
  if (complaint == Msg::FLOW_END) return "found a closing bracket that nothing opened";
  if (complaint == Msg::EOF_IN_SCALAR) return "found the end of the file, expected a closing quote";
  if (complaint == Msg::UNKNOWN_TOKEN)
    return "found a character that begins no value, expected text in quotes";
  if (complaint == Msg::UNKNOWN_ANCHOR) {
    return "found an alias ('*'), expected plain data; aliases are not supported";
  }
  return "not valid YAML: " + printable(complaint);
}

tl::unexpected<Error> explain(const YAML::Exception& error, const TreeBuilder& builder) {
  Position at = builder.position(error.mark);
  const bool map = error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW;
  if ((map || error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW) && builder.innermost() != nullptr) {
    // At the end of the file yaml-cpp may name an earlier place: then the open bracket is the one to show.
    const Position& begin = builder.innermost()->at;
    if (std::tie(at.line, at.column) < std::tie(begin.line, begin.column)) at = begin;
    return fail(fmt::format("expected ',' or '{}' to end the {} that begins on line {}, column {}",
                            map ? '}' : ']', map ? "map" : "list", begin.line, begin.column),
                at);
  }
  return fail(in_our_words(error.msg), at);
}

}  // namespace

Result<Node> parse_yaml(std::string_view text, std::string file_name) {
  TRY(refuse_early(text, file_name));
  if (auto plain = read_plain_yaml(text, file_name)) return *std::move(plain);
  return parse_yaml_by_library(text, file_name);
}

Result<Node> parse_yaml_by_library(std::string_view text, const std::string& file_name) {
  TRY(refuse_early(text, file_name));
  TreeBuilder builder(text, file_name);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (Refused& refused) {
    return tl::unexpected(std::move(refused.error));
  } catch (const YAML::Exception& error) {
    return explain(error, builder);
  } catch (const std::exception& error) {
    return fail(std::string("not valid YAML: ") + error.what(), Position{file_name});
  }
  Node root = builder.take_root();
  if (!builder.found_root() || root.kind == Node::Kind::kNull) {
    return fail("found nothing, expected a map", Position{file_name, 1, 1});
  }
  return root;
}

}  // namespace foretrain
