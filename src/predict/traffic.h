// What a rank waits for the network between its passes, by purpose. (Collectives inside passes are part of
// their segments.)
#pragma once

#include <array>

#include "predict/evaluation.h"

namespace foretrain {

struct RankTraffic {
  NetworkTime messages;
  NetworkTime reduction;  // of gradients, what no pass hides
  NetworkTime gather;     // of updated weights
  NetworkTime exchange;   // of the tied embedding's gradients

  std::array<NetworkTime, 4> all() const { return {messages, reduction, gather, exchange}; }
};

RankTraffic traffic_of(const Simulated& e, std::size_t rank);

}  // namespace foretrain
