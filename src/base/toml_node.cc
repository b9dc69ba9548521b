#include "base/toml_node.h"

#include <fmt/format.h>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace foretrain {
namespace {

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  Result<Node> node(const toml::node& from, int depth) {
    Node out;
    const toml::source_region& where = from.source();
    out.at = {file_, static_cast<int>(where.begin.line), static_cast<int>(where.begin.column)};
    if (depth > kMaxYamlDepth)
      return fail(fmt::format("nested more than {} levels deep", kMaxYamlDepth), out.at);
    if (++nodes_ > kMaxYamlNodes)
      return fail(fmt::format("more than {} keys and values", kMaxYamlNodes), out.at);
    if (const toml::table* table = from.as_table()) {
      out.kind = Node::Kind::kMap;
      for (const auto& [key, value] : *table) {
        TRY_ASSIGN(Node child, node(value, depth + 1));
        out.key_at.push_back(child.at);
        out.entries.emplace_back(std::string(key.str()), std::move(child));
      }
      return out;
    }
    if (const toml::array* list = from.as_array()) {
      out.kind = Node::Kind::kList;
      for (const toml::node& value : *list) {
        TRY_ASSIGN(Node child, node(value, depth + 1));
        out.items.push_back(std::move(child));
      }
      return out;
    }
    out.kind = Node::Kind::kScalar;
    if (const auto text = from.value_exact<std::string>())
      out.scalar = *text;
    else if (const auto whole = from.value_exact<std::int64_t>())
      out.scalar = std::to_string(*whole);
    else if (const auto truth = from.value_exact<bool>())
      out.scalar = *truth ? "true" : "false";
    else if (const auto number = from.value_exact<double>())
      out.scalar = fmt::format("{}", *number);
    else
      out.scalar = "a date";
    return out;
  }

 private:
  const std::string& file_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<Node> parse_toml(std::string_view text, std::string file_name) {
  if (text.size() > kMaxYamlBytes)
    return fail(fmt::format("larger than {} bytes", kMaxYamlBytes), {std::move(file_name), 0, 0});
  try {
    const toml::table table = toml::parse(text, file_name);
    return Converter(file_name).node(table, 0);
  } catch (const toml::parse_error& error) {
    const auto& where = error.source().begin;
    return fail(std::string(error.description()),
                {std::move(file_name), static_cast<int>(where.line), static_cast<int>(where.column)});
  }
}

}  // namespace foretrain
