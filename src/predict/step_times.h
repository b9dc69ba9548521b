// The second half of an evaluation: what passes, messages, reductions and updates take.
#pragma once

#include "job/setting.h"
#include "network/network.h"
#include "predict/chunk_memo.h"
#include "predict/evaluation.h"

namespace foretrain {

// Of a plan that has been placed and weighed, with its shape still in use.
void add_times(const Setting& setting, const Network& network, ChunkMemo& memo, Timed& e);

}  // namespace foretrain
