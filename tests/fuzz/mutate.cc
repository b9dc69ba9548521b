#include "mutate.h"

#include <algorithm>

namespace foretrain {
namespace {

// clang-format off
constexpr std::string_view kNumbers[] = {
    "0", "1", "2", "3", "4", "7", "8", "12", "16", "64", "96", "128", "1000", "1024", "4096", "10000",
    "65536", "1000000", "10000000", "100000000", "1000000000", "2147483648", "9223372036854775807",
    "99999999999999999999", "-1", "-0", "+5", "0.001", "0.5", "0.99", "1.0", "1e-300", "1e-3", "1e5",
    "1e6", "1e9", "1e15", "1e300", "1e999", "nan", "-inf", "0x10", "1_000", "1,000", "1.5.2"};
constexpr std::string_view kPieces[] = {
    "\n", "\t", "\r", "  ", "- ", ": ", ":", "{", "}", "[", "]", ",", ";", "#", "'", "\"", "|", ">", "=",
    "..", "/", "%", "@", "~", "&a ", "*a", "!!t ", "? ", "<<: ", "---\n", "...\n", "null", "true", "no",
    "\\n", "\"\\0\"", "; failure=oom", "\x01", "\x7f", "\xff", "\xc3", "\xc3\xa9", "\xe2\x80\xa8",
    "\xef\xbb\xbf"};
// clang-format on

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

struct Span {
  std::size_t begin = 0, size = 0;
};

std::vector<Span> spans_of(std::string_view text, bool digits_only) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t begin = i;
    bool digits = true;
    for (; i < text.size() && is_word(text[i]); ++i)
      digits = digits && ((text[i] >= '0' && text[i] <= '9') || text[i] == '.');
    if (i > begin && (digits || !digits_only)) spans.push_back({begin, i - begin});
  }
  return spans;
}

Span line_at(std::string_view text, std::size_t at) {
  const std::size_t before = text.substr(0, at).rfind('\n');
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
  return {begin, end + 1 - begin};
}

void mutate_number(std::string& text, Random& random) {
  const std::vector<Span> numbers = spans_of(text, true);
  if (numbers.empty()) return;
  const Span number = random.pick(numbers);
  text.replace(number.begin, number.size, random.pick(kNumbers));
}

void mutate_word(std::string& text, std::span<const std::string> words, Random& random) {
  const std::vector<Span> spans = spans_of(text, false);
  if (spans.empty() || words.empty()) return;
  const Span word = random.pick(spans);
  text.replace(word.begin, word.size, random.pick(words));
}

void mutate_line(std::string& text, Random& random) {
  const Span line = line_at(text, random.below(text.size()));
  const std::string copy = text.substr(line.begin, line.size);
  switch (random.below(4)) {
    case 0:
      text.erase(line.begin, line.size);
      break;
    case 1:
      text.insert(line.begin, copy);
      break;
    case 2:
      text.insert(line.begin, std::string(1 + random.below(3), ' '));
      break;
    default:
      text.erase(line.begin, line.size);
      text.insert(text.empty() ? 0 : line_at(text, random.below(text.size())).begin, copy);
  }
}

void mutate_bytes(std::string& text, Random& random) {
  const std::size_t at = random.below(text.size());
  switch (random.below(5)) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
      break;
    case 1:
      text.erase(at, 1 + random.below(random.one_in(4) ? 100 : 4));
      break;
    case 2:
      text.insert(at, text.substr(random.below(text.size()), 1 + random.below(40)));
      break;
    case 3:
      text.insert(at, std::string(1 + random.below(200), text[at]));
      break;
    default:
      text.insert(at, random.pick(kPieces));
  }
}

}  // namespace

std::string mutated(std::string text, std::span<const std::string> words, Random& random) {
  for (std::size_t changes = random.one_in(2) ? 1 : 1 + random.below(4); changes > 0 && !text.empty();
       --changes) {
    const std::size_t kind = random.below(10);
    if (kind < 4) {
      mutate_number(text, random);
    } else if (kind < 6) {
      mutate_word(text, words, random);
    } else if (kind < 8) {
      mutate_line(text, random);
    } else {
      mutate_bytes(text, random);
    }
  }
  return text;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const Span span : spans_of(text, false)) words.emplace_back(text.substr(span.begin, span.size));
  return words;
}

}  // namespace foretrain
