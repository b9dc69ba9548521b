#include "timeline/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {

ScheduledPass pass_at(ScheduleKind kind, std::int64_t stage, std::int64_t stages, std::int64_t micro_batches,
                      std::int64_t k) {
  CHECK_THAT(0 <= stage && stage < stages);
  CHECK_THAT(0 <= k && k < 2 * micro_batches);
  // One forward and one backward in turn is what lies between the warm-up and as many backwards at the end.
  const std::int64_t warm_up =
      kind == ScheduleKind::kGpipe ? micro_batches : std::min(micro_batches, stages - 1 - stage);
  if (k < warm_up) return {true, k};
  if (k >= 2 * micro_batches - warm_up) return {false, k - micro_batches};
  const std::int64_t turn = k - warm_up;
  return turn % 2 == 0 ? ScheduledPass{true, warm_up + turn / 2} : ScheduledPass{false, turn / 2};
}

std::int64_t most_in_flight(ScheduleKind kind, std::int64_t stage, std::int64_t stages,
                            std::int64_t micro_batches) {
  return kind == ScheduleKind::kGpipe ? micro_batches : std::min(micro_batches, stages - stage);
}

}  // namespace foretrain
