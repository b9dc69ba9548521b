#include "predict/traffic.h"

namespace foretrain {

RankTraffic traffic_of(const Simulated& e, std::size_t rank) {
  const StageTimes& times = e.times()[rank];
  RankTraffic traffic;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
    const ChunkTraffic& chunk = e.traffic[e.piece(rank, c)];
    traffic.messages += chunk.messages;
    traffic.reduction += chunk.reduction;
  }
  traffic.messages = traffic.messages.waited_for(times.sending);
  traffic.reduction = traffic.reduction.waited_for(times.reduce_end - times.pipeline_end);
  traffic.gather = e.gathers[rank];
  traffic.exchange = e.exchange.waited_for(times.exchange);
  return traffic;
}

}  // namespace foretrain
