#include "validate/row_check.h"

#include <doctest/doctest.h>

#include "validate/example_table.h"

using namespace foretrain;

namespace {

TableCheck checked(const std::vector<Cells>& rows) {
  const auto table = CsvTable::parse(example_table(rows), "runs.csv");
  REQUIRE(table);
  const ProfileStore store;
  const Catalog catalog;
  const auto check = RowChecker(catalog, store).check(*table);
  REQUIRE(check);
  return *check;
}

RowCheck one(const Cells& cells) { return checked({cells}).rows.front(); }

bool tells(const RowCheck& row, RowFindingKind kind, std::string_view text) {
  for (const RowFinding& finding : row.findings)
    if (finding.kind == kind && finding.message.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a sound row is scored on time, memory and verdict, and tells what is assumed") {
  const RowCheck row = one({{"step_s", "0.055"}, {"mem_counter", "reserved"}});
  for (const RowFinding& finding : row.findings) FAIL_CHECK(finding.message);
  CHECK(row.on_time);
  CHECK(row.on_memory);
  CHECK_FALSE(row.assumed.empty());
}

TEST_CASE("every wrong cell of a row is told with its line and column") {
  const RowCheck row = one({{"tp", "two"}, {"seq", "-1"}, {"precision", "bf17"}});
  REQUIRE(row.findings.size() == 3);
  CHECK(row.faulty());
  CHECK_FALSE(row.scored());
  CHECK(row.findings[0].message == "seq: found '-1', expected an integer from 1 to 100000000");
  CHECK(row.findings[0].at.line == 2);
  CHECK(row.findings[1].message == "tp: found 'two', expected an integer from 1 to 1000000");
  CHECK(row.findings[1].at.column > row.findings[0].at.column);
  CHECK(tells(row, RowFindingKind::kWrong, "did you mean 'bf16'?"));
}

TEST_CASE("all that a row lacks is told at once") {
  const RowCheck row = one({{"vocab", ""}, {"tied", ""}, {"step_s", ""}});
  CHECK(row.faulty());
  CHECK(tells(row, RowFindingKind::kLacking, "vocab: found nothing"));
  CHECK(tells(row, RowFindingKind::kLacking, "tied: found nothing"));
  CHECK(tells(row, RowFindingKind::kLacking, "step_s: found nothing"));
}

TEST_CASE("a name that no preset has is told with the nearest; a run that cannot be, with why") {
  CHECK(tells(one({{"cluster", "selen"}}), RowFindingKind::kWrong, "did you mean 'selene'?"));
  CHECK(tells(one({{"gpu", "a100-80gb-smx"}}), RowFindingKind::kWrong, "did you mean 'a100-80gb-sxm'?"));
  CHECK(one({{"dp", "3"}}).faulty());
}

TEST_CASE("a run that failed for memory is scored on its verdict") {
  const RowCheck row = one({{"step_s", ""}, {"peak_mem_gib", ""}, {"notes", "failure=oom"}});
  CHECK(row.on_verdict);
  CHECK_FALSE(row.on_time);
  CHECK_FALSE(row.faulty());
}

TEST_CASE("what is not modelled is no fault of the row") {
  const RowCheck row = one({{"peft", "prefix"}});
  CHECK(tells(row, RowFindingKind::kLeftOut, "left out: peft prefix"));
  CHECK_FALSE(row.faulty());
  CHECK_FALSE(row.scored());
}

TEST_CASE("figures that contradict each other are doubted, and the row is scored all the same") {
  const RowCheck row = one({{"step_s", "0.000012"},
                            {"tokens_per_s_per_gpu", "5"},
                            {"peak_mem_gib", "200"},
                            {"mem_counter", ""},
                            {"assumed", "zero;colour"}});
  CHECK(row.scored());
  CHECK_FALSE(row.faulty());
  CHECK(tells(row, RowFindingKind::kDoubtful, "tokens_per_s_per_gpu: found 5"));
  CHECK(tells(row, RowFindingKind::kDoubtful, "at the full rate"));
  CHECK(tells(row, RowFindingKind::kDoubtful, "more than the"));
  CHECK(tells(row, RowFindingKind::kDoubtful, "mem_counter: found none"));
  CHECK(tells(row, RowFindingKind::kDoubtful, "found 'colour'"));
  CHECK(tells(row, RowFindingKind::kDoubtful, "that are predicted"));
}

TEST_CASE("a row that stands twice is wrong the second time") {
  const TableCheck table = checked({{}, {}, {{"id", "other"}}});
  CHECK_FALSE(table.rows[0].faulty());
  CHECK(tells(table.rows[1], RowFindingKind::kWrong, "again"));
  CHECK_FALSE(table.rows[2].faulty());
}
