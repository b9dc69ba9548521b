// An estimate says how large, how sure, and where from. `spread` is relative: the standard deviation of
// log(truth / value). An 80 % interval of a log-normal is value * exp(-+ kZ80 * spread); where truth is more often above
// than below, its upper side has the spread and `above` as independent deviations.
#pragma once

#include <cmath>
#include <string_view>

namespace foretrain {

// From best to worst: a mix is as good as its worst part.
enum class Origin : unsigned char {
  kMeasured,      // a sample of this very thing
  kInterpolated,  // a fitted model, inside the sampled range
  kExtrapolated,  // a fitted model, outside it
  kDerived,       // carried over from other hardware or another kind
  kAnalytic,      // physics and datasheets only
};
inline constexpr int kOriginCount = 5;

constexpr std::string_view name(Origin origin) {
  constexpr std::string_view names[] = {"measured", "interpolated", "extrapolated", "derived", "analytic"};
  return names[static_cast<int>(origin)];
}

inline constexpr double kZ80 = 1.2815515655446004;  // normal quantile at 0.9

struct Estimate {
  double value = 0.0;
  double spread = 0.0;
  Origin origin = Origin::kAnalytic;
  double above = 0.0;

  double low() const { return value * std::exp(-kZ80 * spread); }
  double high() const { return value * std::exp(kZ80 * std::hypot(spread, above)); }
};

}  // namespace foretrain
