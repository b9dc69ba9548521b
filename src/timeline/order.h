// The order in which ranks run their passes, written compactly: phases that repeat a pattern. A rank takes
// the micro-batches of each chunk and kind of pass in turn, as all published schedules do, so a pass says its
// chunk and kind and needs no number:
//   1f1b, first of 3 ranks, 8 micro-batches     2 x (F)   6 x (F B)   2 x (B)
// This is a few words a rank, whatever the number of micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spec/operator_kind.h"
#include "spec/schedule_kind.h"

namespace foretrain {

// A pass is a forward (kForward, F), a whole backward (kBackward), or one half of a split backward: to inputs
// (kInput, B) or to weights (kWeight, W).
struct OrderedPass {
  PassKind kind = PassKind::kForward;
  // Paired with the next pass: they start together when both may, and both messages leave when both are over.
  bool paired = false;
  std::uint16_t chunk = 0;  // on its rank

  bool operator==(const OrderedPass&) const = default;
};

// How many ranks, chunks on each, and micro-batches through each chunk.
struct PipelineShape {
  std::int64_t ranks = 1;
  std::int64_t chunks = 1;
  std::int64_t micro_batches = 1;

  std::int64_t pieces() const { return ranks * chunks; }
  bool operator==(const PipelineShape&) const = default;
};

// The orders of all ranks, from rank 0 on.
class Orders {
 public:
  struct Phase {
    std::uint32_t first = 0;  // of its passes
    std::uint32_t length = 0;
    std::int64_t repeats = 1;
  };

  void clear();
  void next_rank();  // what is added from here on belongs to the next rank

  void add(OrderedPass pass);  // once, after what is already there
  void repeat(std::span<const OrderedPass> pattern, std::int64_t times);
  void repeat(std::initializer_list<OrderedPass> pattern, std::int64_t times) {
    repeat(std::span(pattern.begin(), pattern.size()), times);
  }
  // What is added between these is repeated; not at all if zero times.
  void begin_pattern();
  void end_pattern(std::int64_t times);

  // A pattern in which each pass lags behind the turn by so many micro-batches: turn x holds pass j of
  // micro-batch x - lag_j where there is one. 1f1b on rank r of p is F with lag 0 and B with lag p - 1 - r.
  struct Lagging {
    OrderedPass pass;
    std::int64_t lag = 0;
  };
  void add_lagging(std::span<const Lagging> pattern, std::int64_t micro_batches);

  std::int64_t ranks() const { return static_cast<std::int64_t>(starts_.size()); }
  std::span<const Phase> phases(std::int64_t rank) const;
  std::span<const OrderedPass> passes(const Phase& phase) const {
    return std::span(passes_).subspan(phase.first, phase.length);
  }

  // Written out, for tests and small orders.
  std::vector<OrderedPass> expanded(std::int64_t rank) const;

 private:
  std::vector<OrderedPass> passes_;
  std::vector<Phase> phases_;
  std::vector<std::size_t> starts_;  // each rank's first phase
};

// "F", "B" (whole or to inputs) or "W", then the micro-batch, then ".chunk" beyond the first: "F0 F1 B0
// F0.1". A whole backward of an order that splits others is "BW".
std::string to_text(std::span<const OrderedPass> passes);

// What is wrong with the orders' counts: every chunk needs each micro-batch once forward, and once backward,
// whole or in two halves, each half after the pass that it follows from.
std::optional<std::string> miscounted(const Orders& orders, const PipelineShape& shape);

}  // namespace foretrain
