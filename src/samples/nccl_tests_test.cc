#include "samples/nccl_tests.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/text.h"

using namespace foretrain;

namespace {

// Made-up runs in the layouts that the tool's versions print.
std::string ranks(int hosts, int per_host) {
  std::string text = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n";
  for (int i = 0; i < hosts * per_host; ++i)
    text += fmt::format("#  Rank {:2} Group  0 Pid {} on   node-{} device {:2} [0x{:02x}] GPU X1\n", i,
                        100 + i, i / per_host, i % per_host, i % per_host);
  return text;
}

constexpr const char* kNew =
    "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
constexpr const char* kOld =
    "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n";

// A row of 1 MB in 100 us: 10 GB/s.
std::string row(double busbw, const std::string& root = "-1 ") {
  return fmt::format("1000000 250000 float sum {}100.0 10.00 {:.2f} 0 99.0 10.10 10.10 0\n", root, busbw);
}

NcclTestsImport read(const std::string& text, const std::string& file = "all_reduce.log") {
  const auto imported = parse_nccl_tests(text, file, {});
  REQUIRE_MESSAGE(imported.has_value(), (imported ? "" : imported.error().text()));
  return *imported;
}

std::string error_of(const std::string& text, const std::string& file = "all_reduce.log",
                     const NcclTestsOptions& options = {}) {
  const auto imported = parse_nccl_tests(text, file, options);
  return imported ? "" : imported.error().text();
}

std::string test_line(const std::string& test) { return "# Collective test starting: " + test + "\n"; }

}  // namespace

TEST_CASE("a row is its out-of-place time; ranks and nodes come from the lines of ranks") {
  // Sixteen ranks: an all-reduce's bus carries 2 15/16 of the tensor.
  const auto imported = read(ranks(2, 8) + kNew + row(18.75));
  REQUIRE(imported.samples.size() == 1);
  const CollectiveSample& s = imported.samples.front();
  CHECK(s.kind == CollectiveKind::kAllReduce);
  CHECK(s.bytes == Bytes(1e6));
  CHECK(s.ranks == 16);
  CHECK(s.ranks_per_node == 8);
  CHECK(s.seconds == microseconds(100));
  CHECK(s.source == "all_reduce.log");
  REQUIRE(imported.tables.size() == 1);
  CHECK(imported.tables[0].line == 18);
  CHECK(imported.tables[0].layout == "2x8");
}

TEST_CASE("every test's busbw is checked by its own factor") {
  const auto samples = [](const std::string& test, double busbw) {
    const auto imported = parse_nccl_tests(test_line(test) + ranks(1, 4) + kNew + row(busbw), "x", {});
    return imported ? imported->samples.size() : 0;
  };
  CHECK(samples("all_reduce_perf", 15.0) == 1);
  CHECK(samples("all_gather_perf", 7.5) == 1);
  CHECK(samples("reduce_scatter_perf", 7.5) == 1);
  CHECK(samples("alltoall_perf", 7.5) == 1);
  CHECK(samples("broadcast_perf", 10) == 1);
  CHECK(samples("sendrecv_perf", 10) == 1);
  CHECK(samples("all_gather_perf", 15.0) == 0);
  CHECK(samples("broadcast_perf", 7.5) == 0);
}

TEST_CASE("columns go by the header: no root, a root, no redop, the words of 2015") {
  CHECK(read(ranks(1, 4) + kOld + row(15, "")).samples.size() == 1);
  CHECK(read(ranks(1, 4) + "# size count type root time algbw busbw error time algbw busbw error\n" +
                 "1000000 250000 float 0 100.0 10.00 10.00 0e+00 99.0 10.10 10.10 0e+00\n",
             "broadcast.txt")
            .samples.size() == 1);
  CHECK(read(ranks(1, 4) + "# bytes N type op time algbw busbw delta time algbw busbw delta\n" + row(15, ""))
            .samples.size() == 1);
  CHECK(read(ranks(1, 4) + "# size count type redop time algbw busbw error\n" +
             "1000000 250000 float sum 100.0 10.00 15.00 2e-07\n")
            .samples.size() == 1);
}

TEST_CASE("before June 2020 an all-gather's algbw held the factor of its busbw") {
  const std::string old = "1000000 62500 float sum 100.0 7.50 7.50 0e+00 99.0 7.58 7.58 0e+00\n";
  CHECK(read(ranks(1, 4) + kOld + old, "allgather.log").samples.size() == 1);
  CHECK(error_of(ranks(1, 4) + kOld + old)
            .ends_with("found algbw that is not size / time in most rows, expected it to be"));
}

