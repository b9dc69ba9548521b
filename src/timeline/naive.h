// The rules of the timeline, one by one, evaluated again and again in no clever order until nothing changes:
// what the tests hold the simulation against.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "timeline/timeline.h"

namespace foretrain {

struct Naive {
  struct Pass {
    OrderedPass pass;
    std::int64_t piece = 0;
    std::int64_t micro_batch = 0;  // as events number it
    double start = 0.0;
    double end = 0.0;
    double leaves = 0.0;   // its message
    double arrival = 0.0;  // likewise
    double free = 0.0;     // the rank can go on

    EventKind event() const {
      switch (pass.kind) {
        case PassKind::kForward:
          return EventKind::kForward;
        case PassKind::kInput:
          return EventKind::kInput;
        case PassKind::kWeight:
          return EventKind::kWeight;
        default:
          return EventKind::kBackward;
      }
    }
    bool down() const { return pass.kind == PassKind::kForward; }
    bool sends() const { return pass.kind != PassKind::kWeight; }
  };

  const PipelineWork& work;
  Pipeline pipeline = work.pipeline();
  std::vector<std::vector<Pass>> ranks;

  explicit Naive(const PipelineWork& w) : work(w) {
    Orders orders;
    const std::int64_t m = work.micro_batches_per_chunk();
    write_orders(work.schedule, {work.ranks(), work.chunks_per_rank, m}, orders);
    for (std::int64_t r = 0; r < work.ranks(); ++r) {
      auto& passes = ranks.emplace_back();
      std::vector<std::int64_t> forwards(8, 0), backwards(8, 0);
      std::vector<std::vector<std::int64_t>> put_off(8);
      for (const OrderedPass& ordered : orders.expanded(r)) {
        Pass pass;
        pass.pass = ordered;
        pass.piece = pipeline.piece(r, ordered.chunk);
        const std::size_t c = ordered.chunk;
        if (ordered.kind == PassKind::kForward) {
          pass.micro_batch = forwards[c]++;
        } else if (ordered.kind == PassKind::kWeight) {
          pass.micro_batch = put_off[c].front();
          put_off[c].erase(put_off[c].begin());
        } else {
          pass.micro_batch = backwards[c]++;
          if (ordered.kind == PassKind::kInput) put_off[c].push_back(pass.micro_batch);
        }
        passes.push_back(pass);
      }
      if (runs_both_ways(work.schedule))
        for (Pass& pass : passes)
          if (pass.piece >= work.ranks()) pass.micro_batch += m;
    }
    while (improve()) {
    }
  }

  const ChunkLoad& load(const Pass& pass) const { return work.chunks[static_cast<std::size_t>(pass.piece)]; }

  double seconds(const Pass& pass) const {
    const ChunkLoad& l = load(pass);
    switch (pass.pass.kind) {
      case PassKind::kForward:
        return l.forward.value;
      case PassKind::kInput:
        return l.input.value;
      case PassKind::kWeight:
        return l.weight.value;
      default:
        return l.backward.value;
    }
  }

  // The piece that a pass's message goes to; -1: none.
  std::int64_t receiver(const Pass& pass) const {
    if (!pass.sends()) return -1;
    if (pass.down()) return pipeline.last(pass.piece) ? -1 : pass.piece + 1;
    return pipeline.first(pass.piece) ? -1 : pass.piece - 1;
  }
  double send(const Pass& pass) const {
    const std::int64_t to = receiver(pass);
    if (to < 0 || pipeline.rank(to) == pipeline.rank(pass.piece)) return 0.0;
    return (pass.down() ? load(pass).send_forward : load(pass).send_backward).value;
  }

