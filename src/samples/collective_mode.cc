#include "samples/collective_mode.h"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

constexpr double kReach = 0.6931471805599453;  // a factor of two in size, either way
constexpr double kGrid = kReach / 8;
constexpr double kBand = 0.025;
constexpr double kDrift = 2 * kBand;      // of the mode from one grid step to the next
constexpr double kClear = 0.3;            // share of the rows around that makes another line the mode
constexpr double kNear = 0.405;           // a factor of 1.5: rows within tell the mode's scatter
constexpr std::size_t kDense = 16;        // rows around a size that can have a mode
constexpr std::size_t kMaxWindow = 1024;  // of more, every so many-th

double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

struct Weighted {
  double value, weight;
};

// The middle of the band that holds most, and how much; of bands whose middle lies within kDrift of
// `expected`, where it is given.
Weighted densest(std::vector<Weighted>& values, std::optional<double> expected) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  Weighted best{0, 0};
  double inside = 0;
  for (std::size_t begin = 0, end = 0; begin < values.size(); ++begin) {
    for (; end < values.size() && values[end].value - values[begin].value <= 2 * kBand; ++end)
      inside += values[end].weight;
    const double middle = values[(begin + end - 1) / 2].value;
    if (inside > best.weight && (!expected || std::abs(middle - *expected) <= kDrift))
      best = {middle, inside};
    inside -= values[begin].weight;
  }
  return best;
}

// Of all lines through the window the one with most rows on it; of those that pass near `expected`, where it
// is given. None is a mode of share 0.
Mode densest_line(double at, std::span<const TimedSize> window, std::optional<double> expected) {
  const std::size_t stride = (window.size() + kMaxWindow - 1) / kMaxWindow;
  Mode mode;
  std::vector<Weighted> values;
  for (const double growth : {1.0, 0.75, 0.5, 0.25, 0.0}) {
    values.clear();
    double all = 0;
    for (std::size_t i = 0; i < window.size(); i += stride) {
      const double weight = 1 - std::abs(window[i].size - at) / (1.01 * kReach);
      values.push_back({window[i].time - growth * (window[i].size - at), weight});
      all += weight;
    }
    const Weighted found = densest(values, expected);
    if (found.weight / all > mode.share) mode = {at, growth, found.value, found.weight / all};
  }
  return mode;
}

}  // namespace

Modes::Modes(std::span<const TimedSize> rows) : low_(rows.front().size) {
  const auto steps = static_cast<std::size_t>((rows.back().size - low_) / kGrid) + 2;
  const auto below = [](double limit) { return [limit](const TimedSize& row) { return row.size < limit; }; };
  for (std::size_t i = 0; i < steps; ++i) {
    const auto begin = std::partition_point(rows.begin(), rows.end(), below(at(i) - kReach));
    const auto end = std::partition_point(begin, rows.end(), below(at(i) + kReach));
    windows_.emplace_back(begin, end);
  }
  modes_.resize(steps);
  for (std::size_t begin = 0; begin < steps; ++begin) {
    if (windows_[begin].size() < kDense) continue;
    std::size_t end = begin;
    while (end < steps && windows_[end].size() >= kDense) ++end;
    follow(begin, end);
    begin = end;
  }
}

double Modes::at(std::size_t i) const { return low_ + static_cast<double>(i) * kGrid; }

const std::optional<Mode>& Modes::near(const TimedSize& row) const {
  return modes_[static_cast<std::size_t>((row.size - low_) / kGrid + 0.5)];
}

double Modes::scatter() const {
  std::vector<double> scatters, near;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    if (!modes_[i]) continue;
    near.clear();
    for (const TimedSize& row : windows_[i])
      if (const double off = std::abs(modes_[i]->deviation(row)); off < kNear) near.push_back(off);
    if (!near.empty()) scatters.push_back(quantile(near, 0.5));
  }
  return scatters.empty() ? 0 : quantile(std::move(scatters), 0.25);
}

// From the size where the mode is clearest, step by step to either side. The line goes on where it comes
// from, even if few rows lie on it, unless another one holds the better part of the rows: a step.
void Modes::follow(std::size_t begin, std::size_t end) {
  std::size_t clearest = begin;
  std::vector<Mode> own;
  for (std::size_t i = begin; i < end; ++i) {
    own.push_back(densest_line(at(i), windows_[i], std::nullopt));
    if (own.back().share > own[clearest - begin].share) clearest = i;
  }
  modes_[clearest] = own[clearest - begin];
  const auto settle = [&](std::size_t i, const Mode& from) {
    const Mode& other = own[i - begin];
    const Mode same = densest_line(at(i), windows_[i], from.at_size(at(i)));
    const bool is_step = other.share > kClear && other.share > 2 * same.share;
    modes_[i] = is_step || same.share == 0 ? other : same;
  };
  for (std::size_t i = clearest + 1; i < end; ++i) settle(i, *modes_[i - 1]);
  for (std::size_t i = clearest; i-- > begin;) settle(i, *modes_[i + 1]);
}

}  // namespace foretrain
