// What the tests of all folders share: how many of the random trials are made. The variable FORETRAIN_TRIALS
// says which share of them (0.5); without it all are, and a tenth of them in a tree with a sanitizer, which
// is ten times slower and looks for faults of another kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace foretrain {

inline double share_of_trials() {
  if (const char* share = std::getenv("FORETRAIN_TRIALS")) return std::atof(share);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0.1;
#else
  return 1;
#endif
}

// Of `all` trials, at least one.
inline int trials(int all) { return std::max(1, static_cast<int>(std::lround(all * share_of_trials()))); }

// Whether a case is run that has nothing to scale and takes long.
inline bool all_trials() { return share_of_trials() >= 1; }

}  // namespace foretrain
