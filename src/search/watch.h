// A search as its caller sees it while it runs: how much is decided, the best so far; and whether it is to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "search/engine.h"

namespace foretrain {

// For Space::make before a search with these options: counting takes no more than half of its time. Ranks of a team number
// plans alike, so they count all.
std::function<bool()> stop_of_counting(const SearchOptions& options);

class Watch {
 public:
  Watch(const Space& space, const SearchOptions& options) : space_(space), options_(options) {}

  bool asked_to_stop() const;
  void decided(std::uint64_t plans);  // from any thread

  // Between rounds: the best plan known, where it is better; and the least that is open in what items are ordered by.
  void note_best(const ScoredPlan* plan);
  void note_least(double key) { least_ = key; }

 private:
  std::optional<double> gap() const;

  const Space& space_;
  const SearchOptions& options_;
  std::atomic<std::uint64_t> done_ = 0;
  std::optional<ScoredPlan> best_;
  std::optional<double> least_;
};

}  // namespace foretrain
