#include "operators/sums.h"

#include <algorithm>
#include <cmath>

namespace foretrain {

ColumnSum column_sum(double tokens, double width, double sms) {
  constexpr double kThreads = 128, kWide = 32, kHigh = kThreads / kWide, kSplitFrom = 256, kLeast = 16;
  constexpr double kThreadsOfSm = 2048;
  ColumnSum sum;
  sum.values = std::ceil(tokens / kHigh);
  if (sum.values < kSplitFrom) return sum;
  const double columns = std::ceil(width / (4 * kWide));
  const double fitting = std::ceil(sms * kThreadsOfSm / kThreads / columns);
  const double blocks =
      std::max(std::min(fitting, std::ceil(sum.values / kLeast)), std::ceil(sum.values / kSplitFrom));
  if (blocks <= 1) return sum;
  sum.values = std::ceil(sum.values / blocks);
  sum.parts = std::ceil(blocks / kHigh);
  return sum;
}

double row_sum_values(double rows, double width, double sms) {
  constexpr double kWarp = 32, kWarps = 16, kSplitFrom = 8192, kBlocksOfSm = 4;
  const bool split = width >= kSplitFrom;
  const double waves = std::ceil(rows / (split ? 1 : kWarps) / (kBlocksOfSm * sms));
  return waves * std::ceil(width / kWarp / (split ? kWarps : 1));
}

}  // namespace foretrain
