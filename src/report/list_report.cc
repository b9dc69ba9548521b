#include "report/list_report.h"

#include "base/json.h"
#include "base/text.h"
#include "report/table.h"

namespace foretrain {

std::string list_text(const ListReport& report) {
  Table table({Align::kLeft, Align::kLeft});
  for (const ListEntry& entry : report.entries) table.add({printable(entry.name), entry.line});
  return table.text("");
}

std::string list_json(const ListReport& report) {
  JsonWriter w;
  w.begin_answer().key(report.kind).begin_array();
  for (const ListEntry& entry : report.entries) {
    w.begin_object().key("name").value(entry.name);
    for (const auto& [key, fact] : entry.facts) {
      w.key(key);
      std::visit([&w](const auto& value) { w.value(value); }, fact);
    }
    w.end_object();
  }
  w.end_array().end_object();
  return w.text();
}

}  // namespace foretrain
