#include "report/row_check_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace foretrain {
namespace {

std::string place_text(const Position& at) {
  return fmt::format("{}:{}:{}", printable(at.file), at.line, at.column);
}

std::string_view severity(RowFindingKind kind) {
  switch (kind) {
    case RowFindingKind::kWrong:
    case RowFindingKind::kLacking:
      return "error: ";
    case RowFindingKind::kDoubtful:
      return "warning: ";
    case RowFindingKind::kLeftOut:
      break;
  }
  return "note: ";
}

std::string scored_text(const RowCheck& row) {
  if (!row.scored()) return {};
  std::string out = row.on_time ? (row.on_memory ? "scored on time and memory" : "scored on time")
                                : "scored on its verdict: it failed for memory";
  if (!row.assumed.empty()) out += "; assumed: " + printable(join(row.assumed, "; "));
  return fmt::format("{}: {}: {}\n", place_text(row.at), printable(row.id), out);
}

std::string summary_line(const TableCheck& check) {
  const auto count = [&](auto which) { return std::count_if(check.rows.begin(), check.rows.end(), which); };
  const auto faulty = count([](const RowCheck& row) { return row.faulty(); });
  const auto others = count([](const RowCheck& row) { return !row.faulty() && !row.scored(); });
  std::string out = fmt::format("{} {}: {} scored on time, {} on memory too, {} on a verdict alone",
                                check.rows.size(), check.rows.size() == 1 ? "row" : "rows",
                                count([](const RowCheck& row) { return row.on_time; }),
                                count([](const RowCheck& row) { return row.on_memory; }),
                                count([](const RowCheck& row) { return row.on_verdict && !row.on_time; }));
  if (others > 0) out += fmt::format("; {} left out", others);
  if (faulty > 0) out += fmt::format("; {} with errors", faulty);
  return out + "\n";
}

}  // namespace

std::string row_check_text(const TableCheck& check) {
  std::string out;
  for (const RowCheck& row : check.rows) {
    for (const RowFinding& finding : row.findings)
      out += fmt::format("{}: {}{}: {}\n", place_text(finding.at), severity(finding.kind), printable(row.id),
                         printable(finding.message));
    out += scored_text(row);
  }
  return out + summary_line(check);
}

std::string row_check_json(const TableCheck& check) {
  JsonWriter w;
  w.begin_answer();
  w.key("rows").begin_array();
  for (const RowCheck& row : check.rows) {
    w.begin_object();
    w.key("id").value(row.id);
    w.key("source").value(row.source);
    w.key("file").value(row.at.file);
    w.key("line").value(row.at.line);
    w.key("on_time").value(row.on_time);
    w.key("on_memory").value(row.on_memory);
    w.key("on_verdict").value(row.on_verdict);
    w.key("findings").begin_array();
    for (const RowFinding& finding : row.findings) {
      w.begin_object();
      w.key("kind").value(kRowFindingNames[static_cast<std::size_t>(finding.kind)]);
      w.key("line").value(finding.at.line);
      w.key("column").value(finding.at.column);
      w.key("message").value(finding.message);
      w.end_object();
    }
    w.end_array();
    w.key("assumed").begin_array();
    for (const std::string& item : row.assumed) w.value(item);
    w.end_array();
    w.end_object();
  }
  w.end_array();
  w.key("unknown_columns").begin_array();
  for (const std::string& column : check.unknown) w.value(column);
  w.end_array();
  w.end_object();
  return w.text();
}

}  // namespace foretrain
