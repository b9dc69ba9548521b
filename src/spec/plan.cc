#include "spec/plan.h"

namespace foretrain {

ScheduleKind Plan::effective_schedule() const {
  if (pp == 1) return ScheduleKind::k1f1b;
  if (schedule == ScheduleKind::k1f1b && vpp > 1) return ScheduleKind::kInterleaved;
  return schedule == ScheduleKind::kInterleaved && vpp == 1 ? ScheduleKind::k1f1b : schedule;
}

}  // namespace foretrain
