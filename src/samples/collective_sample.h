// A collective timed on placed ranks. Such samples live in CSV files (docs/formats/collective-samples.md):
//   collective,bytes,ranks,ranks_per_node,us,spread,algorithm,protocol,source
// `us` is the time until the last rank has its result (the median where several were taken), `spread` its
// relative standard deviation. Columns stand in any order; the first five must be there and filled, the
// others may be missing or empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "spec/collective_kind.h"

namespace foretrain {

struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  // As Collective::bytes: an all-gather's result, a reduce-scatter's operand, one rank's buffer of an
  // all-to-all, one message.
  Bytes bytes;
  std::int64_t ranks = 2;
  std::int64_t ranks_per_node = 1;  // divides ranks
  Seconds seconds;
  double spread = 0;      // 0: unknown
  std::string algorithm;  // "ring"; empty: unknown
  std::string protocol;   // "LL128"; likewise
  std::string source;     // where it comes from: what a study may keep apart, and reports name

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

// "all_gather 4x2": nodes by ranks a node. Samples of equal labels are fitted and cleaned together.
std::string layout_label(const CollectiveSample& sample);

// What a bus carries for each byte of the tensor, as nccl-tests counts: time * bus bandwidth = bytes * this.
double bus_factor(CollectiveKind kind, std::int64_t ranks);

// A file's name as a source: what a table's cell cannot hold becomes '_'.
std::string source_label(std::string_view file_name);

}  // namespace foretrain
