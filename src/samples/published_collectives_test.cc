#include "samples/published_collectives.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"

using namespace foretrain;

namespace {

constexpr const char* kHeader = "shape,nodes,GPUsPerNode,dur(us)\n";

// A site's folder with made-up times.
struct Site {
  std::string path = "/tmp/foretrain-published-XXXXXX";
  Site() {
    REQUIRE(mkdtemp(path.data()) != nullptr);
    std::filesystem::create_directory(path + "/nccl");
  }
  ~Site() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& rows) const {
    REQUIRE(write_file(path + "/nccl/NVIDIAX1_" + name + ".csv", kHeader + rows));
  }
  PublishedCollectives import() const {
    const auto imported = published_collective_sources(disk(), path).and_then(import_published_collectives);
    REQUIRE_MESSAGE(imported.has_value(), (imported ? "" : imported.error().text()));
    return *imported;
  }
  std::string error() const {
    const auto imported = published_collective_sources(disk(), path).and_then(import_published_collectives);
    return imported ? "" : imported.error().text().substr(path.size());
  }
};

}  // namespace

TEST_CASE("elements of two bytes; an all-gather's are those of one rank") {
  const Site site;
  site.write("allreduce_fp16_2_4", "1000.0,2.0,4.0,50.5\n");
  site.write("allgather_large_fp16_2_4", "1000,2,4,70.25\n");
  site.write("p2p_fp16_2_1", "1000,2,1,9\n");
  const auto samples = site.import().samples;
  REQUIRE(samples.size() == 3);
  CHECK(samples[0].kind == CollectiveKind::kAllGather);
  CHECK(samples[0].bytes == Bytes(2 * 1000 * 8));
  CHECK(samples[0].ranks == 8);
  CHECK(samples[0].ranks_per_node == 4);
  CHECK(samples[0].source == "NVIDIAX1_allgather_large_fp16_2_4.csv");
  CHECK(samples[1].kind == CollectiveKind::kAllReduce);
  CHECK(samples[1].bytes == Bytes(2000));
  CHECK(samples[1].seconds == microseconds(50.5));
  CHECK(samples[2].kind == CollectiveKind::kSendReceive);
  CHECK(samples[2].bytes == Bytes(2000));
  CHECK(samples[2].ranks == 2);
}

TEST_CASE("a table of all layouts adds only rows that stand nowhere else") {
  const Site site;
  site.write("allreduce_fp16_1_2", "1000,1,2,5\n2000,1,2,6\n");
  site.write("allreduce_fp16_1_4", "1000,1,4,7\n");
  site.write("allreduce_fp16", "1000,1,2,5\n2000,1,2,6\n1000,1,4,7\n1000,2,4,90\n");
  const auto imported = site.import();
  CHECK(imported.samples.size() == 4);
  CHECK(imported.samples.back().nodes() == 2);
  CHECK(import_text(imported) ==
        "NVIDIAX1_allreduce_fp16_1_2.csv       2 rows       2 samples\n"
        "NVIDIAX1_allreduce_fp16_1_4.csv       1 rows       1 samples\n"
        "NVIDIAX1_allreduce_fp16.csv           4 rows       1 samples  3 as in other tables\n"
        "4 samples of collectives, 3 tables\n");
}

TEST_CASE("other tables are named, and a site without collectives has none") {
  const Site site;
  REQUIRE(write_file(site.path + "/nccl/NVIDIAX1.csv", "GPU,Function\nX1,allreduce\n"));
  site.write("allreduce_fp17_1_2", "1000,1,2,5\n");
  const auto imported = site.import();
  CHECK(imported.samples.empty());
  CHECK(imported.ignored == std::vector<std::string>{"NVIDIAX1.csv", "NVIDIAX1_allreduce_fp17_1_2.csv"});
  const auto none =
      published_collective_sources(disk(), "/tmp/nowhere").and_then(import_published_collectives);
  REQUIRE(none);
  CHECK(none->samples.empty());
  CHECK(import_text(*none).empty());
}

TEST_CASE("bad cells are refused with their place") {
  const Site site;
  const auto error = [&](const std::string& rows) {
    site.write("allreduce_fp16_2_4", rows);
    return site.error();
  };
  const std::string at = "/nccl/NVIDIAX1_allreduce_fp16_2_4.csv:2:";
  CHECK(error("1000.5,2,4,5\n") ==
        at + "1: error: shape: found '1000.5', expected a whole number from 1 to 1e+15");
  CHECK(error("1000,3,4,5\n") == at + "6: error: nodes: found 3, expected 2, as in the file's name");
  CHECK(error("1000,2,2,5\n") == at + "8: error: GPUsPerNode: found 2, expected 4, as in the file's name");
  CHECK(error("1000,2,4,-5\n") ==
        at + "10: error: dur(us): found '-5', expected a number above 0, at most 1e+12");
  CHECK(error("1000,2,4,5\n").empty());
  site.write("p2p_fp16_2_2", "1000,2,2,5\n");
  CHECK(site.error() ==
        "/nccl/NVIDIAX1_p2p_fp16_2_2.csv:2:8: error: GPUsPerNode: found 2, expected two ranks");
}
