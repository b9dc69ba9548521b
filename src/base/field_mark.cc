#include "base/field_mark.h"

#include <utility>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr char kBegin = '\x0e', kEnd = '\x0f';  // ASCII's "shift out" and "shift in"

}  // namespace

std::string marked(std::string_view field) { return kBegin + std::string(field) + kEnd; }

std::string spelled(std::string_view text, const FieldWords& words) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find(kBegin), end = text.find(kEnd, begin == text.npos ? 0 : begin);
    if (begin == text.npos || end == text.npos) return out.append(text);
    out.append(text.substr(0, begin)).append(words(text.substr(begin + 1, end - begin - 1)));
    text.remove_prefix(end + 1);
  }
}

std::string message_of(const Error& error, const FieldWords& words) {
  const std::string message = spelled(error.message, words);
  const bool names_itself = error.message.find(marked(error.field)) != std::string::npos;
  if (!error.at.file.empty() || error.field.empty() || names_itself) return message;
  return words(error.field) + ": " + message;
}

std::string text_of(const Error& error, const FieldWords& words) {
  if (error.kind == ErrorKind::kFault) return printable(error.message);
  const Position& at = error.at;
  std::string place = at.file.empty() ? "foretrain" : printable(at.file);
  if (!at.file.empty() && at.line > 0) {
    place += ':' + std::to_string(at.line);
    if (at.column > 0) place += ':' + std::to_string(at.column);
  }
  return place + ": error: " + printable(message_of(error, words));
}

tl::unexpected<Error> in_field(std::string_view field, Error error) {
  if (!error.at.file.empty()) return tl::unexpected(std::move(error));
  if (!error.field.empty()) error.message = marked(error.field) + ": " + error.message;
  error.field = field;
  return tl::unexpected(std::move(error));
}

}  // namespace foretrain
