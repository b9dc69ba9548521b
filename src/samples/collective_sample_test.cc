#include "samples/collective_sample.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "samples/sample.h"

using namespace foretrain;

namespace {

constexpr const char* kHeader = "collective,bytes,ranks,ranks_per_node,us,spread,algorithm,protocol,source\n";

std::string error_of(const std::string& text) {
  const auto samples = parse_collective_samples(text, "c.csv");
  return samples ? "" : samples.error().text();
}

std::string row_error(const std::string& row) {
  return error_of("collective,bytes,ranks,ranks_per_node,us\n" + row + "\n");
}

struct TemporaryFolder {
  std::string path = "/tmp/foretrain-collectives-XXXXXX";
  TemporaryFolder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a full row") {
  const auto samples = parse_collective_samples(
      std::string(kHeader) + "all_gather,33554432,16,8,412.5,0.02,ring,Simple,night.log\n", "c.csv");
  REQUIRE(samples);
  REQUIRE(samples->size() == 1);
  const CollectiveSample& s = samples->front();
  CHECK(s.kind == CollectiveKind::kAllGather);
  CHECK(s.bytes == mib(32));
  CHECK(s.ranks == 16);
  CHECK(s.ranks_per_node == 8);
  CHECK(s.nodes() == 2);
  CHECK(s.seconds == microseconds(412.5));
  CHECK(s.spread == 0.02);
  CHECK(s.algorithm == "ring");
  CHECK(s.protocol == "Simple");
  CHECK(s.source == "night.log");
  CHECK(layout_label(s) == "all_gather 2x8");
}

TEST_CASE("columns in any order, five are enough, and what is written reads back") {
  const auto samples = parse_collective_samples(
      "us,ranks_per_node,ranks,bytes,collective\n7181.2258,1,2,536870912,all_reduce\n"
      "0.1,4,4,1,send_receive\n",
      "c.csv");
  REQUIRE(samples);
  CHECK(samples->at(0).source == "c.csv");
  CHECK(parse_collective_samples(to_csv(*samples), "other.csv") == *samples);
  CHECK(to_csv(*samples) == std::string(kHeader) +
                                "all_reduce,536870912,2,1,7181.2258,,,,c.csv\n"
                                "send_receive,1,4,4,0.1,,,,c.csv\n");
}

TEST_CASE("a dispatch says its tokens and its routing, and what is written reads back") {
  const std::string header = "collective,bytes,ranks,ranks_per_node,us,tokens,hidden,top_k,experts,sms\n";
  const auto samples = parse_collective_samples(
      header + "dispatch,58720256,8,8,100.2,1024,7168,8,256,20\nall_to_all,1024,8,8,20,,,,,\n", "c.csv");
  REQUIRE(samples);
  const CollectiveSample& s = samples->front();
  CHECK(s.kind == CollectiveKind::kDispatch);
  CHECK(s.routing() == Routing{256, 8, Bytes(7168)});
  CHECK(s.sms == 20);
  CHECK(layout_label(s) == "dispatch 1x8 7168 8/256 20 SMs");
  CHECK(samples->at(1).routing() == Routing{});
  CHECK(parse_collective_samples(to_csv(*samples), "other.csv") == *samples);
  CHECK(to_csv(*samples).find("dispatch,58720256,8,8,100.2,,,,c.csv,1024,7168,8,256,20\n") !=
        std::string::npos);

  CHECK(error_of(header + "dispatch,1000,8,8,1,,7168,8,256,20\n") ==
        "c.csv:2:21: error: tokens: found nothing, expected how many tokens a rank has");
  CHECK(error_of(header + "combine,1000,8,8,1,10,,8,4,\n") ==
        "c.csv:2:24: error: top_k: found 8, expected at most the 4 experts");
  CHECK(row_error("combine,1000,8,8,1").find("tokens: found nothing") != std::string::npos);
}

TEST_CASE("a wrong header is refused where it is wrong") {
  CHECK(error_of("collective,size,ranks,ranks_per_node,us\n")
            .starts_with("c.csv:1:12: error: unknown column 'size'; expected one of collective, bytes"));
  CHECK(error_of("collective,bytes,ranks,us\nx,1,2,3\n") ==
        "c.csv:1:1: error: found no column 'ranks_per_node', expected collective, bytes, ranks, "
        "ranks_per_node and us");
  CHECK(error_of(kHeader) == "c.csv:1:1: error: found a header and no rows, expected samples");
}

TEST_CASE("wrong cells are refused with their place") {
  CHECK(row_error("all_reduse,8,2,1,5") ==
        "c.csv:2:1: error: unknown word 'all_reduse'; did you mean 'all_reduce'?");
  CHECK(row_error("all_reduce,0,2,1,5") ==
        "c.csv:2:12: error: bytes: found '0', expected a whole number from 1 to 1000000000000000");
  CHECK(row_error("all_reduce,8,1,1,5") ==
        "c.csv:2:14: error: ranks: found '1', expected a whole number from 2 to 10000000");
  CHECK(row_error("all_reduce,8,6,4,5") ==
        "c.csv:2:16: error: ranks_per_node: found 4, expected a divisor of the 6 ranks");
  CHECK(row_error("all_reduce,8,2,1,0") ==
        "c.csv:2:18: error: us: found '0', expected a number above 0, at most 1e+12");
  CHECK(row_error("all_reduce,8,2,1,") ==
        "c.csv:2:18: error: us: found nothing, expected a time in microseconds");
  CHECK(row_error("all_reduce,,2,1,5") ==
        "c.csv:2:12: error: bytes: found nothing, expected a number of bytes");
  CHECK(row_error("all_reduce,8,2,1,5") == "");
}

TEST_CASE("a folder may hold operators and collectives: each reader takes its own") {
  const TemporaryFolder folder;
  REQUIRE(write_file(folder.path + "/operators.csv",
                     "operator,impl,pass,dims,us\ngelu,aten,fwd,tokens=1 width=2,2\n"));
  CHECK(read_collective_samples(disk(), folder.path).error().text() ==
        folder.path + ": error: found no table with a column 'collective', expected one");
  REQUIRE(write_file(folder.path + "/collectives.csv", std::string(kHeader) + "all_reduce,8,2,1,5,,,,\n"));
  const auto collectives = read_collective_samples(disk(), folder.path);
  REQUIRE(collectives);
  REQUIRE(collectives->size() == 1);
  CHECK(collectives->front().source == folder.path + "/collectives.csv");
  const auto operators = read_samples(disk(), folder.path);
  REQUIRE(operators);
  CHECK(operators->size() == 1);
}

TEST_CASE("bus bandwidth counts as nccl-tests does") {
  CHECK(bus_factor(CollectiveKind::kAllReduce, 8) == 1.75);
  CHECK(bus_factor(CollectiveKind::kAllGather, 8) == 0.875);
  CHECK(bus_factor(CollectiveKind::kSendReceive, 2) == 1);
}
