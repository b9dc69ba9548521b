// The first half of an evaluation: where a plan's chunks lie and what they hold. No pass is laid out.
#pragma once

#include <cstdint>
#include <span>

#include "job/job.h"
#include "network/network.h"
#include "predict/chunk_memo.h"
#include "predict/evaluation.h"

namespace foretrain {

// The chunks of every rank, `layers` each in the model's order, and the states that they bring, in bytes.
void deal_out(const Setting& setting, const Job& job, std::span<const Chunk> layers, const Network& network,
              ChunkMemo& memo, Dealt& e);

// Every rank's memory and the worst stage, of what has been dealt out.
void add_bytes(const Setting& setting, Dealt& e);

}  // namespace foretrain
