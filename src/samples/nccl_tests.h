// Collective samples from the text that NVIDIA's nccl-tests print (docs/formats/nccl-tests.md):
//
//   # Collective test starting: all_reduce_perf
//   # nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) ...
//   # Using devices
//   #  Rank  0 Group  0 Pid   4711 on     node-a device  0 [0000:07:00] NVIDIA A100-SXM4-80GB
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time ...
//       33554432       8388608     float     sum      -1   412.30   81.38  142.42      0   409.10 ...
//
// Columns go by the header's words, so the layouts of all versions are read by one rule: the first `time` is
// out of place and taken, the second in place and left. `size` is the whole tensor in the sense of
// CollectiveSample::bytes for every test. Each row is held to what the tool computes from it,
//   algbw = size / time,   busbw = algbw x {all_reduce 2 (n-1)/n; all_gather, reduce_scatter, alltoall
//   (n-1)/n; broadcast, sendrecv 1},
// and rejected with a reason where it does not agree (before June 2020 the (n-1)/n of all_gather and
// reduce_scatter stood in algbw too, which is allowed). A pasted log may have lost its lines of ranks, the name
// of its test or a '#': ranks and collective then follow from the figures (samples/nccl_inference.h) and are
// told as assumed. Other output between the lines is passed over; a row
// that is cut short or holds no number is an error with its position.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "samples/collective_sample.h"

namespace foretrain {

// What a log may not say itself: used only where it does not.
struct NcclTestsOptions {
  std::optional<CollectiveKind> collective;
  std::int64_t ranks = 0;           // 0: not given
  std::int64_t ranks_per_node = 0;  // likewise; all on one node where only `ranks` is given
};

struct NcclTable {
  std::string file;
  int line = 0;        // of its header
  std::string test;    // "all_reduce_perf", or a collective's name where the log does not name the test
  std::string layout;  // "2x8"
  std::size_t rows = 0;
  std::size_t samples = 0;
  std::map<std::string, std::size_t> rejected;  // rows by reason
  std::vector<std::string> assumed;  // what the log does not say: "16 ranks by its figures, 8 a node"
  std::string skipped;               // why the whole table is left out; empty: it is not
};

struct NcclTestsImport {
  std::vector<CollectiveSample> samples;
  std::vector<NcclTable> tables;  // in order
};

// A log without a table of rows is an error.
Result<NcclTestsImport> parse_nccl_tests(std::string_view text, const std::string& file_name,
                                         const NcclTestsOptions& options);

// Several logs, in the order given; a sample's source is its file's name (with
// folders, where two have the same). Without any sample: an error.
Result<NcclTestsImport> import_nccl_tests(const std::vector<Source>& logs, const NcclTestsOptions& options);
inline constexpr std::size_t kMaxLogBytes = std::size_t{256} << 20;

// "all_reduce_perf-2n.log:27  all_reduce_perf 2x8  24 rows  24 samples", a line a table, and what was left
// out.
std::string import_text(const NcclTestsImport& imported);

}  // namespace foretrain
