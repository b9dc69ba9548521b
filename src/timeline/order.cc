#include "timeline/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace foretrain {

void Orders::clear() {
  passes_.clear();
  phases_.clear();
  starts_.clear();
}

void Orders::next_rank() { starts_.push_back(phases_.size()); }

void Orders::add(OrderedPass pass) {
  CHECK_THAT(!starts_.empty());
  // A pass joins the phase before it if that one is not repeated and ends where this begins.
  if (phases_.size() == starts_.back() || phases_.back().repeats != 1 ||
      phases_.back().first + phases_.back().length != passes_.size())
    phases_.push_back({static_cast<std::uint32_t>(passes_.size()), 0, 1});
  passes_.push_back(pass);
  ++phases_.back().length;
}

void Orders::repeat(std::span<const OrderedPass> pattern, std::int64_t times) {
  CHECK_THAT(!starts_.empty());
  if (times <= 0 || pattern.empty()) return;
  phases_.push_back(
      {static_cast<std::uint32_t>(passes_.size()), static_cast<std::uint32_t>(pattern.size()), times});
  passes_.insert(passes_.end(), pattern.begin(), pattern.end());
}

void Orders::begin_pattern() {
  CHECK_THAT(!starts_.empty());
  phases_.push_back({static_cast<std::uint32_t>(passes_.size()), 0, 1});
}

void Orders::end_pattern(std::int64_t times) {
  phases_.back().repeats = times;
  if (times > 0 && phases_.back().length > 0) return;
  passes_.resize(phases_.back().first);
  phases_.pop_back();
}

void Orders::add_lagging(std::span<const Lagging> pattern, std::int64_t micro_batches) {
  constexpr std::size_t kMost = 4;
  CHECK_THAT(pattern.size() <= kMost);
  // Which passes a turn holds changes only where one of them begins or ends.
  std::array<std::int64_t, 2 * kMost> changes{};
  std::size_t count = 0;
  for (const Lagging& entry : pattern) {
    changes[count++] = entry.lag;
    changes[count++] = entry.lag + micro_batches;
  }
  std::sort(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i + 1 < count; ++i) {
    std::array<OrderedPass, kMost> turn{};
    std::size_t length = 0;
    for (const Lagging& entry : pattern)
      if (entry.lag <= changes[i] && changes[i] < entry.lag + micro_batches) turn[length++] = entry.pass;
    repeat(std::span(turn).first(length), changes[i + 1] - changes[i]);
  }
}

std::span<const Orders::Phase> Orders::phases(std::int64_t rank) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t end = r + 1 < starts_.size() ? starts_[r + 1] : phases_.size();
  return std::span(phases_).subspan(starts_[r], end - starts_[r]);
}

std::vector<OrderedPass> Orders::expanded(std::int64_t rank) const {
  std::vector<OrderedPass> all;
  for (const Phase& phase : phases(rank))
    for (std::int64_t i = 0; i < phase.repeats; ++i)
      all.insert(all.end(), passes(phase).begin(), passes(phase).end());
  return all;
}

std::string to_text(std::span<const OrderedPass> passes) {
  std::vector<std::int64_t> forwards, backwards, waiting;  // of each chunk
  const bool splits = std::any_of(passes.begin(), passes.end(),
                                  [](const OrderedPass& pass) { return pass.kind == PassKind::kWeight; });
  std::string text;
  for (const OrderedPass& pass : passes) {
    if (pass.chunk >= forwards.size())
      for (auto* counts : {&forwards, &backwards, &waiting}) counts->resize(pass.chunk + 1u, 0);
    const std::size_t c = pass.chunk;
    std::int64_t micro_batch = 0;
    std::string_view word = "F";
    if (pass.kind == PassKind::kForward) {
      micro_batch = forwards[c]++;
    } else if (pass.kind == PassKind::kWeight) {
      word = "W";
      micro_batch = backwards[c] - waiting[c]--;
    } else {
      word = splits && pass.kind == PassKind::kBackward ? "BW" : "B";
      micro_batch = backwards[c]++;
      if (pass.kind == PassKind::kInput) ++waiting[c];
    }
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", word, micro_batch);
    if (c > 0) text += fmt::format(".{}", c);
    if (pass.paired) text += "+";
  }
  return text;
}

std::optional<std::string> miscounted(const Orders& orders, const PipelineShape& shape) {
  if (orders.ranks() != shape.ranks)
    return fmt::format("orders of {} ranks, expected {}", orders.ranks(), shape.ranks);
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    struct Counts {
      std::int64_t forwards = 0, backwards = 0, halves = 0, weights = 0;
    };
    std::vector<Counts> chunks(static_cast<std::size_t>(shape.chunks));
    const auto all = orders.expanded(rank);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].chunk >= shape.chunks) return fmt::format("rank {} has no chunk {}", rank, all[i].chunk);
      if (all[i].paired && (i + 1 == all.size() || all[i].kind != PassKind::kForward ||
                            all[i + 1].kind == PassKind::kForward || all[i + 1].kind == PassKind::kWeight))
        return fmt::format("rank {} pairs pass {} with no backward", rank, i);
      Counts& counts = chunks[all[i].chunk];
      switch (all[i].kind) {
        case PassKind::kForward:
          ++counts.forwards;
          break;
        case PassKind::kBackward:
          ++counts.backwards;
          break;
        case PassKind::kInput:
          ++counts.backwards, ++counts.halves;
          break;
        case PassKind::kWeight:
          if (++counts.weights > counts.halves)
            return fmt::format("rank {} runs W of chunk {} before its B", rank, all[i].chunk);
          break;
        case PassKind::kStep:
          return fmt::format("rank {} has a step among its passes", rank);
      }
    }
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      if (chunks[c].forwards != shape.micro_batches || chunks[c].backwards != shape.micro_batches ||
          chunks[c].halves != chunks[c].weights)
        return fmt::format("rank {}, chunk {}: {} F, {} B, {} halves and {} W of {} micro-batches", rank, c,
                           chunks[c].forwards, chunks[c].backwards, chunks[c].halves, chunks[c].weights,
                           shape.micro_batches);
    }
  }
  return std::nullopt;
}

}  // namespace foretrain
