// What data-parallel ranks send each other outside of passes: gradients by the bucket, updated weights.
#pragma once

#include "job/setting.h"
#include "network/network.h"
#include "predict/chunk_memo.h"
#include "predict/evaluation.h"

namespace foretrain {

// Adds to `buckets` those of a chunk, whose rank's clock stretches it, when its last backward has them ready.
// What all of them take, were nothing beside them.
NetworkTime add_buckets(const Setting& setting, const Job& job, const ChunkCost& cost, double stretch,
                        const Network& network, std::vector<Bucket>& buckets);

// Of ZeRO 1 and 2: the updated weights, once a step, by as many collectives as the stack sends (`shard_exchange`), for
// which the host may be too slow. Beside the next forward, bucket by bucket, the first of
// n is waited for, and what (n-1)/n of the forward does not hide of the others; the two slow each other down.
NetworkTime parameter_gather(const Setting& setting, const Timed& e, const Network& network,
                             std::size_t rank);

// Of Muon under ZeRO 2 and 3: shards to whole matrices and back (workload/muon.h).
NetworkTime muon_exchange(const Setting& setting, const Timed& e, const Network& network, std::size_t rank);

}  // namespace foretrain
