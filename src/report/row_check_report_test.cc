#include "report/row_check_report.h"

#include <doctest/doctest.h>

using namespace foretrain;

namespace {

TableCheck example() {
  TableCheck check;
  RowCheck sound{.id = "a",
                 .source = "lab",
                 .at = {"runs.csv", 2, 1},
                 .on_time = true,
                 .on_memory = true,
                 .on_verdict = true,
                 .assumed = {"biases=0"}};
  RowCheck lacking{.id = "b\n", .source = "lab", .at = {"runs.csv", 3, 1}};
  lacking.findings = {{RowFindingKind::kLacking, {"runs.csv", 3, 17}, "vocab: found nothing"}};
  RowCheck failed{.id = "c", .source = "lab", .at = {"runs.csv", 4, 1}, .on_verdict = true};
  failed.findings = {{RowFindingKind::kDoubtful, {"runs.csv", 4, 9}, "step_s: odd"}};
  RowCheck other{.id = "d", .source = "lab", .at = {"runs.csv", 5, 1}};
  other.findings = {{RowFindingKind::kLeftOut, {"runs.csv", 5, 2}, "left out: peft x"}};
  check.rows = {sound, lacking, failed, other};
  return check;
}

}  // namespace

TEST_CASE("text: a line a finding with its place, what a scored row assumes, and a sum") {
  CHECK(row_check_text(example()) == R"(runs.csv:2:1: a: scored on time and memory; assumed: biases=0
runs.csv:3:17: error: b\n: vocab: found nothing
runs.csv:4:9: warning: c: step_s: odd
runs.csv:4:1: c: scored on its verdict: it failed for memory
runs.csv:5:2: note: d: left out: peft x
4 rows: 1 scored on time, 1 on memory too, 1 on a verdict alone; 1 left out; 1 with errors
)");
}

TEST_CASE("json: a row an object, its findings with kind, line and column") {
  const std::string json = row_check_json(example());
  CHECK(json.find(R"("findings": [
        {
          "kind": "lacking",
          "line": 3,
          "column": 17,
          "message": "vocab: found nothing"
        }
      ])") != std::string::npos);
  CHECK(json.find("\"unknown_columns\": []") != std::string::npos);
}
