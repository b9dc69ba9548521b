// Published runs of mixtures of experts and latent attention: rows with the further columns of a table. Other
// people's, so that the folder is not in the repository: FORETRAIN_MODERN_RUNS names it.
#include <doctest/doctest.h>

#include <cstdlib>

#include "base/text.h"
#include "validate/row_model.h"

using namespace foretrain;

namespace {

std::vector<MeasuredRow> modern_rows() {
  const char* folder = std::getenv("FORETRAIN_MODERN_RUNS");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  auto rows = read_measured_rows(disk(), folder);
  REQUIRE_MESSAGE(rows.has_value(), (rows ? "" : rows.error().text()));
  return *std::move(rows);
}

bool is_modern(const MeasuredRow& row) { return row.experts.value_or(0) > 0 || row.notes.says("mla", "1"); }

}  // namespace

TEST_CASE("parameters are counted exactly wherever a row states them") {
  int experts = 0, dense = 0;
  for (const MeasuredRow& row : modern_rows()) {
    const auto note = row.notes.find("params");
    if (!note || (!row.peft.empty() && row.peft != "none")) continue;
    INFO(row.id);
    std::vector<std::string> assumed;
    const auto model = model_of(row, assumed);
    REQUIRE(model);
    CHECK(parameters(*model) == parse_integer(*note));
    ++(is_modern(row) ? experts : dense);
  }
  CHECK(experts == 7);
  CHECK(dense == 3);
}
