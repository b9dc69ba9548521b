// Real logs against what their manifest says of them.
#include "format_manifest.h"
#include "samples/nccl_tests.h"

using namespace foretrain;

TEST_CASE("logs of nccl-tests: tables and rows") {
  for (const auto& [row, source] : manifest_files("nccl-log")) {
    CAPTURE(row.file);
    const auto imported = import_nccl_tests({source}, {});
    REQUIRE_MESSAGE(imported.has_value() == row.is_read(), (imported ? "read" : imported.error().text()));
    if (!imported) continue;
    std::size_t rows = 0;
    for (const NcclTable& table : imported->tables) rows += table.rows;
    CHECK(static_cast<double>(imported->tables.size()) == row.number("tables"));
    CHECK(static_cast<double>(rows) == row.number("rows"));
  }
}
