#include "wire/error_json.h"

#include <algorithm>

#include "base/field_mark.h"
#include "base/json.h"
#include "base/text.h"

namespace foretrain {
namespace {

std::string_view word(ErrorKind kind) {
  if (kind == ErrorKind::kFault) return "fault";
  return kind == ErrorKind::kMachine ? "machine" : "input";
}

}  // namespace

std::string key_of_field(std::string_view field) {
  if (field == "trace" || field == "html" || field == "chart") return "views";
  if (field == "file") return "run";
  return std::string(field);
}

std::string option_of_field(std::string_view field) {
  std::string option = "--" + std::string(field);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

std::string error_json(const Error& error) {
  JsonWriter w;
  const auto text = [&w](const char* key, const std::string& value) {
    w.key(key);
    value.empty() ? w.null() : w.value(std::string_view(value));
  };
  const auto number = [&w](const char* key, int value) {
    w.key(key);
    value == 0 ? w.null() : w.value(value);
  };
  w.begin_object().key("error").begin_object();
  w.key("message").value(std::string_view(
      printable(error.kind == ErrorKind::kFault ? error.message : message_of(error, key_of_field))));
  text("field", error.field.empty() ? "" : key_of_field(error.field));
  text("file", error.at.file);
  number("line", error.at.line);
  number("column", error.at.column);
  w.key("kind").value(word(error.kind));
  w.end_object().end_object();
  return w.text();
}

}  // namespace foretrain
