#include "formats/pipeline_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace foretrain {

namespace {

constexpr std::size_t kMostLetters = 100'000;  // written out

// Writes repetitions out: "t*2|" becomes "tt|".
class Expander {
 public:
  explicit Expander(std::string_view letters) : rest_(letters) {}

  Result<std::string> expand() {
    TRY_ASSIGN(std::string out, sequence());
    if (!rest_.empty()) return fail(fmt::format("pp_layout: found {} without a bracket", quoted(rest_)));
    return out;
  }

 private:
  Result<std::string> sequence() {
    std::string out;
    while (!rest_.empty() && rest_.front() != ')') {
      TRY_ASSIGN(const std::string item, repeated());
      out += item;
      if (out.size() > kMostLetters) return fail("pp_layout: more than 100,000 letters");
    }
    return out;
  }

  Result<std::string> repeated() {
    TRY_ASSIGN(const std::string once, one());
    if (rest_.empty() || rest_.front() != '*') return once;
    rest_.remove_prefix(1);
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto times = parse_integer(rest_.substr(0, digits));
    rest_.remove_prefix(digits);
    if (!times || static_cast<std::size_t>(*times) > kMostLetters / std::max<std::size_t>(1, once.size()))
      return fail("pp_layout: expected a count after '*'");
    std::string out;
    for (std::int64_t i = 0; i < *times; ++i) out += once;
    return out;
  }

  Result<std::string> one() {
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    if (letter == ',' || letter == ' ') return std::string();  // for the eye alone
    if (letter != '(') {
      if (std::string_view("EtmL|").find(letter) == std::string_view::npos)
        return fail(
            fmt::format("pp_layout: found {}, expected E, t, m, L or |", quoted(std::string(1, letter))));
      return std::string(1, letter);
    }
    if (++depth_ > 8) return fail("pp_layout: more than 8 brackets inside each other");
    TRY_ASSIGN(std::string group, sequence());
    if (rest_.empty()) return fail("pp_layout: a bracket is not closed");
    rest_.remove_prefix(1);
    --depth_;
    return group;
  }

  std::string_view rest_;
  int depth_ = 0;
};

Result<std::vector<std::int64_t>> counted(const std::vector<std::string_view>& parts) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    if (parts[i].find('m') != std::string_view::npos)
      return fail("not modelled yet: multi-token prediction apart from the loss");
  std::vector<std::int64_t> layers;
  for (const std::string_view part : parts) layers.push_back(std::count(part.begin(), part.end(), 't'));
  return layers;
}

}  // namespace

Result<std::vector<std::int64_t>> layers_of_layout(std::string_view letters) {
  TRY_ASSIGN(const std::string written, Expander(letters).expand());
  return counted(split(written, '|'));
}

Result<std::vector<std::int64_t>> layers_of_layout(std::string_view letters, std::int64_t chunks) {
  TRY_ASSIGN(const std::string written, Expander(letters).expand());
  std::vector<std::string_view> parts = split(written, '|');
  if (static_cast<std::int64_t>(parts.size()) != chunks) std::erase(parts, std::string_view());
  if (static_cast<std::int64_t>(parts.size()) != chunks)
    return fail(fmt::format("pp_layout has {} chunks, but pp and vpp make {}", parts.size(), chunks));
  return counted(parts);
}

std::string layout_of_layers(std::span<const std::int64_t> layers, std::int64_t mtp_layers) {
  const auto some = [](char letter, std::int64_t count) {
    if (count == 0) return std::string();
    return count == 1 ? std::string(1, letter) : fmt::format("{}*{}", letter, count);
  };
  std::string out = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) out += (i == 0 ? "" : "|") + some('t', layers[i]);
  return out + some('m', mtp_layers) + "L";
}

Result<std::vector<std::int64_t>> layers_beside_ends(std::int64_t layers, std::int64_t chunks) {
  const std::int64_t each = (layers + 2) / chunks;
  if (chunks < 2 || each * chunks != layers + 2)
    return fail(
        fmt::format("pp_layout: {} layers, embedding and loss do not divide over {} chunks", layers, chunks));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(chunks), each);
  --counts.front();
  --counts.back();
  return counts;
}

}  // namespace foretrain
