#include "spec/documents_text.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostTokens = 100'000'000;
constexpr std::size_t kMostDocuments = 100'000;

tl::unexpected<Error> refused(std::string_view found, const Position& at) {
  return fail(fmt::format("found {}, expected a mean length such as 512, or the lengths that fill a sequence "
                          "such as 4096+2048+2048 or 1024x8",
                          quoted(found)),
              at);
}

std::optional<std::int64_t> length_of(std::string_view word) {
  const auto tokens = parse_count(trim(word));
  if (!tokens || *tokens < 1 || *tokens > kMostTokens) return std::nullopt;
  return tokens;
}

// One length, or one that stands several times: "1024x8".
Result<void> add_lengths(std::string_view word, const Position& at, std::vector<std::int64_t>& out) {
  const std::size_t x = word.find('x');
  const auto tokens = length_of(word.substr(0, x));
  const auto times =
      x == std::string_view::npos ? std::optional<std::int64_t>(1) : parse_integer(trim(word.substr(x + 1)));
  if (!tokens || !times || *times < 1) return refused(trim(word), at);
  if (static_cast<std::size_t>(*times) > kMostDocuments - out.size())
    return fail(fmt::format("expected at most {} documents", kMostDocuments), at);
  out.insert(out.end(), static_cast<std::size_t>(*times), *tokens);
  return {};
}

}  // namespace

Result<Documents> parse_documents(const Node& node) {
  Documents documents;
  if (node.is_list()) {
    for (const Node& item : node.items) {
      TRY_ASSIGN(const std::string word, item.text());
      TRY(add_lengths(word, item.at, documents.lengths));
    }
    if (documents.lengths.empty()) return refused("[]", node.at);
    return documents;
  }
  TRY_ASSIGN(const std::string text, node.text());
  if (text.find_first_of("+x") == std::string::npos) {
    const auto mean = length_of(text);
    if (!mean) return refused(text, node.at);
    documents.mean = static_cast<double>(*mean);
    return documents;
  }
  for (const std::string_view word : split(text, '+')) TRY(add_lengths(word, node.at, documents.lengths));
  return documents;
}

Result<Documents> parse_documents(const std::string& word) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = word;
  return parse_documents(node);
}

std::string to_text(const Documents& documents) {
  if (documents.mean > 0) return fmt::format("{}", documents.mean);
  std::string out;
  for (std::size_t i = 0, end = 0; i < documents.lengths.size(); i = end) {
    while (end < documents.lengths.size() && documents.lengths[end] == documents.lengths[i]) ++end;
    out += fmt::format("{}{}", i == 0 ? "" : "+", documents.lengths[i]);
    if (end - i > 1 || documents.lengths.size() == 1) out += fmt::format("x{}", end - i);
  }
  return out;
}

}  // namespace foretrain
