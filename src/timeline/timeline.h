// One training step across pipeline ranks: an exact simulation of a schedule over unequal chunks. It knows
// seconds and bytes, not what they mean.
//
// A rank runs its passes in the schedule's order. A forward waits for the message of the chunk before it, a
// backward for that of the chunk after it; a pass ends, its message leaves, and where sends block the rank
// is busy until the message has arrived. Where receives block too, a rank takes the message when it is free,
// and is busy for as long as the sender was. Where nothing blocks, messages from one rank to another follow
// one another. After a chunk's last backward its gradients are reduced (in buckets that may start while that
// backward still runs, one after another on each rank), first and last rank exchange shared embeddings'
// gradients, all ranks meet (the gradient norm is global), then each updates and gathers its weights.
//
// Equal stages without messages cost (m + p - 1)(f + b) under gpipe and 1f1b: the test holds it exactly. The
// other schedules' closed forms are in schedule_*.cc, and held likewise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "timeline/executor.h"
#include "timeline/work.h"

namespace foretrain {

// Its buffers are a few words a chunk, whatever the number of micro-batches, and are reused from call to
// call: no allocation once it has seen the largest shape. Steps that follow one another often have the same
// passes and differ in what comes after them: the passes are then not run again.
class Timeline {
 public:
  // The step's length. `stages` describes the run until the next call. `events`, where given, is emptied and
  // filled: every pass, and everything else that takes time, causes before effects.
  Seconds simulate(const PipelineWork& work, std::vector<Event>* events = nullptr);

  // Likewise with the ranks' orders written out; or what is wrong with them, which never is where
  // write_orders() made them. Chunks lie on ranks as in work.schedule.
  std::optional<std::string> simulate(const PipelineWork& work, const Orders& orders, Seconds& step,
                                      std::vector<Event>* events = nullptr);

  // Each rank's peak of bytes and micro-batches in flight, whatever the times are: the only figures of
  // `stages` that it sets, and those that a simulation would. Likewise `chunks`: orders alone decide them.
  void measure(const PipelineWork& work);

  // Bounds of that length, in a few operations a chunk (bound.cc): least <= simulate <= most. Infinite where
  // there is none. With equal stages without messages all three are equal under gpipe, 1f1b and interleaved.
  Seconds least(const PipelineWork& work);
  Seconds most(const PipelineWork& work);

  std::span<const StageTimes> stages() const { return stages_; }
  std::span<const ChunkCounts> chunks() const { return counts_; }
  // Piece by piece, at the peak of its rank; see Footprint.
  std::span<const std::int64_t> held_at_peak() const { return held_at_peak_; }
  std::span<const std::int64_t> waiting_at_peak() const { return waiting_at_peak_; }

 private:
  // One stage while passes run: what it takes, and how far it has come. Plain doubles, in seconds.
  struct Cursor {
    double forward = 0.0;
    double backward = 0.0;
    double send_forward = 0.0;
    double send_backward = 0.0;
    double receive_forward = 0.0;   // where receives block
    double receive_backward = 0.0;  // likewise
    double free = 0.0;              // when the stage can start its next pass
    double activation = 0.0;        // when the next forward's message has arrived
    double gradient = 0.0;          // likewise the next backward's
    double link_forward = 0.0;      // when the last message to the next stage has arrived
    double link_backward = 0.0;     // likewise to the stage before
    double backward_start = 0.0;    // of the latest backward
    bool waited = false;            // for a message, since it was last asked
    bool sent_at_once = false;      // likewise a message that did not have to wait for the one before it
    std::int64_t forwards = 0;      // so far; counted for events only
    std::int64_t backwards = 0;
  };
  // A chunk's last pass that adds to its gradients.
  struct LastPass {
    double start = 0.0;
    double end = 0.0;
  };

  template <bool kBlocking, bool kRecord>
  class Slots;
  template <bool kBlocking, bool kRecord>
  void run_passes(const PipelineWork& work, std::vector<Event>* events);
  void run_slots(const PipelineWork& work, std::vector<Event>* events);
  void load(const PipelineWork& work);
  void begin(const PipelineWork& work, std::vector<Event>* events);
  void take_ends(const PipelineWork& work);
  void weigh_slots(const PipelineWork& work, std::int64_t stage);
  void take_footprint();
  void hold(const PipelineWork& work);
  void count_by_orders();
  void count_whole(const PipelineWork& work);
  bool follow_orders(const PipelineWork& work);
  void end_chunks(const PipelineWork& work, std::int64_t rank, double end);
  Seconds finish(const PipelineWork& work, std::vector<Event>* events);
  void reduce_gradients(const PipelineWork& work, std::vector<Event>* events);
  Seconds meet_and_update(const PipelineWork& work, std::vector<Event>* events);

  std::vector<StageTimes> stages_;
  std::vector<ChunkCounts> counts_;
  std::vector<std::int64_t> held_at_peak_, waiting_at_peak_, run_held_, run_waiting_;
  std::vector<LastPass> last_;
  std::vector<Cursor> cursors_;  // with one before the first and one after the last stage, to send into
  std::vector<Cursor> cursors_before_;
  Executor executor_;
  OrderBook book_;

  // What was run last, without its buckets, and where it stood when its passes were over.
  struct Known {
    std::vector<ChunkLoad> chunks;
    ScheduleKind schedule = ScheduleKind::k1f1b;
    std::int64_t chunks_per_rank = 0;
    std::int64_t micro_batches = 0;
    bool blocking_sends = false;
    bool blocking_receives = false;

    bool same_shape(const PipelineWork& work) const;
    bool same_bytes(const PipelineWork& work) const;
    bool same_times(const PipelineWork& work) const;
    void take(const PipelineWork& work);
  };
  Known run_, measured_;
  std::vector<StageTimes> run_stages_, measured_stages_;
  std::vector<ChunkCounts> run_counts_;
  std::vector<LastPass> run_last_;
};

}  // namespace foretrain
