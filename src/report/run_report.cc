#include "report/run_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml_text.h"
#include "report/model_report.h"

namespace foretrain {
namespace {

std::string scalar_text(const std::string& scalar) {
  const bool plain = !scalar.empty() && scalar.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789.+-_/") == std::string::npos;
  return plain && scalar.front() != '-' ? scalar : yaml_quoted(scalar);
}

void write_yaml(const Node& node, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const auto& [key, value] : node.entries) {
    out += indent + key + ":";
    if (value.is_scalar()) {
      out += " " + scalar_text(value.scalar) + "\n";
    } else if (value.is_map() && value.entries.empty()) {
      out += " {}\n";
    } else if (value.is_map()) {
      out += "\n";
      write_yaml(value, depth + 1, out);
    } else if (value.is_list()) {
      out += "\n";
      for (const Node& item : value.items) {
        if (item.is_scalar()) {
          out += indent + "  - " + scalar_text(item.scalar) + "\n";
          continue;
        }
        std::string lines;
        write_yaml(item, depth + 2, lines);
        lines.replace(static_cast<std::size_t>(2 * depth + 2), 1, "-");
        out += lines;
      }
    } else {
      out += "\n";
    }
  }
}

void write_list(JsonWriter& w, std::string_view key, const std::vector<std::string>& items) {
  w.key(key).begin_array();
  for (const std::string& item : items) w.value(item);
  w.end_array();
}

void write_model(JsonWriter& w, const UnderstoodRun& run) {
  const Node* stated = run.run.find("model");
  w.key("model");
  if (stated == nullptr) {
    w.null();
    return;
  }
  if (run.model) {
    write_model_facts(w.begin_object(), *run.model, 0);
    w.end_object();
  } else if (stated->is_map()) {
    write_node(w, *stated);
  } else {
    w.begin_object().key("name").value(stated->scalar).end_object();
  }
}

}  // namespace

std::string run_text(const UnderstoodRun& run) {
  std::string out = "# " + printable(run.format) + "\n";
  write_yaml(run.run, 0, out);
  for (const std::string& words : run.contradictions) out += "# contradiction: " + printable(words) + "\n";
  for (const auto& [flag, what] : run.not_modelled)
    out += fmt::format("# {} changes {} and is not modelled\n", printable(flag), what);
  for (const std::string& words : run.assumed) out += "# assumed: " + printable(words) + "\n";
  for (const std::string& flag : run.unknown_flags) out += "# not known: " + printable(flag) + "\n";
  return out;
}

std::string run_json(const UnderstoodRun& run) {
  JsonWriter w;
  w.begin_answer().key("format").value(run.format);
  write_model(w, run);
  for (const std::string_view key : {"plan", "seq", "global_batch", "gpus", "stack"}) {
    w.key(key);
    if (const Node* node = run.run.find(key))
      write_node(w, *node);
    else
      w.null();
  }
  write_list(w, "unknown_flags", run.unknown_flags);
  w.key("not_modelled").begin_array();
  for (const auto& [flag, what] : run.not_modelled)
    w.begin_object().key("flag").value(flag).key("changes").value(what).end_object();
  w.end_array();
  write_list(w, "contradictions", run.contradictions);
  write_list(w, "assumed", run.assumed);
  w.end_object();
  return w.text();
}

}  // namespace foretrain
