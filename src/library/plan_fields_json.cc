#include "base/json.h"
#include "library/plan_columns.h"
#include "spec/plan_fields.h"

namespace foretrain {
namespace {

void put_words(JsonWriter& w, std::span<const std::string_view> words) {
  w.key("words").begin_array();
  for (const std::string_view word : words) w.value(word);
  w.end_array();
}

void put(JsonWriter& w, const WholeNumber& kind) {
  w.key("kind").value("whole").key("low").value(kind.low).key("high").value(kind.high);
}
void put(JsonWriter& w, const RealNumber& kind) {
  w.key("kind").value("real").key("low").value(kind.low).key("high").value(kind.high);
}
void put(JsonWriter& w, const Flag&) { w.key("kind").value("flag"); }
void put(JsonWriter& w, const OneOf& kind) {
  w.key("kind").value("word");
  put_words(w, kind.names);
}
// Words joined by +, of which a column brings those that it has.
void put(JsonWriter& w, const SomeOf& kind) {
  w.key("kind").value("words");
  put_words(w, kind.names);
}
void put(JsonWriter& w, const LoraModules&) {
  w.key("kind").value("words").key("words").begin_array();
  for (const LoraWord& word : kLoraWords) w.value(word.word);
  w.end_array();
}
void put(JsonWriter& w, const GraphScope&) {
  w.key("kind").value("words");
  put_words(w, kGraphModuleNames);
}
template <class Kind>
void put(JsonWriter& w, const Kind&) {
  w.key("kind").value("text");
}

}  // namespace

std::string plan_fields_json() {
  JsonWriter w;
  w.begin_array();
  for_each_field(kPlanFields, [&w](const auto& f) {
    w.begin_object().key("key").value(f.key);
    put(w, f.kind);
    w.key("meaning").value(f.words);
    if (!f.usual.empty()) w.key("usual").value(f.usual);
    if (!f.besides.empty()) w.key("besides").value(f.besides);
    w.end_object();
  });
  return w.end_array().text();
}

}  // namespace foretrain
