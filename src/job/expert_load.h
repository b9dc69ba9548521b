// How many rows the experts of the fullest rank get, where tokens are routed as they like.
//
// Loads of experts, over their mean, are taken as log-normal, which fits those recorded of DeepSeek-V3 best (DeepEP,
// pull request 393), and as independent. Of n ranks that hold m experts each, the fullest has z deviations more than
// the mean, the expected largest of n normal values (Blom 1958). So a stated load I of the fullest rank fixes the
// spread s of an expert's:
//   I = 1 + z sqrt((exp(s^2) - 1) / m)
//
// An expert takes at most its capacity C, and drops the rest: of a load L, min(L, C), whose mean and second moment are
//   Phi(a - s) + C Phi(-a)   and   exp(s^2) Phi(a - 2 s) + C^2 Phi(-a),   a = (ln C + s^2/2) / s
// of which the fullest rank's load follows in the same way. 128 experts on eight ranks, I = 1.2: s = 0.52, so that the
// fullest expert has 3.4 times the mean; at C = 1 the mean is 0.79 and the fullest rank's 0.88, at C = 2 0.97 and
// 1.13, at C = 5 1.00 and 1.20.
#pragma once

#include <cstdint>

namespace foretrain {

struct ExpertSpread {
  std::int64_t ranks = 1;     // among which the fullest is looked for
  std::int64_t per_rank = 1;  // experts of each
  double fullest = 1;         // rows of the fullest rank over the mean, nothing dropped; at least 1
};

// Rows of the fullest rank over the mean of all that are routed, where an expert takes at most `capacity` times
// the mean.
double fullest_rank(const ExpertSpread& spread, double capacity);

}  // namespace foretrain
