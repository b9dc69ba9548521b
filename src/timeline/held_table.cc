#include "timeline/held_table.h"

#include <algorithm>
#include <functional>

namespace foretrain {

// Goes through an order, counting, and keeps the moments that matter.
class HeldTable::Writer {
 public:
  Writer(HeldTable& out, std::size_t chunks) : out_(out), now_(out.width_, 0), classes_(chunks * kClasses) {}

  void go_through(std::span<const OrderedPass> passes) {
    for (const OrderedPass& pass : passes) {
      if (pass.kind == PassKind::kForward)
        forward(pass);
      else if (pass.kind == PassKind::kWeight)
        weight(pass);
      else
        backward(pass);
    }
  }

  // What a repeat adds is the same each time: the moments between the first and the last lie on a line with theirs.
  void go_through_ends(std::span<const OrderedPass> passes, std::int64_t repeats) {
    const std::vector<std::int32_t> before = now_;
    const std::int64_t flying_before = flying_, skipped = repeats - 2;
    go_through(passes);
    for (std::size_t i = 0; i < now_.size(); ++i)
      now_[i] += static_cast<std::int32_t>(skipped) * (now_[i] - before[i]);
    flying_ += skipped * (flying_ - flying_before);
    go_through(passes);
  }

  // Those that are left, in the order in which they came.
  void write() {
    std::vector<const Found*> found;
    for (const auto& moments : classes_)
      for (const Found& one : moments) found.push_back(&one);
    std::sort(found.begin(), found.end(), [](const Found* a, const Found* b) { return a->time < b->time; });
    for (const Found* one : found) {
      out_.moments_.push_back(one->moment);
      out_.counts_.insert(out_.counts_.end(), one->counts.begin(), one->counts.end());
    }
  }

 private:
  struct Found {
    Moment moment;
    std::int64_t time = 0;
    std::vector<std::int32_t> counts;
  };
  static constexpr std::size_t kClasses = 8;  // kinds of passes, at work or at their end

  std::int32_t& waiting(std::uint16_t chunk) { return now_[out_.most_.size() + chunk]; }

  void forward(const OrderedPass& pass) {
    std::int64_t& most = out_.most_[pass.chunk];
    most = std::max<std::int64_t>(most, ++now_[pass.chunk]);
    out_.in_flight_ = std::max(out_.in_flight_, ++flying_);
    reach({pass.kind, false, pass.chunk});
  }

  void weight(const OrderedPass& pass) {
    reach({pass.kind, false, pass.chunk});
    --waiting(pass.chunk);
    reach({pass.kind, true, pass.chunk});
  }

  // Whole, or to inputs alone.
  void backward(const OrderedPass& pass) {
    reach({pass.kind, false, pass.chunk});
    --now_[pass.chunk], --flying_;
    if (pass.kind == PassKind::kInput) ++waiting(pass.chunk);
    reach({pass.kind, true, pass.chunk});
  }

  static bool covers(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), std::greater_equal<>());
  }

  // Whether b lies between a and c: (b - a) x (c - b) = 0, and both go the same way.
  static bool between(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b,
                      const std::vector<std::int32_t>& c) {
    std::int64_t first = 0, second = 0;  // of the first count that changes
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::int64_t x = b[i] - a[i], y = c[i] - b[i];
      if (first == 0 && second == 0) first = x, second = y;
      if (first * y != second * x || x * y < 0) return false;
    }
    return first != 0 && second != 0;
  }

  // One that another moment of the same pass exceeds or equals in all counts is not the first to hold the most, nor
  // is one that lies between two others.
  void reach(const Moment& moment) {
    ++time_;
    auto& known =
        classes_[moment.chunk * kClasses + 2 * static_cast<std::size_t>(moment.kind) + moment.at_end];
    if (std::any_of(known.rbegin(), known.rend(), [&](const Found& one) { return covers(one.counts, now_); }))
      return;
    std::erase_if(known, [&](const Found& one) { return covers(now_, one.counts); });
    if (const std::size_t n = known.size(); n >= 2 && between(known[n - 2].counts, known[n - 1].counts, now_))
      known.pop_back();
    known.push_back({moment, time_, now_});
  }

  HeldTable& out_;
  std::vector<std::int32_t> now_;
  std::int64_t flying_ = 0, time_ = 0;
  std::vector<std::vector<Found>> classes_;
};

HeldTable::HeldTable(const Orders& orders, std::int64_t rank, std::int64_t chunks)
    : most_(static_cast<std::size_t>(chunks), 0), backwards_(static_cast<std::size_t>(chunks)) {
  bool splits = false;
  for (const Orders::Phase& phase : orders.phases(rank))
    for (const OrderedPass& pass : orders.passes(phase)) {
      ChunkCounts& counts = backwards_[pass.chunk];
      if (pass.kind == PassKind::kBackward) counts.whole += phase.repeats;
      if (pass.kind == PassKind::kInput) counts.split += phase.repeats, splits = true;
    }
  width_ = most_.size() * (splits ? 2 : 1);
  Writer writer(*this, most_.size());
  for (const Orders::Phase& phase : orders.phases(rank)) {
    const auto passes = orders.passes(phase);
    if (phase.repeats > 2) {
      writer.go_through_ends(passes, phase.repeats);
    } else {
      for (std::int64_t i = 0; i < phase.repeats; ++i) writer.go_through(passes);
    }
  }
  writer.write();
}

}  // namespace foretrain
