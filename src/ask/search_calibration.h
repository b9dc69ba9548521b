// A search on a calibration: its plans are scored on the cluster as it was measured to be, and the plans that are told get
// the intervals that the measurements leave.
#pragma once

#include "ask/search.h"

namespace foretrain {

// Plans are searched on the calibration's cluster, where the request has one; of several lengths on each one's own. Refuses
// what was learned of no plan that may come out.
Result<void> stand_on(Session& session, const SearchRequest& request, AnswerRequest& prepared);

}  // namespace foretrain
