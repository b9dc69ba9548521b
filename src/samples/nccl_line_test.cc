#include "samples/nccl_line.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("what launchers put in front of a line is dropped, and the column counts it") {
  for (const char* line : {"# size", "  # size\r", "[1,0]<stdout>:# size", "[1,0]<stdout>: # size ",
                           "0: # size", "node-1: # size", "2025-03-01 10:00:00.5 # size",
                           "2025-03-01T10:00:00Z 3: # size", "[2025-03-01 10:00:00] [rank0]: # size"}) {
    CAPTURE(line);
    const NcclLine found = nccl_line(line);
    CHECK(found.text == "# size");
    CHECK(found.is_comment());
    CHECK(std::string_view(line).substr(static_cast<std::size_t>(found.column) - 1).starts_with("# size"));
  }
}

TEST_CASE("rows and other output keep all their words") {
  for (const char* line :
       {"8388608 2097152 float", "host:12:34 [0] NCCL INFO x", "# (B)", "12", "", "[unclosed"})
    CHECK(nccl_line(line).text == line);
  const auto words = nccl_line("0:    8388608  float\tx").words();
  REQUIRE(words.size() == 3);
  CHECK(words[0].text == "8388608");
  CHECK(words[0].column == 7);
  CHECK(words[2].column == 22);
  CHECK(nccl_line("#  #wrong").words().at(0).text == "#wrong");
}

TEST_CASE("a program's name is a whole word") {
  CHECK(nccl_test_in("mpirun -np 8 ./build/all_reduce_perf -b 8")->kind == CollectiveKind::kAllReduce);
  CHECK(nccl_test_in("# Collective test starting: all_gather_perf_mpi")->kind == CollectiveKind::kAllGather);
  CHECK(nccl_test_in("/opt/reduce_perf -g 8")->name == "reduce_perf");
  CHECK(!nccl_test_in("/opt/reduce_perf -g 8")->kind);
  CHECK(!nccl_test_in("my_all_reduce_perf -g 8"));
  CHECK(!nccl_test_in("no_perf here"));
  CHECK(!nccl_test_in(""));
}

TEST_CASE("a file's name may spell the collective in any way, but only one") {
  CHECK(collective_in_file_name("logs/all_reduce_perf-8n.log") == CollectiveKind::kAllReduce);
  CHECK(collective_in_file_name("Reduce-Scatter.16.txt") == CollectiveKind::kReduceScatter);
  CHECK(collective_in_file_name("sendrecv") == CollectiveKind::kSendReceive);
  CHECK(!collective_in_file_name("allreduce/night.log"));
  CHECK(!collective_in_file_name("allreduce_allgather.log"));
}
