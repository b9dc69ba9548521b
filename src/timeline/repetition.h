// Whether clocks that have advanced by a period will advance so again, to the last bit.
//
// Between two powers of two a double is a whole number of units u. There a sum x + k is rounded the same way
// wherever x is, as long as x moves by whole numbers of units, and by even ones, since halves are rounded to even.
// So where every clock of a simulation has moved by a multiple d of 2 u, those that wait for each other by the same d,
// and none reaches the next power of two, the next period repeats the last one exactly: n periods add n d, which is
// exact too. Clocks of a few ranks pass some ten powers of two in thousands of micro-batches; all that lies between
// need not be run.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace foretrain {

class Repetition {
 public:
  static Repetition none() {
    Repetition none;
    none.periods_ = 0;
    return none;
  }

  // A clock, at the begin and at the end of a period; whether it may go on so.
  bool add(double before, double now, double advance) {
    if (!(now - before == advance)) return false;
    if (advance == 0) return true;  // of a clock that nothing moves
    const auto bits = std::bit_cast<std::uint64_t>(now);
    if ((bits ^ std::bit_cast<std::uint64_t>(before)) >> kMantissaBits != 0) return false;
    const auto next = std::bit_cast<double>(((bits >> kMantissaBits) + 1) << kMantissaBits);
    const double pairs_of_units = advance * (0x1p52 / next);  // exact, as `next` is a power of two
    if (pairs_of_units != static_cast<double>(static_cast<std::int64_t>(pairs_of_units))) return false;
    periods_ = std::min(periods_, (next - now) / advance - 1);
    return true;
  }

  // For so many periods all clocks of which it was true.
  std::int64_t periods(std::int64_t most) const {
    return periods_ < static_cast<double>(most)
               ? std::max<std::int64_t>(0, static_cast<std::int64_t>(periods_))
               : most;
  }

 private:
  static constexpr int kMantissaBits = 52;
  double periods_ = std::numeric_limits<double>::infinity();
};

}  // namespace foretrain
