// What one search is asked over: counts of GPUs, and lengths with batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/search.h"
#include "base/result.h"
#include "search/answer.h"
#include "spec/cluster.h"

namespace foretrain {

// "64", "64,128", "64..512": of a range those that the cluster can be cut into, in order.
Result<std::vector<std::int64_t>> gpu_counts(const std::string& text, const Cluster& cluster);

// Each length with each batch into `out.over`, the first that can be searched into `out.problem`, whose model, cluster, stack
// and GPUs are read. What does not go together is that point's matter, unless it is all of them.
Result<void> read_points(const SearchRequest& request, AnswerRequest& out);

}  // namespace foretrain
