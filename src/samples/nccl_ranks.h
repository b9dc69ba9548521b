// Who took part in a run of nccl-tests, by the lines that it prints before its table:
//   #  Rank  3 Group  0 Pid   4711 on     node-a device  3 [0x0f] NVIDIA A100-SXM4-80GB
// (versions before 2022 have no Group), and how those ranks lie on nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "samples/nccl_line.h"

namespace foretrain {

struct NcclRank {
  std::int64_t rank = 0, group = 0;
  std::string host, device;  // device with what tells GPUs of one number apart: "0[0x0f]"
};

// None where the words are no such line.
std::optional<NcclRank> nccl_rank(const std::vector<NcclWord>& words);

struct NcclLayout {
  std::int64_t ranks = 0, ranks_per_node = 0;
  std::string skipped;  // why no sample can say it: "6 ranks on node-a, 2 on node-b"; empty: it can
};

// One line for each rank from 0, so far as their number goes.
bool is_complete(std::span<const NcclRank> ranks);

// What some of the lines tell, as where a document leaves the others out: the highest rank is the last, the
// highest device of a node its last. 0 where there are none.
NcclLayout partial_layout(std::span<const NcclRank> ranks);

// Ranks a node where nothing tells: the most up to eight that divide them.
std::int64_t usual_node(std::int64_t ranks);

// Of at least one rank. Ranks that stand twice or are missing are an error at `table`.
Result<NcclLayout> nccl_layout(std::span<const NcclRank> ranks, const Position& table);

}  // namespace foretrain
