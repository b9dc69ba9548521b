// Whether two plans can be told apart. Both are predicted by the same models, so what they share is off by
// the same in both; only where they differ can the order be wrong:
//
//   sigma^2 = sum over sources (seconds * spread in a - seconds * spread in b)^2
//             + (kComposition * (seconds that a spends elsewhere than b))^2
//
// over kinds of operators, collectives, launches, sends, reductions. The last term is the composition's error
// for the part of the step that the two do not have in common (half the sum of the differences by cause): as
// much as all of the composition's error for plans that share nothing, none for equal ones; a stated guess.
// Two plans tie where their steps differ by less than the 80 % interval of that difference.
#pragma once

#include <string>

#include "predict/prediction.h"

namespace foretrain {

struct Tie {
  bool tied = false;
  Seconds difference;  // b - a
  Seconds sigma;       // of it
  // The one measurement that would tell most: "samples of linear"; fields marked (base/field_mark.h).
  std::string settles;
};

Tie compare(const Prediction& a, const Prediction& b);

}  // namespace foretrain
