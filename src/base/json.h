// Writes JSON: keys in the order they are given, numbers in the shortest form that reads back equal,
// two-space indentation. NaN and infinities become null, bytes that are not UTF-8 become U+FFFD. Same input,
// same bytes.
//   JsonWriter w; w.begin_object().key("step_s").value(1.5).end_object(); w.text()
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

// Of every answer in JSON. A key that is added leaves it; one that goes, or means something else, raises it.
inline constexpr int kAnswerVersion = 1;

class JsonWriter {
 public:
  // The object of an answer that a script reads: its first key says which form of answers it has (kAnswerVersion).
  JsonWriter& begin_answer();
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(double number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);  // and std::size_t
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& null();

  // The finished document with a trailing newline; every object and array must have been ended.
  std::string text() const;

 private:
  void before_value();
  void indent();
  std::string out_;
  struct Level {
    bool array;
    bool empty;
  };
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// A text as JSON writes it, between double quotes.
std::string json_text(std::string_view text);

}  // namespace foretrain
