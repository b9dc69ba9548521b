// Typed readings of a Node: each either gives the value or says what stands there instead.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "base/yaml.h"

namespace foretrain {
namespace {

tl::unexpected<Error> mismatch(const Node& node, std::string_view expected) {
  std::string found;
  switch (node.kind) {
    case Node::Kind::kNull:
      found = "nothing";
      break;
    case Node::Kind::kScalar:
      found = quoted(node.scalar);
      break;
    case Node::Kind::kList:
      found = "a list";
      break;
    case Node::Kind::kMap:
      found = "a map";
      break;
  }
  return fail(fmt::format("found {}, expected {}", found, expected), node.at);
}

// "a number from 0 to 1", "a number of at least 0", "a number": a bound that bounds nothing is left out.
template <class Number>
std::string bounded(std::string_view noun, Number low, Number high) {
  using Limits = std::numeric_limits<Number>;
  const bool from = low > Limits::lowest(), to = high < Limits::max();
  if (from && to) return fmt::format("{} from {} to {}", noun, low, high);
  if (from) return fmt::format("{} of at least {}", noun, low);
  if (to) return fmt::format("{} of at most {}", noun, high);
  return std::string(noun);
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, node] : entries) {
    if (name == key) return &node;
  }
  return nullptr;
}

Result<std::string> Node::text() const {
  if (!is_scalar()) return mismatch(*this, "text");
  return scalar;
}

Result<std::int64_t> Node::integer(std::int64_t low, std::int64_t high) const {
  const auto number = is_scalar() ? parse_integer(scalar) : std::nullopt;
  if (!number || *number < low || *number > high)
    return mismatch(*this, bounded("a whole number", low, high));
  return *number;
}

Result<double> Node::number(double low, double high) const {
  const auto number = is_scalar() ? parse_number(scalar) : std::nullopt;
  if (!number || *number < low || *number > high) return mismatch(*this, bounded("a number", low, high));
  return *number;
}

Result<bool> Node::boolean() const {
  if (is_scalar()) {
    for (const char* word : {"true", "1", "yes", "on"}) {
      if (scalar == word) return true;
    }
    for (const char* word : {"false", "0", "no", "off"}) {
      if (scalar == word) return false;
    }
  }
  return mismatch(*this, "true or false");
}

Result<void> Node::only_keys(std::span<const std::string_view> allowed) const {
  if (!is_map()) return mismatch(*this, "a map");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& key = entries[i].key;
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const std::vector<std::string> names(allowed.begin(), allowed.end());
    return fail(fmt::format("unknown key {}{}", quoted(key), suggestion(key, names)), key_at[i]);
  }
  return {};
}

}  // namespace foretrain
