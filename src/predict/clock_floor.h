// What the power governor adds to a floor: how much longer than at the reference clock the ranks of a step are busy at
// least, though nobody knows which layers each of them has or what else makes them wait.
//
// A rank j is busy for L_j at the reference clock, at least, of which C_j follow the clock; the governor settles its
// clock x_j over that and over its waiting, which makes up for the rest of S (1 + f): S the longest of any rank, f the
// share that fills the pipeline (clocks.h). Let e_j(x) be the joules of its work above what the cap P allows in that
// time, s static watts. At the clock where it settles e_j(x_j) <= (P - s) (S (1 + f) - L_j), so for any l >= 0
//   D_j = L_j + C_j (g/x_j - 1) >= min over x of (L_j + C_j (g/x - 1) + l e_j(x)) - l (P - s) (S (1 + f) - L_j)
// where x is the clock of the mean card and 1/g of it that of the slowest. Since L, C and e are sums over layers and ends,
// so is what bounds it. With t = l (P - s), a unit's share is
//   a = L (1 + t) + min over x of (C (g/x - 1) - t C (1/x - 1) + l (J + K x^k - P L))     D_j >= sum of a - t (1 + f) S
// J and K its joules that stay and that follow the clock. The least x is (C (g - t) / (l k K))^(1/(k + 1)).
// And S, at the reference clock, is no more than the step: where the step is at least c times what all ranks are busy,
//   step >= c (sum of a) / (1 + c p t (1 + f)),   p ranks.
// Gaps and waits that are not in L lengthen D by more than they cool, as long as l s <= 1; so does the update, as long
// as l P is not more than the part of it that the step waits for.
//
// Which l is best hangs on the mix. It is taken where the mean rank would settle; any other would do as well.
#pragma once

#include "cost/governor.h"
#include "spec/gpu.h"

namespace foretrain {

// Of a layer, an end of the model, or all of them: seconds at least at the reference clock, and what power does.
struct UnitLoad {
  double seconds = 0;
  double clocked = 0;
  double fixed_joules = 0;
  double clocked_joules = 0;

  void add(const UnitLoad& other, double times) {
    seconds += other.seconds * times;
    clocked += other.clocked * times;
    fixed_joules += other.fixed_joules * times;
    clocked_joules += other.clocked_joules * times;
  }
};

class ClockFloor {
 public:
  // No power known: clocks stay.
  ClockFloor() = default;
  // `all` is what all ranks do together; `waited` the least share of an update that the step waits for; `idle` how
  // long the mean rank waits, in its own seconds; `slowest` the clock of the slowest card, of the mean one's.
  ClockFloor(const Gpu& gpu, const PowerModel& power, const UnitLoad& all, double fill, double idle,
             double waited, double slowest);

  // The unit's part a of what bounds its rank.
  double part(const UnitLoad& unit) const;
  // t (1 + f): what a rank's bound is less by, of the slowest rank's seconds.
  double less() const { return less_; }

 private:
  const PowerModel* power_ = nullptr;
  double cap_ = 0, highest_ = 1, g_ = 1;
  double t_ = 0, l_ = 0, less_ = 0;
};

}  // namespace foretrain
