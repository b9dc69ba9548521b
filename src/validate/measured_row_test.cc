#include "validate/measured_row.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/file.h"
#include "validate/example_table.h"

using namespace foretrain;

namespace {

std::string error_of(const Cells& replaced) {
  const auto rows = example_rows({replaced});
  return rows ? "no error" : rows.error().text();
}

}  // namespace

TEST_CASE("a row is read into typed cells") {
  const MeasuredRow row =
      example_row({{"assumed", "vocab;tied"}, {"notes", "two runs; biases=1; fastest_s=0.45"}});
  CHECK(row.id == "example");
  CHECK(row.gpus == 16);
  CHECK(row.ffn_type == MlpKind::kGelu);
  CHECK(row.tied == true);
  CHECK(row.precision == Dtype::kBf16);
  CHECK(row.schedule == RowSchedule::k1f1b);
  CHECK(row.step == Seconds(0.5));
  CHECK(row.peak_memory == gib(12));
  CHECK(row.memory_counter == StatedCounter::kAllocated);
  CHECK(row.inferred == std::vector<std::string>{"vocab", "tied"});
  CHECK(row.notes.find("fastest_s") == "0.45");
  CHECK(row.at.line == 2);
}

TEST_CASE("an empty cell is unknown, never zero") {
  const MeasuredRow row = example_row({{"kv_heads", ""}, {"zero", ""}, {"recompute", ""}, {"step_s", ""}});
  CHECK_FALSE(row.kv_heads);
  CHECK_FALSE(row.zero);
  CHECK_FALSE(row.recompute);
  CHECK_FALSE(row.step);
  CHECK_FALSE(row.failed());
  CHECK(example_row({{"step_s", ""}, {"notes", "failure=oom-or-crash"}}).failed());
}

TEST_CASE("notes are free text with key=value items among it") {
  const Notes notes("H=4 heads; the count = 12LH; failure=oom; a; detail=full (block); failure=later; x=");
  CHECK_FALSE(notes.find("H"));           // not lower case
  CHECK_FALSE(notes.find("the count "));  // not one word
  CHECK(notes.find("failure") == "oom");  // the first of two
  CHECK(notes.find("detail") == "full (block)");
  CHECK(notes.find("x") == "");
  CHECK(notes.says("failure", "oom"));
  CHECK_FALSE(notes.says("absent", ""));
  CHECK_FALSE(Notes("").find(""));
  CHECK(notes.has("a"));
  CHECK_FALSE(notes.has("failure"));
  CHECK_FALSE(Notes("").has(""));
}

TEST_CASE("a bad cell is refused where it stands") {
  // "example,ours,selene,a100-80gb-sxm," is 34 characters, so gpus begins at column 35.
  CHECK(error_of({{"gpus", "16.0"}}) ==
        "runs.csv:2:35: error: gpus: found '16.0', expected an integer from 1 to 10000000");
  CHECK(error_of({{"gpus", "0"}}).find("gpus: found '0'") != std::string::npos);
  CHECK(error_of({{"zero", "4"}}).find("zero: found '4', expected an integer from 0 to 3") !=
        std::string::npos);
  CHECK(error_of({{"tied", "yes"}}).find("tied: found 'yes', expected 0 or 1") != std::string::npos);
  CHECK(error_of({{"norm", "layernrom"}}).find("norm: unknown word 'layernrom'; did you mean 'layernorm'?") !=
        std::string::npos);
  CHECK(error_of({{"step_s", "-1"}}).find("step_s: found '-1', expected a number above 0") !=
        std::string::npos);
  CHECK(error_of({{"step_s", "nan"}}).find("step_s: found 'nan'") != std::string::npos);
  CHECK(error_of({{"id", ""}}).find("runs.csv:2:1: error: id: found no name") != std::string::npos);
}

TEST_CASE("the second row's error names line 3") {
  const auto rows = example_rows({{}, {{"tp", "two"}}});
  REQUIRE_FALSE(rows);
  CHECK(rows.error().at.line == 3);
}

TEST_CASE("a table without one of the 46 columns is refused") {
  std::string text = example_table({{}});
  text.replace(text.find("global_batch"), 12, "globalbatch2");
  const auto rows = CsvTable::parse(text, "runs.csv").and_then(measured_rows);
  REQUIRE_FALSE(rows);
  CHECK(rows.error().text() ==
        "runs.csv:1:1: error: not a table of measured runs: column 'global_batch' is missing");

  const auto other = CsvTable::parse("operator,us\nlinear,3\n", "ops.csv").and_then(measured_rows);
  REQUIRE_FALSE(other);
  CHECK(
      other.error().text() ==
      "ops.csv:1:1: error: not a table of measured runs: column 'id' is missing; expected the 46 columns of "
      "the format");
}

TEST_CASE("a column that nobody knows is passed over, and named") {
  const auto notes_of = [](const std::string& column) {
    std::string text = example_table({{}});
    text.insert(text.find('\n'), "," + column);
    text.insert(text.size() - 1, ",deepep");
    std::vector<std::string> notes;
    REQUIRE(measured_rows_of({.files = {{"runs.csv", text}}}, notes));
    return notes;
  };
  CHECK(notes_of("dispatchr") == std::vector<std::string>{"runs.csv: columns passed over: 'dispatchr'"});
  CHECK(notes_of("dispatcher").empty());
  CHECK(notes_of("software").empty());  // of the format, though nothing asks for it
}

TEST_CASE("columns may stand in any order") {
  const auto rows = example_rows({{}});
  std::string header, line;
  for (const auto& [name, cell] : example_cells()) {
    header = name + (header.empty() ? "" : ",") + header;
    line = cell + (line.empty() && header == name ? "" : ",") + line;
  }
  const auto reversed = CsvTable::parse(header + "\n" + line + "\n", "r.csv").and_then(measured_rows);
  REQUIRE(reversed);
  CHECK(reversed->front().global_batch == rows->front().global_batch);
  CHECK(reversed->front().id == "example");
}

TEST_CASE("a folder gives the rows of its tables by file name") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "foretrain_measured_row_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  CHECK(read_measured_rows(disk(), folder.string()).error().message == "found no .csv file in the folder");
  REQUIRE(write_file((folder / "b.csv").string(), example_table({{{"id", "second"}}, {{"id", "third"}}})));
  REQUIRE(write_file((folder / "a.csv").string(), example_table({{{"id", "first"}}})));
  REQUIRE(write_file((folder / "notes.txt").string(), "not a table"));
  const auto rows = read_measured_rows(disk(), folder.string());
  REQUIRE(rows);
  REQUIRE(rows->size() == 3);
  CHECK((*rows)[0].id == "first");
  CHECK((*rows)[1].id == "second");
  CHECK((*rows)[2].id == "third");
  CHECK((*rows)[2].at.file == (folder / "b.csv").string());
  std::filesystem::remove_all(folder);
  CHECK_FALSE(read_measured_rows(disk(), folder.string()));
}
