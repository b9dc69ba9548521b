// A collective timed on placed ranks. Such samples live in CSV files (docs/formats/collective-samples.md):
//   collective,bytes,ranks,ranks_per_node,us,spread,algorithm,protocol,source,tokens,hidden,top_k,experts,sms
// `us` is the time until the last rank has its result (the median where several were taken), `spread` its
// relative standard deviation. Columns stand in any order; the first five must be there and filled, the
// others may be missing or empty. A dispatch or combine must say its tokens, top_k and experts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "spec/collective_kind.h"
#include "spec/routing.h"

namespace foretrain {

struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  // As Collective::bytes: an all-gather's result, a reduce-scatter's operand, one rank's buffer of an
  // all-to-all, one message; of a dispatch or combine tokens x top_k x row.
  Bytes bytes;
  std::int64_t ranks = 2;
  std::int64_t ranks_per_node = 1;  // divides ranks
  Seconds seconds;
  double spread = 0;      // 0: unknown
  std::string algorithm;  // "ring"; empty: unknown
  std::string protocol;   // "LL128"; likewise
  std::string source;     // where it comes from: what a study may keep apart, and reports name
  // Of a dispatch or combine:
  std::int64_t tokens = 0;  // of a rank
  std::int64_t hidden = 0;  // elements of a row; 0: unknown
  std::int32_t top_k = 0;
  std::int32_t experts = 0;
  std::int32_t sms = 0;  // that its kernels hold; 0: unknown

  Routing routing() const {
    if (tokens == 0) return {};
    return {experts, top_k, bytes / (static_cast<double>(tokens) * top_k)};
  }
  std::int64_t nodes() const { return ranks / ranks_per_node; }
  bool operator==(const CollectiveSample&) const = default;
};

// A file, or every *.csv of a folder, in order of name, tables of operators left out; at most kMaxSamples
// (samples/sample_table.h) in all. Bad cells are errors with their position; an empty set is an error. A row
// without `source` gets the file's name.
Result<std::vector<CollectiveSample>> read_collective_samples(const Files& files, const std::string& path);
Result<std::vector<CollectiveSample>> parse_collective_samples(Sources tables);
Result<std::vector<CollectiveSample>> parse_collective_samples(std::string text,
                                                               const std::string& file_name);
std::string to_csv(const std::vector<CollectiveSample>& samples);

// "all_gather 4x2": nodes by ranks a node; "dispatch 1x8 7168 8/256 20 SMs": with the row's elements and the
// routing. Samples of equal labels are cleaned together.
std::string layout_label(const CollectiveSample& sample);

// What a bus carries for each byte of the tensor, as nccl-tests counts: time * bus bandwidth = bytes * this.
double bus_factor(CollectiveKind kind, std::int64_t ranks);

// A file's name as a source: what a table's cell cannot hold becomes '_'.
std::string source_label(std::string_view file_name);

}  // namespace foretrain
