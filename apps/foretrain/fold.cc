#include "fold.h"

#include <algorithm>

namespace foretrain {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

// Of a word that is wider than a line, what a line takes.
std::string_view piece_of(std::string_view word, std::size_t room) {
  const std::string_view most = first_places(word, room);
  if (most.size() == word.size()) return word;
  for (const char mark : {',', ';', '|', '/', '+'}) {
    const std::size_t cut = most.rfind(mark);
    if (cut != std::string_view::npos && cut > 0) return word.substr(0, cut + 1);
  }
  return most;
}

}  // namespace

std::size_t places(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string_view first_places(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  while (end < text.size() && (count > 0 || continues(text[end]))) {
    if (!continues(text[end])) --count;
    ++end;
  }
  return text.substr(0, end);
}

std::string folded(std::string_view text, std::size_t at, std::size_t indent, std::size_t width) {
  constexpr std::size_t kLeast = 12;  // a line holds so much, however narrow it should be
  const std::size_t end = std::max(width, indent + kLeast);
  std::string out;
  bool begun = false;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    while (!word.empty()) {
      const std::size_t gap = begun ? 1 : 0;
      const bool long_word = indent + places(word) > end;
      if (at + gap + places(word) > end && begun && (!long_word || at + gap + kLeast > end)) {
        out += '\n' + std::string(indent, ' ');
        at = indent;
        begun = false;
        continue;
      }
      const std::string_view piece = piece_of(word, std::max(end - std::min(end, at + gap), std::size_t{1}));
      if (begun) out += ' ';
      out += piece;
      at += gap + places(piece);
      begun = true;
      word.remove_prefix(piece.size());
      if (word.empty()) break;
      out += '\n' + std::string(indent, ' ');
      at = indent;
      begun = false;
    }
  }
  return out;
}

}  // namespace foretrain
