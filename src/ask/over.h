// One run over the values of one or two keys: the same words as a prediction's, and what is varied (over_axes.h).
// Points that cannot run say why; where none can, the first one's reason is the request's error. Operators' times are
// found once for all points that share a GPU, and an evaluator's passes for all that share model, links and sequences.
#pragma once

#include <string>

#include "ask/predict.h"
#include "ask/session.h"
#include "report/over_report.h"

namespace foretrain {

struct OverRequest {
  PredictRequest predict;  // of one run, without views of its events
  std::string over;        // "inter_gbps=100..3200,seq=4k..128k"
};

Result<OverAnswer> ask(Session& session, const OverRequest& request);

}  // namespace foretrain
