// What messages between chunks take: activations down the model, gradients back up.
#pragma once

#include <cstdint>
#include <optional>

#include "job/job.h"
#include "network/network.h"
#include "predict/network_time.h"
#include "timeline/schedule.h"

namespace foretrain {

// Of one job; asks the network once for each kind of boundary. Refers to what it is given.
class Messages {
 public:
  Messages(const Setting& setting, const Job& job, const Pipeline& pipeline, const Network& network);

  // With the gather of what ranks of a tensor-parallel group got in parts. Inside a rank: nothing.
  NetworkTime down(std::int64_t piece) { return send(piece, piece + 1, down_); }
  NetworkTime up(std::int64_t piece) { return send(piece, piece - 1, up_); }

 private:
  // From a piece's rank to that of the next or the one before; interleaved chunks go round from the last rank
  // to the first. Boundaries inside a domain are alike, and so are those that cross one.
  struct Sends {
    Bytes bytes;
    std::optional<NetworkTime> inside, across, round;
  };
  NetworkTime send(std::int64_t from, std::int64_t to, Sends& known) const;

  const Pipeline& pipeline_;
  const Network& network_;
  NetworkTime gather_;
  Sends down_, up_;
};

}  // namespace foretrain
