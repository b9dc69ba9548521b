#include "wire/request_keys.h"

#include <fmt/format.h>

#include "base/json_node.h"
#include "base/text.h"
#include "wire/base64.h"

namespace foretrain {
namespace {

constexpr const char* kRequest = "request";  // as places in it are called
constexpr std::size_t kMostContents = 64;

tl::unexpected<Error> wrong(const Node& node, const std::string& expected) {
  const std::string found = node.kind == Node::Kind::kNull ? "null"
                            : node.is_map()                ? "an object"
                            : node.is_list()               ? "a list"
                                                           : quoted(node.scalar);
  return fail(fmt::format("found {}, expected {}", found, expected), node.at);
}

// A scalar, or a list of them.
Result<std::string> joined(const Node& node, std::string_view separator, const std::string& expected) {
  if (node.is_scalar()) return node.scalar;
  if (!node.is_list()) return wrong(node, expected);
  std::vector<std::string> parts;
  for (const Node& item : node.items) {
    if (!item.is_scalar()) return wrong(item, expected);
    parts.push_back(item.scalar);
  }
  return join(parts, separator);
}

// {"text": ...} or {"base64": ...}, with a name or without.
bool is_upload(const Node& node) {
  return node.is_map() && (node.find("text") != nullptr || node.find("base64") != nullptr);
}

// A text that no name could be.
bool is_text(const std::string& scalar) {
  return scalar.find('\n') != std::string::npos || looks_like_json(scalar);
}

// Where the value that begins at `begin` ends: behind its last bracket.
std::size_t end_of(std::string_view text, std::size_t begin) {
  int depth = 0;
  bool quotes = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quotes) {
      if (c == '\\') ++i;
      quotes = c != '"';
      continue;
    }
    quotes = c == '"';
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

}  // namespace

std::string RequestKeys::slice(const Node& node) const {
  std::size_t begin = 0;
  for (int line = 1; line < node.at.line; ++line) begin = text_.find('\n', begin) + 1;
  begin += static_cast<std::size_t>(node.at.column - 1);
  std::string out(static_cast<std::size_t>(node.at.line - 1), '\n');
  out.append(static_cast<std::size_t>(node.at.column - 1), ' ');
  return out.append(text_.substr(begin, end_of(text_, begin) - begin));
}

Result<Source> RequestKeys::content_of(const Node& node, const std::string& name, bool inlined) const {
  if (node.is_scalar()) return Source{name, node.scalar};
  if (!node.is_map() || (!inlined && !is_upload(node)))
    return wrong(node, R"(a text, or {"name": ..., "text": ...})");
  if (!is_upload(node)) return Source{kRequest, slice(node)};
  TRY(node.only_keys({"name", "text", "base64"}));
  Source out{name, {}};
  if (const Node* given = node.find("name"); given != nullptr && given->is_scalar() && !given->scalar.empty())
    out.name = given->scalar;
  const Node* text = node.find("text");
  const Node* bytes = node.find("base64");
  if (text != nullptr && bytes != nullptr)
    return fail("found text and base64, expected one of them", node.at);
  if (text != nullptr && text->is_map() && inlined) {
    out.text = slice(*text);
  } else if (text != nullptr) {
    TRY_ASSIGN(out.text, text->text());
  } else {
    TRY_ASSIGN(const std::string coded, bytes->text());
    auto decoded = from_base64(coded);
    if (!decoded) return fail("base64: found signs that it does not have, or too few", bytes->at);
    out.text = *std::move(decoded);
  }
  return out;
}

void RequestKeys::word(const char* key, std::string& target, const char* help) {
  keys_.push_back({key, help, [&target](const Node& node) -> Result<void> {
                     TRY_ASSIGN(target, joined(node, ",", "a word or a number"));
                     return {};
                   }});
}

void RequestKeys::words(const char* key, std::vector<std::string>& target, const char* help) {
  keys_.push_back({key, help, [&target](const Node& node) -> Result<void> {
                     if (node.is_scalar()) target.push_back(node.scalar);
                     if (node.is_map()) return wrong(node, "a list of words");
                     for (const Node& item : node.items) {
                       if (!item.is_scalar()) return wrong(item, "a word");
                       target.push_back(item.scalar);
                     }
                     return {};
                   }});
}

void RequestKeys::flag(const char* key, bool& target, const char* help) {
  keys_.push_back({key, help, [&target](const Node& node) -> Result<void> {
                     TRY_ASSIGN(target, node.boolean());
                     return {};
                   }});
}

void RequestKeys::plan(const char* key, std::string& target, const char* help) {
  keys_.push_back({key, help, [&target](const Node& node) -> Result<void> {
                     if (!node.is_map()) {
                       TRY_ASSIGN(target,
                                  joined(node, ",", "a plan: \"tp=4,pp=2\" or {\"tp\": 4, \"pp\": 2}"));
                       return {};
                     }
                     std::vector<std::string> words;
                     for (const Node::Entry& entry : node.entries) {
                       if (entry.value.kind == Node::Kind::kNull) continue;
                       const bool of_stages = entry.key == "layers_per_stage" || entry.key == "bf16_layers";
                       TRY_ASSIGN(const std::string value,
                                  joined(entry.value, of_stages ? "-" : "+", "the value of a plan's key"));
                       words.push_back(entry.key + "=" + value);
                     }
                     target = join(words, ",");
                     return {};
                   }});
}

// Two contents of one name are two files: "config.json" of a model and of a cluster.
std::string RequestKeys::hold(const char* key, std::string name, std::string text) {
  while (files_.holds(name)) name = std::string(key) + "-" + name;
  files_.hold(name, std::move(text));
  return name;
}

void RequestKeys::spec(const char* key, std::string& target, const char* help) {
  keys_.push_back({key, help, [this, key, &target](const Node& node) -> Result<void> {
                     if (node.is_scalar() && !is_text(node.scalar)) {
                       target = node.scalar;
                       return {};
                     }
                     TRY_ASSIGN(Source source, content_of(node, key, true));
                     // A preset's name ends in no suffix, so what is held is never taken for one.
                     std::string name = source.name == kRequest ? key : file_name(source.name);
                     if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml"))
                       name += looks_like_json(source.text) ? ".json" : ".yaml";
                     target = hold(key, std::move(name), std::move(source.text));
                     return {};
                   }});
}

void RequestKeys::file(const char* key, std::string& target, const char* help) {
  keys_.push_back({key, help, [this, key, &target](const Node& node) -> Result<void> {
                     if (node.is_scalar() && !is_text(node.scalar)) {
                       target = node.scalar;
                       return {};
                     }
                     TRY_ASSIGN(Source source, content_of(node, key, true));
                     target = hold(key, std::string(key) + ".yaml", std::move(source.text));
                     return {};
                   }});
}

void RequestKeys::content(const char* key, std::optional<Source>& target, const char* help, bool inlined) {
  keys_.push_back({key, help, [this, key, &target, inlined](const Node& node) -> Result<void> {
                     TRY_ASSIGN(target, content_of(node, key, inlined));
                     return {};
                   }});
}

void RequestKeys::contents(const char* key, std::vector<Source>& target, const char* help, bool inlined) {
  keys_.push_back({key, help, [this, key, &target, inlined](const Node& node) -> Result<void> {
                     if (!node.is_list()) return wrong(node, "a list of contents");
                     if (node.items.size() > kMostContents)  // each is held with its place in the request
                       return fail(fmt::format("{}: found {} contents, expected at most {}", key,
                                               node.items.size(), kMostContents),
                                   node.at);
                     for (const Node& item : node.items) {
                       const std::string name = fmt::format("{} {}", key, target.size() + 1);
                       TRY_ASSIGN(Source source, content_of(item, name, inlined));
                       target.push_back(std::move(source));
                     }
                     return {};
                   }});
}

void RequestKeys::flags(const char* key, const std::vector<std::pair<const char*, bool*>>& targets,
                        const char* help) {
  keys_.push_back({key, help, [targets](const Node& node) -> Result<void> {
                     std::vector<std::string_view> names;
                     for (const auto& [name, target] : targets) names.emplace_back(name);
                     TRY(node.only_keys(names));
                     for (const auto& [name, target] : targets)
                       if (const Node* value = node.find(name)) {
                         TRY_ASSIGN(*target, value->boolean());
                       }
                     return {};
                   }});
}

Result<void> RequestKeys::read(std::string_view text, std::size_t max_bytes) {
  if (trim(text).empty()) return {};
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text_ = text;
  TRY_ASSIGN(const Node root, parse_json(text, kRequest, max_bytes));
  if (!root.is_map()) return wrong(root, "an object");
  std::vector<std::string_view> names;
  for (const Key& key : keys_) names.emplace_back(key.name);
  TRY(root.only_keys(names));
  for (const Key& key : keys_) {
    const Node* value = root.find(key.name);
    if (value == nullptr || value->kind == Node::Kind::kNull) continue;
    if (auto done = key.read(*value); !done) {
      if (done.error().field.empty()) done.error().field = key.name;
      return done;
    }
  }
  return {};
}

}  // namespace foretrain