TEST_CASE("per-iteration columns give the spread; a time stamp is two words") {
  const auto imported = read(
      ranks(1, 4) +
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong "
      "i_min i_max i_p99 i_cv% timestamp\n"
      "1000000 250000 float sum -1 100.0 10.00 15.00 0 98 105 104 2.50 99.0 10.10 10.10 N/A 98 105 104 9 "
      "2025-03-01 10:00:00\n");
  REQUIRE(imported.samples.size() == 1);
  CHECK(imported.samples[0].spread == doctest::Approx(0.025));
}

TEST_CASE("rows that disagree with themselves are rejected with a reason") {
  const std::string good = row(15);
  const auto imported = read(ranks(1, 4) + kNew + good + good + good + good + good +
                             "0 0 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n"
                             "1000000 250000 float sum -1 100.0 11.00 16.50 0 99.0 10.10 10.10 0\n"
                             "1000000 250000 float sum -1 100.0 10.00 12.00 0 99.0 10.10 10.10 0\n"
                             "1000000 250000 float sum -1 100.0 10.00 15.00 7 99.0 10.10 10.10 0\n"
                             "1000000 250000 float sum -1 N/A N/A N/A N/A 99.0 10.10 10.10 0\n");
  CHECK(imported.samples.size() == 5);
  CHECK(imported.tables[0].rejected == std::map<std::string, std::size_t>{{"algbw is not size / time", 1},
                                                                          {"busbw does not fit", 1},
                                                                          {"no bytes", 1},
                                                                          {"not timed", 1},
                                                                          {"wrong results", 1}});
  CHECK(import_text(imported) ==
        "all_reduce.log:6  all_reduce  1x4     10 rows      5 samples  1 algbw is not size / time  1 busbw "
        "does "
        "not fit  1 no bytes  1 not timed  1 wrong results\n5 samples of collectives, 1 tables\n");
}

TEST_CASE("times as short as 1.2e+07 agree with their rates") {
  // 1 TB in 12.4 s, printed as 1.2e+07 us: 80.65 GB/s, where the printed time would give 83.3.
  const auto imported =
      read(ranks(1, 4) + kNew +
           "1000000000000 250000000000 float sum -1 1.2e+07 80.65 120.97 0 1.2e+07 80.65 120.97 0\n");
  CHECK(imported.samples.size() == 1);
}

TEST_CASE(
    "several tests in one log, each with its own name; those without a collective of ours are skipped") {
  const auto imported =
      read("+ ./reduce_perf -g 4\n" + ranks(1, 4) + kNew + row(10) + "# Avg bus bandwidth : 10\n" +
               "+ ./all_gather_perf -g 4\n" + ranks(1, 4) + kNew + row(7.5) + "# Avg bus bandwidth : 7.5\n" +
               "+ ./sendrecv_perf -g 2\n" + ranks(2, 1) + kNew + row(10),
           "suite.log");
  REQUIRE(imported.tables.size() == 3);
  CHECK(imported.tables[0].skipped == "not a collective of ours");
  CHECK(imported.tables[1].test == "all_gather_perf");
  REQUIRE(imported.samples.size() == 2);
  CHECK(imported.samples[0].kind == CollectiveKind::kAllGather);
  CHECK(imported.samples[1].kind == CollectiveKind::kSendReceive);
  CHECK(imported.samples[1].nodes() == 2);
}

TEST_CASE("layouts that a sample cannot say are skipped with a reason") {
  const auto skipped = [](const std::string& lines) {
    return read("# nThread 1 nGpus 1\n" + lines + kNew + row(10)).tables.front().skipped;
  };
  const auto line = [](int rank, int group, const char* host, int device) {
    return fmt::format("#  Rank {:2} Group {:2} Pid 7 on {} device {} [0x00] X1\n", rank, group, host,
                       device);
  };
  CHECK(skipped(line(0, 0, "a", 0) + line(1, 0, "a", 1) + line(2, 0, "b", 0)) == "2 ranks on a, 1 on b");
  CHECK(skipped(line(0, 0, "a", 0) + line(1, 1, "a", 1)) == "2 groups at a time");
  CHECK(skipped(line(0, 0, "a", 0)) == "one rank");
  CHECK(skipped(line(0, 0, "a", 0) + line(1, 0, "a", 0)) == "two ranks on one device of a");
}

TEST_CASE("other output is passed over, even inside a row") {
  const auto imported = read(ranks(1, 4) + "NCCL version 2.20\n8 GPUs found\n" + kNew + row(15) +
                             "node-0:1:2 [0] NCCL INFO Channel 00\n8 GPUs found\n\n" +
                             "1000000 250000 float sum -1node-0:1:2 [0] NCCL INFO AllReduce: opCount 1\n"
                             "node-0:1:2 [0] NCCL INFO more\n"
                             "100.0 10.00 15.00 0 99.0 10.10 10.10 0\n");
  CHECK(imported.samples.size() == 2);
}

