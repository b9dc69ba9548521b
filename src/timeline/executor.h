// Runs ranks through explicit orders of passes, and says when each ends. This is the simulation for any
// schedule; timeline.cc has a shorter way for the two most common ones.
//
// Every rank goes through its order until it needs a message that is not there yet. Then others run on; the
// rank that sends the message wakes it. Times do not depend on who runs first: a pass starts at the later of
// the end of the pass before it and the arrival of its message. If ranks are left that wait for each other,
// the orders are wrong, and the cycle is named. Between two chunks messages keep their order, so what has
// arrived and has not been used is a queue, never longer than the micro-batches in flight: a few words a
// chunk, whatever m is.
//
// Many micro-batches settle into a steady state, which is not simulated twice. A rank's longest phase repeats
// one pattern. Once every pass and message of it comes later than a period of repeats ago by the same time c,
// on all ranks and for as many repeats as messages reach back, the repeats after that can only do the same: a
// pass starts at the later of two times, and both are c later. So clocks are put forward by n c instead of
// running n periods. The full simulation, which runs where events are recorded, differs by rounding alone; a
// test holds the two together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "timeline/footprint.h"
#include "timeline/schedule.h"
#include "timeline/work.h"

namespace foretrain {

class Executor {
 public:
  // The deadlock, where there is one. Orders must be complete (miscounted() in order.h) and measured.
  // `events` as of Timeline::simulate.
  std::optional<std::string> run(const PipelineWork& work, const Orders& orders, std::vector<Event>* events);

  // What the orders hold, without running them.
  void measure(const PipelineWork& work, const Orders& orders) { footprint_.measure(work, orders); }
  void measure(const PipelineWork& work, OrderBook& book) { footprint_.measure(work, book); }

  // Of the last run: when a rank has ended its last pass and that one's send; when a piece's last pass that
  // adds to weight gradients ran; what the orders hold; the repeats that were passed over.
  Seconds rank_end(std::size_t rank) const { return Seconds(ranks_[rank].free); }
  Seconds last_start(std::size_t piece) const { return Seconds(pieces_[piece].last_start); }
  Seconds last_end(std::size_t piece) const { return Seconds(pieces_[piece].last_end); }
  const Footprint& footprint() const { return footprint_; }
  std::int64_t passed_over() const { return passed_over_; }

 private:
  enum Way : std::uint8_t { kDown = 0, kUp = 1 };  // activations go down the model, gradients up

  struct Turn {
    PassKind kind = PassKind::kForward;
    bool paired = false;
    std::uint16_t piece = 0;
  };
  // Messages that have come to a piece one way and have not been used.
  struct Queue {
    std::uint32_t start = 0;  // in arrivals_
    std::uint32_t mask = 0;   // its length, a power of two, less one
    std::uint32_t put = 0;
    std::uint32_t taken = 0;
    std::int32_t waiting = -1;  // the rank that can go on when something comes

    bool empty() const { return put == taken; }
  };
  struct Piece {
    double seconds[4] = {0, 0, 0, 0};  // by kind of pass
    double send[2] = {0, 0};
    double travel[2] = {0, 0};          // of it what passes before the message can be taken
    double receive[2] = {0, 0};         // what taking one costs the rank
    std::int32_t target[2] = {-1, -1};  // the queue that its messages go to, 2 * piece + way; none
    std::int32_t link[2] = {0, 0};      // by which they go
    std::uint32_t put_off = 0;          // weight halves
    double last_start = 0.0;
    double last_end = 0.0;
  };
  // How much later than a period ago the passes of a repeat are, at least and at most.
  struct Lateness {
    double least = 1e300;
    double most = -1e300;

    void note(double& known, double now) {
      const double later = now - known;
      known = now;
      least = std::min(least, later);
      most = std::max(most, later);
    }
  };
  struct Rank {
    double free = 0.0;
    const Orders::Phase* phase = nullptr;  // where it is in its order
    const Orders::Phase* end = nullptr;
    std::uint32_t at = 0;
    std::int64_t repeat = 0;

    const Orders::Phase* longest = nullptr;
    Lateness late;
    double pace = 0.0;        // how much later the repeats before it were
    std::int64_t steady = 0;  // and how many of them were alike
  };

  template <bool kBlocking, bool kRecord>
  class Walk;

  void load(const PipelineWork& work, const Orders& orders);
  void load_turns(const Orders& orders, std::int64_t rank);
  void load_piece(const PipelineWork& work, std::int64_t n);
  void make_queues(std::int64_t micro_batches);
  void watch(bool recorded);
  void count_micro_batches();
  double end_repeat(Rank& rank, const Lateness& late, double free);
  template <bool kBlocking, bool kRecord>
  void run_all(std::vector<Event>* events);
  template <bool kBlocking, bool kRecord>
  void advance(std::int32_t rank, std::vector<Event>* events);
  double take(Queue& queue) const { return arrivals_[queue.start + (queue.taken++ & queue.mask)]; }
  template <bool kBlocking>
  double deliver(const Piece& piece, Way way, double end, double& arrival);
  std::optional<std::string> deadlock() const;
  // The queue that the next pass of a waiting rank lacks a message in, and that pass.
  std::int32_t lacking(std::int32_t rank) const;

  Pipeline pipeline_;
  std::vector<Turn> turns_;
  std::vector<Piece> pieces_;
  std::vector<Queue> queues_;
  std::vector<Rank> ranks_;
  std::vector<double> links_;
  std::vector<double> arrivals_;
  std::vector<std::int32_t> ready_;  // ranks that can go on
  Footprint footprint_;
  bool watching_ = false;
  std::int64_t passed_over_ = 0;
  std::int64_t period_ = 1;                       // repeats after which they are compared
  std::int64_t reach_ = 0;                        // repeats that a message reaches back, at most
  std::vector<double> last_free_, last_arrival_;  // of each turn, in the last period
  std::vector<std::int64_t> before_down_, before_up_, each_down_, each_up_;
};

}  // namespace foretrain