  // What taking its message costs a pass's rank.
  double takes(const Pass& pass) const {
    if (!work.blocking_sends || !work.blocking_receives || !pass.sends()) return 0.0;
    if (pass.down() ? pipeline.first(pass.piece) : pipeline.last(pass.piece)) return 0.0;
    const std::int64_t from = pass.down() ? pass.piece - 1 : pass.piece + 1;
    if (pipeline.rank(from) == pipeline.rank(pass.piece)) return 0.0;
    const ChunkLoad& l = work.chunks[static_cast<std::size_t>(from)];
    return (pass.down() ? l.send_forward : l.send_backward).value;
  }

  // When the message that a pass waits for has arrived, or can be taken.
  double needed(const Pass& pass) const {
    if (!pass.sends()) return 0.0;
    std::int64_t from = pass.down() ? pass.piece - 1 : pass.piece + 1;
    bool down = pass.down();
    if (down && pipeline.first(pass.piece)) return 0.0;
    if (!down && pipeline.last(pass.piece)) from = pass.piece, down = true;
    for (const Pass& other : ranks[static_cast<std::size_t>(pipeline.rank(from))])
      if (other.piece == from && other.sends() && other.down() == down &&
          other.micro_batch == pass.micro_batch)
        return takes(pass) > 0 ? other.leaves : other.arrival;
    CHECK_THAT(false);
    return 0.0;
  }

  bool improve() {
    bool changed = false;
    for (auto& passes : ranks) {
      const auto set = [&changed](double& known, double value) {
        changed = changed || known != value;
        known = value;
      };
      for (std::size_t k = 0; k < passes.size(); ++k) {
        Pass& pass = passes[k];
        const bool second = k > 0 && passes[k - 1].pass.paired;
        double start = k > 0 ? passes[k - 1].free : 0.0;
        if (second) {
          start = passes[k - 1].end;
        } else {
          start = std::max(start, needed(pass));
          if (pass.pass.paired) start = std::max(start, needed(passes[k + 1]));
          start += takes(pass);
          if (pass.pass.paired) start += takes(passes[k + 1]);
        }
        set(pass.start, start);
        set(pass.end, start + seconds(pass));
        // Both messages of a pair leave when both are over, the forward's first.
        double leaves = pass.end;
        if (pass.pass.paired) leaves = pass.end + seconds(passes[k + 1]);
        if (second && work.blocking_sends) leaves = passes[k - 1].arrival;
        set(pass.leaves, leaves);
        double arrival = leaves;
        if (!work.blocking_sends && send_link(pass) >= 0) {  // after the message before it on that link
          for (std::size_t j = 0; j < k; ++j)
            if (send_link(passes[j]) == send_link(pass)) arrival = std::max(arrival, passes[j].arrival);
        }
        set(pass.arrival, arrival + send(pass));
        set(pass.free, work.blocking_sends ? pass.arrival : leaves);
      }
    }
    return changed;
  }

  // Messages from one rank to another: by the rank that they go to.
  std::int64_t send_link(const Pass& pass) const {
    const std::int64_t to = receiver(pass);
    if (to < 0 || pipeline.rank(to) == pipeline.rank(pass.piece)) return -1;
    return pipeline.rank(to);
  }

  double pipeline_end(std::int64_t r) const { return ranks[static_cast<std::size_t>(r)].back().free; }

  // The bytes rule, pass by pass.
  Bytes peak(std::int64_t r) const {
    Bytes held, most;
    for (const Pass& pass : ranks[static_cast<std::size_t>(r)]) {
      const ChunkLoad& l = load(pass);
      if (pass.down()) {
        held += l.held;
        most = std::max(most, held + l.forward_extra);
      } else if (pass.pass.kind == PassKind::kWeight) {
        most = std::max(most, held + l.weight_extra);
        held -= l.held_for_weight;
        most = std::max(most, held + l.backward_end);
      } else {
        most = std::max(most, held + l.backward_extra);
        held -= l.held;
        if (pass.pass.kind == PassKind::kInput) held += l.held_for_weight;
        most = std::max(most, pass.pass.kind == PassKind::kInput ? held : held + l.backward_end);
      }
    }
    return most;
  }
};

}  // namespace foretrain