TEST_CASE("a row may be cut at its times by a line, and pieces of it be marked") {
  const std::string head = "1000000 250000 float sum -1", times = "100.0 10.00 15.00 0 99.0 10.10 10.10 0\n";
  CHECK(read(ranks(1, 4) + kNew + head + "\nnode-0:1:2 [0] NCCL INFO more\n" + times).samples.size() == 1);
  CHECK(read(ranks(1, 4) + kNew + "[0]" + head + "[0] 100.0 10.00 15.00 0[0] 99.0 10.10 10.10 0\n")
            .samples.size() == 1);
  CHECK(error_of(ranks(1, 4) + kNew + row(15) + head + "\n# Avg bus bandwidth : 1\n").find("breaks off") !=
        std::string::npos);
}

TEST_CASE("what a log does not say can be given") {
  const std::string table =
      std::string(kNew) + "1000000 250000 float none 0 100.0 10.00 10.00 0 99.0 10.10 10.10 0\n";
  // A broadcast's bus carries the tensor once, however many ranks there are.
  CHECK(error_of(table, "broadcast.log") ==
        "broadcast.log:1:1: error: found no lines '# Rank ... on HOST' before this table, expected them or "
        "ranks and ranks_per_node");
  // Without a type nothing tells whether it counts a share.
  CHECK(error_of(ranks(1, 4) + "# size time algbw busbw\n1000000 100.0 10.00 10.00\n", "x.log") ==
        "x.log:6:1: error: found no name of the test in the log or the file's name, expected one such as "
        "all_reduce_perf, or collective NAME");
  const auto given = parse_nccl_tests(table, "x.log", {CollectiveKind::kBroadcast, 4, 2});
  REQUIRE(given);
  CHECK(given->samples.at(0).nodes() == 2);
}

TEST_CASE("ranks that no line tells follow from busbw / algbw, the collective from the columns") {
  // 2 (n-1)/n = 1.875 for 16 ranks.
  const auto reduced = read(std::string(kNew) + row(18.75), "x.log");
  CHECK(reduced.samples.at(0).kind == CollectiveKind::kAllReduce);
  CHECK(reduced.samples.at(0).ranks == 16);
  CHECK(reduced.samples.at(0).ranks_per_node == 8);
  CHECK(reduced.tables.at(0).assumed ==
        std::vector<std::string>{"all_reduce by its columns", "16 ranks by its figures, 8 a node"});
  // 62,500 floats are a quarter of the megabyte: what one of four ranks gives.
  const std::string share = " -1 100.0 10.00 7.50 0 99.0 10.10 7.58 0\n";
  const auto gathered = read(kNew + ("1000000 62500 float none" + share), "x.log");
  CHECK(gathered.samples.at(0).kind == CollectiveKind::kAllGather);
  CHECK(gathered.samples.at(0).ranks == 4);
  CHECK(read(kNew + ("1000000 62500 float sum" + share), "x.log").samples.at(0).kind ==
        CollectiveKind::kReduceScatter);
  CHECK(parse_nccl_tests(kNew + row(18.75), "x.log", {{}, 0, 4})->samples.at(0).ranks_per_node == 4);
  CHECK(error_of(kNew + row(18.75), "x.log", {{}, 0, 3}) ==
        "x.log:1:1: error: found 16 ranks by its figures and 3 a node, expected a divisor");
}

TEST_CASE("some lines of ranks say the last rank and the devices of a node") {
  const std::string last = "#  Rank 15 Group  0 Pid 7 on node-d device  3 [0x00] X1\n";
  const auto imported = read(last + kNew + row(18.75) + "# Avg bus bandwidth : 18\n" +
                             "#  Rank 7 Group  0 Pid 7 on node-b device  3 [0x00] X1\n" + kNew + row(17.5));
  REQUIRE(imported.samples.size() == 2);
  CHECK(imported.samples[0].ranks == 16);
  CHECK(imported.samples[0].ranks_per_node == 4);
  CHECK(imported.samples[1].ranks == 8);  // counted anew
  // Where they contradict the figures, the figures hold.
  CHECK(read(last + kNew + row(17.5)).tables.at(0).assumed.at(0) ==
        "8 ranks by its figures (its lines of ranks end at 15), 4 a node");
}

TEST_CASE("a blank redop is a cell less; a lost '#' and Markdown's marks are passed over") {
  CHECK(read(ranks(1, 4) + kOld + "1000000 62500 float 100.0 10.00 7.50 N/A 99.0 10.10 7.58 N/A\n",
             "alltoall.log")
            .samples.size() == 1);
  std::string pasted = "> mpirun ./all_reduce_perf -g 4\n```\n" + ranks(1, 4) + kNew + row(15);
  for (std::size_t at = pasted.find("\n# "); at != std::string::npos; at = pasted.find("\n# "))
    pasted.erase(at + 1, 1);
  CHECK(pasted.find("\n#") == std::string::npos);
  CHECK(read(pasted + "```\nIn all 4 GPUs took part.\n", "notes.md").samples.at(0).ranks == 4);
}

