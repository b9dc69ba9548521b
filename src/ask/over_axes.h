// The words of --over: one or two keys, each with what it is set to.
//   inter_gbps=100..3200        a range (number_range.h)
//   tp=1,2,4,8,zero=0..3        lists; a word without a key belongs to the key before it
// Keys are those of a run (gpus, seq, global_batch, model, cluster, stack, documents, task), of a plan, and of a cluster
// and its GPU (spec/cluster_figures.h).
#pragma once

#include <string_view>
#include <vector>

#include "ask/number_range.h"
#include "base/result.h"
#include "job/parse_run.h"
#include "report/over_report.h"

namespace foretrain {

inline constexpr std::size_t kMostOverPoints = kMostRangePoints;

// Unknown keys and words that a key cannot have are refused; what does not go together is a point's matter.
Result<std::vector<OverAxis>> parse_axes(std::string_view text);

// Whether the key is of model, cluster or stack as a whole.
bool names_a_spec(std::string_view key);

// Puts a word of an axis into the words of a run; false: it is a figure of the cluster.
bool put_word(RunOptions& options, std::string_view key, const std::string& word);

}  // namespace foretrain
