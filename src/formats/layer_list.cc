#include "formats/layer_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostLayers = 10'000;

// list := term ('+' term)*;  term := ('[' digits ']' | '(' list ')') ('*' number)*
class ListReader {
 public:
  explicit ListReader(std::string_view text) : rest_(text) {}

  std::optional<std::string> read() {
    auto out = sum(0);
    return out && rest_.empty() ? out : std::nullopt;
  }

 private:
  bool eat(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> sum(int depth) {
    auto out = term(depth);
    while (out && eat('+')) {
      const auto more = term(depth);
      if (!more || out->size() + more->size() > kMostLayers) return std::nullopt;
      *out += *more;
    }
    return out;
  }

  std::optional<std::string> term(int depth) {
    std::optional<std::string> once;
    if (depth > 8) return once;
    if (eat('(')) {
      once = sum(depth + 1);
      if (!once || !eat(')')) return std::nullopt;
    } else {
      once = items();
      if (!once) return once;
    }
    while (eat('*')) {
      const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const auto times = parse_integer(rest_.substr(0, end));
      rest_.remove_prefix(end);
      if (!times || *times < 0 || once->size() * static_cast<std::size_t>(*times) > kMostLayers ||
          static_cast<std::size_t>(*times) > kMostLayers)
        return std::nullopt;
      std::string many;
      for (std::int64_t i = 0; i < *times; ++i) many += *once;
      once = std::move(many);
    }
    return once;
  }

  // [0,1,1]
  std::optional<std::string> items() {
    if (!eat('[')) return std::nullopt;
    std::string out;
    while (!rest_.empty() && (rest_.front() == '0' || rest_.front() == '1')) {
      out += rest_.front();
      rest_.remove_prefix(1);
      eat(',');
    }
    if (!eat(']')) return std::nullopt;
    return out;
  }

  std::string_view rest_;
};

// "00011" by its runs.
std::string runs_of(std::string_view layers) {
  std::string out;
  for (std::size_t i = 0; i < layers.size();) {
    const std::size_t end = std::min(layers.find_first_not_of(layers[i], i), layers.size());
    out += fmt::format("{}[{}]", out.empty() ? "" : "+", layers[i]);
    if (end - i > 1) out += fmt::format("*{}", end - i);
    i = end;
  }
  return out;
}

}  // namespace

std::optional<std::string> layers_in_list(std::string_view list) {
  std::string plain(list);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '\'' || c == '"'; });
  return ListReader(plain).read();
}

std::string list_of_layers(std::string_view layers) {
  for (std::size_t period = 1; period < layers.size(); ++period) {
    if (layers.size() % period != 0 || layers.substr(period) != layers.substr(0, layers.size() - period))
      continue;
    return fmt::format("({})*{}", runs_of(layers.substr(0, period)), layers.size() / period);
  }
  return fmt::format("({})", runs_of(layers));
}

}  // namespace foretrain