TEST_CASE("rccl-tests print the same table under another first line") {
  const auto imported = read(
      "rccl-tests: Version develop:448c4c7\n# nThread: 1 nGpus: 2 minBytes: 8 maxBytes: 8 step: 2(factor)\n"
      "#   Rank  0 Pid 1 on host device  0 [0000:c1:00.0] AMD X\n"
      "#   Rank  1 Pid 1 on host device  1 [0000:c6:00.0] AMD X\n" +
      std::string(kNew) + row(10));
  CHECK(imported.samples.at(0).ranks == 2);
}

TEST_CASE("broken logs are refused where they break") {
  const std::string start = ranks(1, 2) + kNew;
  CHECK(error_of("") ==
        "all_reduce.log:1:1: error: found no table, expected the output of nccl-tests with its "
        "header line ('# size count ...')");
  CHECK(error_of(start) == "all_reduce.log:4:1: error: found a header and no rows, expected sizes and times");
  CHECK(error_of(start + row(10) + "10000") ==
        "all_reduce.log:6:1: error: found a row of 1 words, expected 13 as in the header of line 4");
  CHECK(error_of(start + "0: 1000000 250000 float sum -1 100.0 10.00 1\n") ==
        "all_reduce.log:5:4: error: found a row of 8 words, expected 13 as in the header of line 4");
  CHECK(error_of(start + "1000000 250000 float sum -1 100.0 10.00 10.00 0 99.0 10.10 10.10 0 7\n") ==
        "all_reduce.log:5:68: error: found a row of 14 words, expected 13 as in the header of line 4");
  CHECK(error_of(start + "1000000 250000 float sum -1 1oo.0 10.00 10.00 0 99.0 10.10 10.10 0\n") ==
        "all_reduce.log:5:29: error: time: found '1oo.0', expected a number");
  CHECK(error_of(start + "1000x00 250000 float sum -1 100.0 10.00 10.00 0 99.0 10.10 10.10 0\n") ==
        "all_reduce.log:5:1: error: size: found '1000x00', expected a number");
  CHECK(error_of(start + "1000000 250000 float sum -1 100.0 10.00 10.00 0 99.0 10.10 -1 0\n") ==
        "all_reduce.log:5:60: error: busbw: found '-1', expected a number");
  // The header calls a column what it likes; an error stays a line.
  std::string odd = start;
  odd.replace(odd.find("busbw"), 5, "bu" + std::string(200, '\xff') + "sbw");
  CHECK(error_of(odd + "1000000 250000 float sum -1 100.0 10.00 x 0 99.0 10.10 10.10 0\n").size() < 300);
  CHECK(error_of(start + "99999999999999999999 1 float sum -1 100.0 10.00 10.00 0 99.0 10.10 10.10 0\n") ==
        "all_reduce.log:5:1: error: found a size or time out of range, expected at most 10^15 bytes and "
        "10^12 us");
  CHECK(error_of(start + "1000000 250000 float sum -1node-0:1:2 [0] NCCL INFO x\n") ==
        "all_reduce.log:5:1: error: found a row that other output breaks off, expected its times");
  CHECK(
      error_of(
          "# nThread 1\n#  Rank  0 Pid 1 on a device 0 [0x0] X\n#  Rank  0 Pid 1 on b device 0 [0x0] X\n") ==
      "all_reduce.log:3:10: error: found rank 0 twice, on 'a' and 'b', expected one run a table: were the "
      "tests "
      "built without MPI?");
  CHECK(error_of(
            "# nThread 1\n#  Rank  0 Pid 1 on a device 0 [0x0] X\n#  Rank  2 Pid 1 on b device 0 [0x0] X\n" +
            std::string(kNew)) ==
        "all_reduce.log:4:1: error: found a header and no rows, expected sizes and times");
  CHECK(
      error_of("# nThread 1\n#  Rank  0 Pid 1 on a device 0 [0x0] X\n#  Rank  2 Pid 1 on b device 0 [0x0] "
               "X\n" +
                   std::string(kNew) + row(10),
               "broadcast.log") ==
      "broadcast.log:4:1: error: found 2 lines of ranks from 0 to 2 before this table, expected one for each "
      "from 0");
  CHECK(
      error_of(ranks(1, 4) + kNew + row(7.5)) ==
      "all_reduce.log:6:1: error: found busbw / algbw of 0.75, expected 1.5 for all_reduce of 4 ranks: is it "
      "another collective, or are ranks missing?");
}
