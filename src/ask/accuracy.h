// How far to trust a prediction: what predictions of published runs that share something with a run were off by.
#pragma once

#include "ask/predict.h"
#include "report/accuracy_report.h"

namespace foretrain {

// The run as predict takes it, at most one; without any, the built-in example.
struct AccuracyRequest {
  PredictRequest run;
};

Result<AccuracyReport> ask(Session& session, const AccuracyRequest& request);

}  // namespace foretrain
