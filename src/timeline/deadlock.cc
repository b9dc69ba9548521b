// What is wrong with orders in which ranks wait for each other: the cycle, by name.
#include <fmt/format.h>

#include <algorithm>

#include "timeline/executor.h"

namespace foretrain {

std::int32_t Executor::lacking(std::int32_t r) const {
  const Rank& rank = ranks_[static_cast<std::size_t>(r)];
  if (rank.phase == rank.end) return -1;
  const Turn& turn = turns_[rank.phase->first + rank.at];
  const auto queue =
      static_cast<std::int32_t>(2 * turn.piece + (turn.kind == PassKind::kForward ? kDown : kUp));
  if (!turn.paired || queues_[static_cast<std::size_t>(queue)].empty()) return queue;
  return 2 * turns_[rank.phase->first + rank.at + 1].piece + kUp;
}

// Ranks that cannot go on wait for ranks that cannot go on: following them ends in a cycle.
std::optional<std::string> Executor::deadlock() const {
  std::int32_t rank = -1;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (ranks_[r].phase != ranks_[r].end) rank = static_cast<std::int32_t>(r);
  if (rank < 0) return std::nullopt;
  const auto sender = [&](std::int32_t queue) -> std::int64_t {
    const std::int64_t piece = queue / 2;
    if (queue % 2 == kDown) return pipeline_.rank(piece - 1);
    return pipeline_.rank(pipeline_.last(piece) ? piece : piece + 1);
  };
  for (std::size_t i = 0; i < ranks_.size(); ++i) rank = static_cast<std::int32_t>(sender(lacking(rank)));
  std::int32_t first = rank;  // the lowest of the cycle
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    rank = static_cast<std::int32_t>(sender(lacking(rank)));
    first = std::min(first, rank);
  }
  std::string text = "deadlock";
  rank = first;
  do {
    const std::int32_t queue = lacking(rank);
    const std::int64_t piece = queue / 2;
    const bool down = queue % 2 == kDown;
    const bool own = !down && pipeline_.last(piece);
    const auto next = static_cast<std::int32_t>(sender(queue));
    text += fmt::format("{} rank {} waits in {}{} of chunk {} for {} of rank {}", rank == first ? ":" : ",",
                        rank, down ? "F" : "B", queues_[static_cast<std::size_t>(queue)].taken,
                        pipeline_.chunk(piece), down || own ? "F" : "B", next);
    rank = next;
  } while (rank != first);
  return text;
}

}  // namespace foretrain
