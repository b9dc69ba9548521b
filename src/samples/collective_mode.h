// The mode of times over sizes: the line on which most rows lie, whatever the others do.
//
// Times of a collective follow t = c bytes^g for a while, with g between 0 (latency) and 1 (bandwidth), so in
// logarithms a line. Around a size (a factor of two either way, the nearer counting more) the mode is the
// line with the most rows within 2.5 %, over g = 0, 1/4 .. 1: the densest, not the median, so a tight fifth
// of the rows wins over four fifths that scatter over a factor of ten. It is found where it is clearest and
// followed from there, a twelfth of the size at a time, to smaller and larger ones, and so through sizes
// where few rows reach it; another line takes over where it holds over 30 % of the rows and twice as many as
// the old one.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace foretrain {

// Logarithms of bytes and seconds.
struct TimedSize {
  double size = 0, time = 0;
};

// time = level + growth (size - at), for sizes near `at`.
struct Mode {
  double at = 0, growth = 0, level = 0;
  double share = 0;  // of the rows around that lie on it, the nearer counting more
  double at_size(double size) const { return level + growth * (size - at); }
  double deviation(const TimedSize& row) const { return row.time - at_size(row.size); }
};

class Modes {
 public:
  // `rows` in order of size, at least one; they must outlive this.
  explicit Modes(std::span<const TimedSize> rows);

  // None where fewer than 16 rows lie around.
  const std::optional<Mode>& near(const TimedSize& row) const;

  // How far rows of the mode typically lie from it, taken where the fewest others are mixed in (the first
  // quartile over all sizes); 0 without any mode.
  double scatter() const;

 private:
  double at(std::size_t i) const;
  void follow(std::size_t begin, std::size_t end);

  double low_;
  std::vector<std::span<const TimedSize>> windows_;
  std::vector<std::optional<Mode>> modes_;
};

}  // namespace foretrain
